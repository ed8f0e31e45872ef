import importlib.util
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cli import main
from harness.corpus import Corpus

WORDS = ("tower", "bridge", "market", "chapel", "station", "harbour")
NOON = "2026-05-01T12:00:00Z"


@pytest.fixture(scope="module")
def web():
    name = "hotseat_test_site"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "web" / "site.py"
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def site(web):
    running = web.Site()
    for word in WORDS:
        running.pages[f"pages.example/{word}"] = web.Reply(web.article(word, f"All on {word}."))
    running.search = lambda query: web.found(
        web.result(f"http://pages.example/{query.split()[0]}", "Page", "snippet"),
        web.result("http://gone.example/", "Gone", "gone"),
    )
    yield running
    running.close()


@pytest.fixture
def questions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        json.dumps(
            {
                "id": word,
                "category": "history" if place % 2 else "news",
                "question": f"What is the {word}?",
                "options": ["yes", "no"],
                "answer": "yes",
            }
        )
        for place, word in enumerate(WORDS)
    ]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def hotseat(site, questions, capsys):
    """Return a function that runs ``hotseat record`` in this process."""

    def run(*more, **options):
        done = main(["record", *arguments(site, **options), *more])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=done, out=out, err=err)

    return run


def arguments(site, *, questions="q.jsonl", corpus="c", time=NOON, proxy=True):
    words = ["--questions", questions, "--corpus", corpus, "--server", "http://search.example"]
    words += ["--proxy", site.url] if proxy else []
    words += ["--virtual-time", time] if time else []
    return words


def start(site, *more, env=None, **options):
    """Start ``hotseat record`` in a process of its own."""
    code = "import sys; from harness.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "record", *arguments(site, **options), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def test_a_recording_and_what_is_said_of_it(hotseat, site):
    done = hotseat()
    assert done.code == 0, done.err
    assert "6 researched" in done.out
    assert "12 of 12 usable" in done.out  # searches
    assert "6 of 12 usable" in done.out  # pages
    assert "6 × answered HTTP 404 Not Found" in done.out
    assert "hotseat replay c" in done.out
    assert "questions: 6/6" in done.err
    with Corpus.open("c") as corpus:
        assert corpus.digest() in done.out
        assert corpus.manifest.created == "2026-05-01T12:00:00.000000Z"
        assert corpus.manifest.settings == {"search.url": "http://search.example"}
        assert corpus.questions_path.read_bytes() == Path("q.jsonl").read_bytes()


def test_json_is_one_document_on_stdout(hotseat, site):
    done = hotseat("--json", "--limit", "2", "--set", "fetch.pages=1")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["questions"] == {
        "file": 6,
        "researched": 2,
        "without_results": 0,
        "broken": [],
        "bad_lines": 0,
    }
    assert document["requests"] == {"fetched": 6, "stored_before": 0}
    assert document["searches"] == {"total": 4, "failed": 0, "reasons": {}}
    assert document["pages"]["total"] == 2
    assert document["corpus"] == "c"
    assert document["digest"].startswith("sha256:")
    again = json.loads(hotseat("--json", "--limit", "2", "--set", "fetch.pages=1").out)
    assert again["requests"] == {"fetched": 0, "stored_before": 6}
    assert again["digest"] == document["digest"]


def test_a_question_that_breaks_is_named_and_told_by_the_exit_code(hotseat, monkeypatch):
    from harness.contestant import recording

    research = recording.search_documents_async

    async def sometimes(text, *more, **options):
        if "bridge" in text:
            raise KeyError("x")
        return await research(text, *more, **options)

    monkeypatch.setattr(recording, "search_documents_async", sometimes)
    done = hotseat()
    assert done.code == 1
    assert "6 researched" in done.out
    assert "1 question: a fault in Hotseat" in done.out
    assert "bridge: KeyError: 'x'" in done.out
    assert "10 of 10 usable" in done.out  # the searches of the other five
    done = hotseat("--json")
    assert done.code == 1
    assert json.loads(done.out)["questions"]["broken"] == [
        {"id": "bridge", "fault": "KeyError: 'x'"}
    ]


def test_the_limit_is_spread_over_the_categories(hotseat, site):
    hotseat("--limit", "2")
    assert site.count("pages.example/tower")  # news
    assert site.count("pages.example/bridge")  # history
    assert not site.count("pages.example/market")


def test_bad_lines_are_named_and_the_rest_is_recorded(hotseat, questions):
    questions.write_text(questions.read_text() + "{oops\n", encoding="utf-8")
    done = hotseat("--json", "--limit", "1")
    assert done.code == 0
    assert "q.jsonl:7:" in done.err
    assert json.loads(done.out)["questions"]["bad_lines"] == 1


@pytest.mark.parametrize(
    ("options", "more", "code", "words"),
    [
        ({"questions": "none.jsonl"}, (), 2, "none.jsonl"),
        ({"time": "yesterday"}, (), 2, "'yesterday' is no time"),
        ({}, ("--set", "fetch.page=1"), 2, "fetch.pages"),
        ({}, ("--set", "fetch.pages=many"), 2, "fetch.pages"),
        ({}, ("--server", "nowhere"), 2, "search.url"),
        ({}, ("--set", 'search.trusted={"histry": ["a.org"]}'), 2, "Did you mean 'history'?"),
        ({"proxy": False}, ("--proxy", "http://127.0.0.1:1"), 3, "The proxy at http://127.0.0.1:1"),
        ({}, ("--set", "search.enabled=false"), 2, "nothing to record"),
        ({"proxy": False}, ("--proxy", "nowhere"), 2, "proxy"),
        ({"corpus": "q.jsonl"}, (), 3, "not a folder"),
        ({}, ("--refresh", "sometimes"), 2, "sometimes"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(hotseat, options, more, code, words):
    done = hotseat(*more, **options)
    assert done.code == code
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not Path("c").exists()


def test_a_server_that_is_not_there(hotseat, site):
    done = hotseat("--server", "http://127.0.0.1:1", proxy=False)
    assert done.code == 3
    (told,) = [line for line in done.err.splitlines() if line.startswith("hotseat:")]
    assert "http://127.0.0.1:1/search could not be reached" in told
    assert "search.formats" in told
    assert "--server" in told
    assert not Path("c").exists()
    # Nothing stands in the way of the next try.
    assert hotseat("--limit", "1").code == 0


def test_a_server_that_never_answers_is_no_recording(hotseat):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        silence = ("--limit", "1", "--set", "search.timeout_s=0.1")
        done = hotseat("--server", url, *silence, proxy=False)
    assert done.code == 3
    assert "2 searches brought anything" in done.err
    assert "--refresh failed" in done.err


def test_help_shows_how_it_is_used(capsys):
    assert main(["record", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "hotseat record --questions q.jsonl --corpus my-corpus" in out
    for option in ("--server", "--proxy", "--refresh", "--limit", "--virtual-time", "--json"):
        assert option in out


def test_a_killed_recording_goes_on_where_it_stopped(hotseat, site, web):
    """``kill -9`` in the middle: what was stored is not asked for again."""
    good = site.search
    site.search = lambda query: web.Reply(hang=True) if "market" in query else good(query)
    process = start(site)
    try:
        wait_until(lambda: site.count("q=market") or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = list(site.requests)
    assert [request for request in before if "pages.example" in request] == [
        "pages.example/tower",
        "pages.example/bridge",
    ]
    site.search = good
    done = hotseat("--json")
    assert done.code == 0, done.err
    after = site.requests[len(before) :]
    for word in ("tower", "bridge", "gone.example"):
        assert not [request for request in after if word in request]
    document = json.loads(done.out)
    assert document["requests"]["stored_before"] >= 2 * 4
    with Corpus.open("c") as corpus:
        assert corpus.verify() == []
    # The same as if nothing had happened.
    whole = json.loads(hotseat("--json", corpus="whole").out)
    assert whole["digest"] == document["digest"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_stopped_ends_cleanly_and_says_how_to_go_on(site, questions, web, number, code):
    good = site.search
    site.search = lambda query: web.Reply(hang=True) if "market" in query else good(query)
    process = start(site, "--limit", "5")
    try:
        wait_until(lambda: site.count("q=market") or process.poll() is not None)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code
    assert out == ""
    assert "Traceback" not in err
    told = err.strip().splitlines()[-1]
    assert "2 of 5 questions" in told
    command = shlex.split(told.partition("Go on with: ")[2])
    assert command[:2] == ["hotseat", "record"]
    site.search = good
    before = len(site.requests)
    assert main(command[1:]) == 0
    assert not any("tower" in request for request in site.requests[before:])


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to look around")
@pytest.mark.parametrize("how", ["at its end", "killed"])
def test_no_worker_outlives_the_command(site, questions, web, how):
    if how == "killed":
        good = site.search
        site.search = lambda query: web.Reply(hang=True) if "market" in query else good(query)
    mark = f"recording-{uuid.uuid4()}"
    process = start(site, env={**os.environ, "TEST_MARK": mark})
    try:
        if how == "killed":
            wait_until(lambda: site.count("q=market") or process.poll() is not None)
            assert len(marked(mark)) == 2  # it and its worker
            process.kill()
    finally:
        process.communicate(timeout=60)
    wait_until(lambda: not marked(mark), seconds=10)


def marked(mark):
    """Return the processes that have ``mark`` in their environment."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:
            continue  # it has just ended, or is somebody else's
    return found
