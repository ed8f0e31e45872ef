import importlib.util
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from harness.clock import VirtualClock
from harness.contestant import recording
from harness.contestant.recording import open_recording, record_questions
from harness.contestant.research import search_documents
from harness.corpus import Corpus
from harness.errors import BadInputError, CorpusError, MissingError, SearchFailedError, SettingError
from harness.question_file import load_questions
from harness.quiz import Category, Option, Question
from harness.settings import Settings
from harness.trace import Code, Trace

SETTINGS = Settings.model_validate(
    {"search": {"url": "http://search.example", "trusted": {"history": ["archive.example"]}}}
)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


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
    """Serve one page for each question, one that all share, and one that is gone."""
    running = web.Site()
    running.pages["all.example/shared"] = web.Reply(web.article("All", "Shared by everybody."))

    def search(query):
        word = query.split()[0]
        running.pages[f"archive.example/{word}"] = web.Reply(
            web.article(word, f"All about {word}.")
        )
        return web.found(
            web.result(f"http://archive.example/{word}", word, "archive"),
            web.result("http://all.example/shared", "Shared", "shared"),
            web.result("http://gone.example/x", "Gone", "gone"),
        )

    running.search = search
    yield running
    running.close()


@pytest.fixture
def corpus(tmp_path):
    made = Corpus.create(tmp_path / "corpus", name="corpus", clock=VirtualClock(wall=NOON))
    yield made
    made.close()


def question(word):
    options = (Option(0, "yes"), Option(1, "no"))
    return Question(word, Category.HISTORY, f"What is the {word}?", options)


QUESTIONS = [question(word) for word in ("tower", "bridge", "market", "chapel")]


def record(corpus, site, questions=QUESTIONS, **options):
    return record_questions(
        questions,
        corpus,
        **{
            "settings": SETTINGS,
            "proxy": site.url,
            "clock": VirtualClock(wall=NOON),
            "timing": "declared",
            "pause_s": 0.0,
            **options,
        },
    )


def replay(corpus, asked):
    trace = Trace()
    evidence = search_documents(
        asked.text,
        asked.category,
        settings=SETTINGS,
        transport=corpus.tape("replay"),
        trace=trace,
    )
    return evidence, trace


def test_every_question_can_be_replayed_and_the_report_counts(corpus, site):
    report = record(corpus, site)
    assert report.questions == 4
    assert (report.searches, report.searches_failed) == (8, {})
    assert (report.pages, report.pages_failed) == (12, {"answered HTTP 404 Not Found": 4})
    # Two searches and a page each, and what all share once.
    assert report.fetched == len(site.requests) == 4 * 3 + 2
    assert report.kept == 3 * 2
    assert report.without_results == 0
    site.close()
    for asked in QUESTIONS:
        evidence, trace = replay(corpus, asked)
        assert f"All about {asked.id}" in evidence.documents[0].text
        assert Code.NOT_RECORDED not in [item.code for item in trace.degradations]


def test_what_is_stored_is_not_fetched_again(corpus, site):
    record(corpus, site, QUESTIONS[:2])
    before = list(site.requests)
    report = record(corpus, site)
    assert not set(site.requests[len(before) :]) & set(before)
    assert report.kept >= 2 * 5
    site.close()
    assert record(corpus, site).fetched == 0  # nor is the server needed


def test_a_test_site_is_recorded_bit_for_bit(site, tmp_path):
    exports = []
    for name in ("one", "two"):
        clock = VirtualClock(wall=NOON)
        with Corpus.create(tmp_path / name, name="same", clock=clock) as made:
            record(made, site)
            made.export(tmp_path / f"{name}.out")
            exports.append(
                {file.name: file.read_bytes() for file in (tmp_path / f"{name}.out").iterdir()}
            )
    assert exports[0] == exports[1]
    assert len(exports[0]) >= 2


def test_measured_time_is_the_default(corpus, site):
    report = record_questions(QUESTIONS[:1], corpus, settings=SETTINGS, proxy=site.url, pause_s=0.0)
    assert report.fetched
    entry = next(corpus.entries())
    assert not entry.fetched_at.startswith("2026-05-01T12:00:00")
    assert 0 < entry.elapsed_s < 5


@pytest.mark.parametrize("inner", ["refused", "proxy"])
def test_a_server_that_is_not_there_is_told_at_once_and_not_stored(corpus, site, inner):
    options = {"proxy": "http://me:secret@127.0.0.1:1"}
    if inner == "refused":
        settings = Settings.model_validate({"search": {"url": "http://me:secret@127.0.0.1:1"}})
        options = {"proxy": None, "settings": settings}
    with pytest.raises(MissingError, match="could not be reached") as caught:
        record(corpus, site, **options)
    if inner == "proxy":
        assert caught.value.message.startswith("The proxy at http://127.0.0.1:1 ")
        assert "SearXNG" not in str(caught.value)
        assert "--proxy" in caught.value.remedy
    else:
        assert "json" in caught.value.remedy
        assert "--server" in caught.value.remedy
    assert "secret" not in str(caught.value)
    assert caught.value.exit_code == 3
    assert list(corpus.entries()) == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"status": 403, "body": "<h1>no"}, "refuses to answer in JSON"),
        ({"status": 429, "body": "slow down"}, "limits requests"),
        ({"body": "<html>hello"}, "a web page instead of JSON"),
        (
            {"status": 400, "type": "application/json", "body": '{"error": "Invalid value"}'},
            "refused the request: Invalid value",
        ),
    ],
)
def test_a_server_of_no_use_is_told_at_once_and_not_stored(corpus, site, web, reply, words):
    good, site.search = site.search, lambda query: web.Reply(**reply)
    with pytest.raises(SearchFailedError, match=words) as caught:
        record(corpus, site)
    assert "http://search.example/search" in caught.value.message
    assert list(corpus.entries()) == []
    site.search = good
    assert record(corpus, site).searches_failed == {}


def test_a_server_that_stops_answering_ends_the_recording(corpus, site, web):
    good, asked = site.search, []

    def search(query):
        asked.append(query)
        return good(query) if "tower" in query else web.found(failed=[["dark", "x"]])

    site.search = search
    with pytest.raises(MissingError, match=r"3 questions in a row.*Every engine") as caught:
        record(corpus, site, [*QUESTIONS, question("station")])
    assert "--refresh failed" in caught.value.remedy
    assert not any("station" in query for query in asked)
    # What was recorded before is kept, and the rest can be had later.
    assert replay(corpus, QUESTIONS[0])[0].documents
    site.search = good
    before = len(site.requests)
    report = record(corpus, site, refresh="failed")
    assert report.searches_failed == {}
    assert not any("tower" in request for request in site.requests[before:])
    assert all(replay(corpus, asked)[0].documents for asked in QUESTIONS)


def test_failures_are_kept_until_they_are_refreshed(corpus, site, web):
    record(corpus, site, QUESTIONS[:1])
    site.pages["gone.example/x"] = web.Reply(web.article("Back", "It is back again."), status=200)
    site.pages["all.example/shared"] = web.Reply("busy", status=503)
    report = record(corpus, site, QUESTIONS[:1], refresh="missing")
    assert report.fetched == 0
    report = record(corpus, site, QUESTIONS[:1], refresh="all")
    assert report.kept == 0
    assert report.pages_failed == {"answered HTTP 503 Service Unavailable": 1}
    site.pages["all.example/shared"] = web.Reply(web.article("All", "Shared by everybody."))
    report = record(corpus, site, QUESTIONS[:1], refresh="failed")
    assert (report.fetched, report.pages_failed) == (1, {})


def test_progress_is_told_after_every_question(corpus, site):
    record(corpus, site, QUESTIONS[:2])
    news = []
    record(corpus, site, progress=news.append)
    assert [(item.done, item.total) for item in news] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [item.question for item in news] == QUESTIONS
    assert [item.left_s is None for item in news] == [True, True, False, False]
    assert news[-1].left_s == 0
    assert news[-1].fetched == 6


def test_questions_that_need_the_network_are_spaced(corpus, site, monkeypatch):
    record(corpus, site, QUESTIONS[:1])
    pauses = []
    real = recording.asyncio.sleep

    async def sleep(seconds):
        pauses.append(seconds)
        await real(0)

    monkeypatch.setattr(recording.asyncio, "sleep", sleep)
    record(corpus, site, pause_s=7.0)
    # Not after the stored first one, and not after the last.
    assert pauses.count(7.0) == 2


def test_a_transport_of_ones_own(corpus, web):
    class Own(httpx.AsyncBaseTransport):
        closed = False

        async def handle_async_request(self, request):
            if request.url.host == "search.example":
                body = web.found(web.result("http://p.example/", "P", "p")).body
                return httpx.Response(
                    200, headers={"content-type": "application/json"}, content=body
                )
            return httpx.Response(200, html=web.article("P", "A page of some length for all."))

        async def aclose(self):
            self.closed = True

    own = Own()
    report = record_questions(QUESTIONS[:1], corpus, settings=SETTINGS, inner=own, pause_s=0.0)
    assert (report.pages, report.pages_failed) == (1, {})
    assert not own.closed  # it is the caller's


def test_recording_without_research_makes_no_sense(corpus, site):
    settings = Settings.model_validate({"search": {"enabled": False}})
    with pytest.raises(BadInputError, match=r"search\.enabled"):
        record(corpus, site, settings=settings)


def test_a_fault_in_one_question_does_not_cost_the_others(corpus, site, monkeypatch):
    research = recording.search_documents_async

    async def sometimes(text, *more, **options):
        evidence = await research(text, *more, **options)
        if "bridge" in text:
            raise KeyError("a fault\nof ours")
        return evidence

    monkeypatch.setattr(recording, "search_documents_async", sometimes)
    news = []
    report = record(corpus, site, progress=news.append)
    assert report.broken == (("bridge", r"KeyError: 'a fault\nof ours'"),)
    assert report.questions == len(news) == 4
    assert report.searches == 3 * 2
    assert report.fetched == len(site.requests)  # those of the broken one included
    site.close()
    for asked in QUESTIONS:
        assert f"All about {asked.id}" in replay(corpus, asked)[0].documents[0].text


def test_addresses_with_half_characters_do_no_harm(corpus, site, web):
    half = "\ud800"
    site.search = lambda query: web.found(
        web.result(f"http://p.example/{half}", f"T{half}", f"snippet {half}"),
        web.result("http://all.example/shared", f"T{half}", half, publishedDate=half, engine=half),
        failed=[[half, half]],
        answers=[{"answer": half, "url": f"http://a.example/?{half}", "engine": half}],
    )
    report = record(corpus, site)
    assert (report.broken, report.without_results) == ((), 0)
    evidence, _ = replay(corpus, QUESTIONS[0])
    assert "http://all.example/shared" in [hit.url for hit in evidence.hits]
    str(evidence).encode()


# The corpus that a recording goes into


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, *words):
        lines = [
            json.dumps(
                {
                    "id": word,
                    "category": "history",
                    "question": f"What is the {word}?",
                    "options": ["yes", "no"],
                }
            )
            for word in words
        ]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def opened(folder, questions, **assignments):
    names = {name.replace("__", "."): value for name, value in assignments.items()}
    corpus, settings = open_recording(
        folder, questions, load_questions(questions), assignments=names, moment=NOON
    )
    return corpus, settings


def test_a_new_corpus_knows_its_questions_and_settings(tmp_path, files):
    questions = files("q.jsonl", "tower")
    corpus, settings = opened(
        tmp_path / "new",
        questions,
        search__url="http://me:secret@search.example",
        search__results=7,
        retrieval__keep=9,
    )
    with corpus:
        assert corpus.manifest.name == "new"
        assert corpus.manifest.created.startswith("2026-05-01T12:00:00")
        assert corpus.manifest.settings == {
            "search.url": "http://search.example",
            "search.results": 7,
        }
        assert corpus.questions_path.read_bytes() == questions.read_bytes()
        assert settings.search.results == 7
    assert b"secret" not in (tmp_path / "new" / "manifest.json").read_bytes()


def begin(tmp_path, files, site, **assignments):
    """Record one question into ``corpus``, and return its question file."""
    questions = files("q.jsonl", "tower", "bridge")
    corpus, settings = opened(
        tmp_path / "c", questions, search__url="http://search.example", **assignments
    )
    with corpus:
        record(corpus, site, QUESTIONS[:1], settings=settings)
    return questions


def test_going_on_takes_the_settings_of_the_corpus(tmp_path, files, site):
    questions = begin(tmp_path, files, site, search__results=7, fetch__pages=2)
    corpus, settings = opened(tmp_path / "c", questions, search__url="http://other.example:9")
    corpus.close()
    assert (settings.search.results, settings.fetch.pages) == (7, 2)
    assert settings.search.url == "http://other.example:9"


def test_a_corpus_does_not_choose_where_requests_go(tmp_path, files, site):
    questions = begin(tmp_path, files, site, fetch__allow_hosts=["127.0.0.1"])
    with pytest.raises(BadInputError, match=r"fetch\.allow_hosts"):
        opened(tmp_path / "c", questions)
    corpus, settings = opened(tmp_path / "c", questions, fetch__allow_hosts=["127.0.0.1"])
    corpus.close()
    assert settings.search.url == Settings().search.url


@pytest.mark.parametrize(
    ("name", "value"),
    [("search__language", "it-IT"), ("fetch__pages", 3), ("search__url", "http://x.example/sub")],
)
def test_other_settings_belong_into_another_folder(tmp_path, files, site, name, value):
    questions = begin(tmp_path, files, site)
    with pytest.raises(BadInputError, match="a replay could not serve both"):
        opened(tmp_path / "c", questions, **{name: value})


def test_settings_that_do_not_touch_a_recording_are_free(tmp_path, files, site):
    questions = begin(tmp_path, files, site)
    corpus, _ = opened(tmp_path / "c", questions, retrieval__keep=3)
    corpus.close()


def test_a_corpus_without_a_recording_starts_anew(tmp_path, files):
    questions = files("q.jsonl", "tower")
    opened(tmp_path / "c", questions, search__url="http://wrong.example/sub")[0].close()
    other = files("other.jsonl", "bridge")
    corpus, _ = opened(tmp_path / "c", other, search__language="it-IT")
    with corpus:
        assert corpus.manifest.settings == {"search.language": "it-IT"}
        assert corpus.questions_path.read_bytes() == other.read_bytes()


def test_questions_may_come_but_not_go(tmp_path, files, site):
    begin(tmp_path, files, site)
    more = files("more.jsonl", "tower", "bridge", "chapel")
    corpus, _ = opened(tmp_path / "c", more)
    with corpus:
        assert corpus.questions_path.read_bytes() == more.read_bytes()
    fewer = files("fewer.jsonl", "tower")
    with pytest.raises(BadInputError, match=r"holds 2 questions that .*fewer\.jsonl lacks"):
        opened(tmp_path / "c", fewer)
    # Its own copy can be named as well.
    corpus, _ = opened(tmp_path / "c", tmp_path / "c" / "questions.jsonl")
    corpus.close()


def test_what_is_no_place_for_a_corpus(tmp_path, files):
    questions = files("q.jsonl", "tower")
    with pytest.raises(MissingError, match="not a folder"):
        opened(questions, questions)
    with pytest.raises(SettingError, match=r"search\.url"):
        opened(tmp_path / "c", questions, search__url="nowhere")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"search__trusted": {"histry": ["a.example"]}}, "Did you mean 'history'?"),
        ({"search__trusted": {"history": ["no domain"]}}, "'no domain' is no domain"),
        ({"search__trusted": {c.value: [] for c in Category} | {"x": []}}, "Unknown category 'x'"),
        ({"search__blocked": ["(video)"]}, "is no domain"),
    ],
)
def test_settings_that_can_not_be_searched_with_leave_nothing_behind(
    tmp_path, files, site, settings, words
):
    questions = files("q.jsonl", "tower")
    with pytest.raises(SettingError, match=re.escape(words)):
        opened(tmp_path / "new", questions, **settings)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("before", [None, [], ["questions.jsonl"]])
def test_a_recording_that_stored_nothing_is_removed(tmp_path, files, site, before):
    questions, folder = files("q.jsonl", "tower"), tmp_path / "new"
    if before is not None:
        folder.mkdir()
    for name in before or []:
        (folder / name).write_bytes(questions.read_bytes())
    with (
        pytest.raises(MissingError, match="could not be reached"),
        recording.recording_into(folder, questions, load_questions(questions), assignments={}) as (
            corpus,
            settings,
        ),
    ):
        record(corpus, site, settings=settings, proxy="http://127.0.0.1:1")
    if before is None:
        assert not folder.exists()
    else:
        assert [path.name for path in folder.iterdir()] == before


def test_a_recording_that_stored_something_stays(tmp_path, files, site):
    questions = files("q.jsonl", "tower")
    given = {"search.url": "http://search.example"}

    def stop(after):
        with recording.recording_into(
            tmp_path / "c", questions, load_questions(questions), assignments=given
        ) as (corpus, settings):
            record(corpus, site, QUESTIONS[:after], settings=settings)
            raise KeyboardInterrupt

    for after in (1, 0):  # new, and there already
        with pytest.raises(KeyboardInterrupt):
            stop(after)
    with Corpus.open(tmp_path / "c") as corpus:
        assert list(corpus.entries())


def test_an_exported_corpus_is_not_recorded_into(tmp_path, files, site):
    questions = begin(tmp_path, files, site)
    with Corpus.open(tmp_path / "c") as corpus:
        corpus.export(tmp_path / "out")
    with pytest.raises(CorpusError, match="read-only"):
        opened(tmp_path / "out", questions)
