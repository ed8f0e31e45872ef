from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.cli import main
from harness.cli import replay as command
from harness.errors import EngineError, ModelMissingError


class Desk:
    """The command line over a fake corpus and contestant."""

    def __init__(self, fakes: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
        self.fakes = fakes
        self.capsys = capsys
        self.stunts: dict[str, str] = {}
        self.settings: list[Any] = []
        self.corpora: list[Any] = []
        self.contestants: list[Any] = []

    def open_corpus(self, path: Path) -> Any:
        self.corpora.append(self.fakes.FakeCorpus(path))
        return self.corpora[-1]

    def load_contestant(self, settings: Any) -> Any:
        self.settings.append(settings)
        self.contestants.append(self.fakes.FakeContestant(stunts=self.stunts))
        return self.contestants[-1]

    def __call__(self, *arguments: str) -> SimpleNamespace:
        code = main(list(arguments))
        out, err = self.capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    def document(self, *arguments: str) -> dict[str, Any]:
        done = self(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)


@pytest.fixture
def hotseat(
    fakes: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Desk:
    monkeypatch.chdir(tmp_path)
    fakes.make_corpus(tmp_path / "corpus")
    desk = Desk(fakes, capsys)
    monkeypatch.setattr(command, "_open_corpus", desk.open_corpus)
    monkeypatch.setattr(command, "_load_contestant", desk.load_contestant)
    return desk


def test_the_json_document(hotseat: Desk, tmp_path: Path):
    document = hotseat.document("replay", "corpus", "--out", "mine")
    assert document["run"] == "mine"
    manifest = json.loads((tmp_path / "mine" / "manifest.json").read_text())
    assert document["digest"] == manifest["digest"]
    assert document["questions"] == 24
    assert document["accuracy"]["known"] == 16
    assert {"known", "correct", "estimate", "lower", "upper"} <= set(document["accuracy"])
    assert {"baselines", "by_category", "by_basis", "by_tag", "degradations", "stages"} <= set(
        document
    )
    assert set(document["by_category"]) == {
        "news",
        "history",
        "science",
        "maths",
        "philosophy",
        "entertainment",
    }
    assert document["problems"] == []
    assert document["seconds"] >= 0


def test_people_get_a_table_the_digest_and_the_folder(hotseat: Desk):
    done = hotseat("replay", "corpus", "--out", "mine")
    assert done.code == 0
    lines = done.out.splitlines()
    digest = json.loads(Path("mine/manifest.json").read_text())["digest"]
    assert lines[-2:] == ["run folder     mine", f"results digest {digest}"]
    assert "history" in done.out
    assert "recorded" in done.out


def test_progress_is_plain_lines_on_stderr(hotseat: Desk):
    done = hotseat("replay", "corpus", "--json")
    said = [line for line in done.err.splitlines() if line.startswith("questions: ")]
    assert 3 <= len(said) <= 9
    assert said[0].startswith("questions: 3/24, about 0 s left")
    assert said[-1] == "questions: 24/24"
    assert json.loads(done.out)


def test_progress_is_a_bar_on_a_terminal(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = hotseat("replay", "corpus", "--json")
    assert done.code == 0
    assert "100%" in done.err
    assert "questions: 3/24" not in done.err


def test_orders_share_a_digest_and_limits_share_questions(hotseat: Desk):
    arguments = ["replay", "corpus", "--limit", "12", "--shuffle"]
    first, second = hotseat.document(*arguments, "1"), hotseat.document(*arguments, "2")
    assert first["digest"] == second["digest"]
    assert first["questions"] == 12
    assert first["run"] != second["run"]
    played = [contestant.history for contestant in hotseat.contestants]
    assert played[0] != played[1]


def test_options_reach_the_settings(hotseat: Desk):
    hotseat.document(
        "replay", "corpus", "-n", "6", "--set", "retrieval.keep=3", "-s", "fetch.pages=2",
        "--no-search", "--category", "news", "-c", "Mathematics",
    )  # fmt: skip
    (settings,) = hotseat.settings
    assert settings.retrieval.keep == 3
    assert settings.fetch.pages == 2
    assert settings.search.enabled is False
    assert {name.partition("-")[0] for name in hotseat.contestants[0].history} == {"news", "maths"}
    assert set(hotseat.contestants[0].transports) == {None}


def test_questions_of_another_file(hotseat: Desk, tmp_path: Path):
    line = {"category": "news", "question": "Mine?", "options": ["a", "b"], "answer": "a"}
    Path("mine.jsonl").write_text("{bad\n" + json.dumps(line))
    done = hotseat("replay", "corpus", "--questions", "mine.jsonl", "--json")
    assert done.code == 0
    assert json.loads(done.out)["questions"] == 1
    assert "mine.jsonl:1: Not valid JSON" in done.err
    assert "1 line of the question file can't be used" in done.err
    assert json.loads(done.out)["problems"][0].startswith("mine.jsonl:1:")


def test_many_problems_are_not_all_shown(hotseat: Desk):
    good = (Path("corpus") / "questions.jsonl").read_text()
    (Path("corpus") / "questions.jsonl").write_text("{bad\n" * 30 + good)
    done = hotseat("replay", "corpus", "--limit", "1", "--json")
    assert done.err.count("Not valid JSON") == 10
    assert "and 20 more" in done.err
    assert len(json.loads(done.out)["problems"]) == 30


def test_damage_in_the_corpus_is_loud(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    def open_damaged(path: Path) -> Any:
        return hotseat.fakes.FakeCorpus(path, problems=("body 12ab: wrong hash",))

    monkeypatch.setattr(command, "_open_corpus", open_damaged)
    done = hotseat("replay", "corpus", "--limit", "1", "--json")
    assert done.code == 0
    assert "body 12ab: wrong hash" in done.err
    assert "The corpus has 1 problem;" in done.err


def test_some_failures_are_loud_and_the_run_counts(hotseat: Desk):
    hotseat.stunts = {"news-0": "error", "maths-1": "bug"}
    done = hotseat("replay", "corpus", "--json")
    assert done.code == 0
    assert "2 of 24 questions failed. The first: The engine fell silent." in done.err
    document = json.loads(done.out)
    assert document["by_basis"]["failed"]
    assert document["degradations"]["answer_failed"]


def test_nothing_but_failures_is_an_error(hotseat: Desk):
    hotseat.stunts = {"news-0": "error", "history-0": "error"}
    done = hotseat("replay", "corpus", "--limit", "2", "--json")
    assert done.code == 3
    assert done.err.splitlines()[-1] == (
        "hotseat: All 2 questions failed. The first: The engine fell silent."
    )
    assert json.loads(done.out)["accuracy"]["correct"] == 0


def test_interrupt_and_resume(hotseat: Desk):
    whole = hotseat.document("replay", "corpus", "--limit", "9")
    hotseat.stunts = {"science-0": "int"}
    stopped = hotseat("replay", "corpus", "--limit", "9", "--shuffle", "1", "--out", "cut")
    assert stopped.code == 130
    assert "Go on with: hotseat replay --resume cut" in stopped.err
    assert stopped.out == ""
    hotseat.stunts = {}
    resumed = hotseat("replay", "--resume", "cut", "--json")
    assert resumed.code == 0
    assert "Resuming cut: " in resumed.err
    assert json.loads(resumed.out)["digest"] == whole["digest"]


def test_a_request_to_terminate_ends_like_an_interrupt(hotseat: Desk):
    before = signal.getsignal(signal.SIGTERM)
    hotseat.stunts = {"science-0": "term"}
    stopped = hotseat("replay", "corpus", "--limit", "9", "--out", "cut")
    assert stopped.code == 143
    assert "Go on with: hotseat replay --resume cut" in stopped.err
    assert json.loads(Path("cut/manifest.json").read_text())["status"] == "interrupted"
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_comes_is_told_before_the_models_are_loaded(
    hotseat: Desk, monkeypatch: pytest.MonkeyPatch
):
    def load(settings: Any) -> Any:
        assert "Loading the models; then 1 question to play." in hotseat.capsys.readouterr().err
        return hotseat.load_contestant(settings)

    monkeypatch.setattr(command, "_load_contestant", load)
    assert hotseat("replay", "corpus", "--limit", "1").code == 0
    assert hotseat.contestants


def test_a_corpus_without_a_recording_is_refused(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    def open_empty(path: Path) -> Any:
        return hotseat.fakes.FakeCorpus(path, recorded=0)

    monkeypatch.setattr(command, "_open_corpus", open_empty)
    done = hotseat("replay", "corpus")
    assert done.code == 3
    assert "holds no recorded search or page" in done.err
    assert "hotseat record" in done.err
    assert "--no-search" in done.err
    assert hotseat("replay", "corpus", "--no-search", "--limit", "1").code == 0


@pytest.mark.parametrize("name", ["demo", "replay", "settings"])
def test_help_gives_an_example(hotseat: Desk, name: str):
    assert f"hotseat {name} --" in hotseat(name, "--help").out.replace("my-corpus ", "")


def test_interrupt_before_the_first_question(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    def stop(settings: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_load_contestant", stop)
    done = hotseat("replay", "corpus")
    assert done.code == 130
    assert "Interrupted before the first question." in done.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "more",
    [["--limit", "3"], ["--set", "a=1"], ["--no-search"], ["--out", "x"], ["--shuffle", "0"]],
)
def test_resume_takes_no_settings(hotseat: Desk, more: list[str]):
    done = hotseat("replay", "--resume", "cut", *more)
    assert done.code == 2
    assert "--resume" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "--resume", "nowhere"], "nowhere is not a run folder"),
        (["replay", "corpus", "--set", "retrieval.kep=1"], "Did you mean 'retrieval.keep'?"),
        (["replay", "corpus", "--set", "retrieval.keep"], "is not a setting"),
        (["replay", "corpus", "--preset", "cpi"], "Did you mean 'cpu'?"),
        (["replay", "corpus", "--category", "newz"], "Did you mean 'news'?"),
        (["replay", "corpus", "--questions", "none.jsonl"], "Can't read the question file"),
        (["replay", "corpus", "--out", "corpus"], "not empty"),
        (["replay", "corpus", "-s", 'search.trusted={"histry": []}'], "Did you mean 'history'?"),
    ],
)
def test_bad_input_is_one_sentence(hotseat: Desk, arguments: list[str], message: str):
    done = hotseat(*arguments)
    assert done.code in (2, 3)
    assert message in done.err
    assert [line for line in done.err.splitlines() if not line.startswith("Loading")] == [
        f"hotseat: {done.err.partition('hotseat: ')[2].strip()}"
    ]
    assert done.out == ""


def test_an_unknown_policy_for_misses_is_wrong_usage(hotseat: Desk):
    assert hotseat("replay", "corpus", "--on-miss", "fail", "-n", "1").code == 0
    assert hotseat("replay", "corpus", "--on-miss", "guess").code == 2


@pytest.mark.parametrize(
    "error", [ModelMissingError("Not pulled."), EngineError("Can't load.")], ids=["model", "engine"]
)
def test_a_contestant_that_cannot_be_had(hotseat: Desk, monkeypatch: pytest.MonkeyPatch, error):
    def fail(settings: Any) -> Any:
        raise error

    monkeypatch.setattr(command, "_load_contestant", fail)
    done = hotseat("replay", "corpus")
    assert done.code == 3
    assert done.err == f"Loading the models; then 24 questions to play.\nhotseat: {error}\n"
    assert not Path("runs").exists()


# The demo


@pytest.fixture
def sample(tmp_path: Path, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = fakes.make_corpus(tmp_path / "sample", per_category=6)
    monkeypatch.setattr("harness.replay.sample_path", lambda: folder)
    return folder


def test_the_demo_replays_the_sample(hotseat: Desk, sample: Path):
    done = hotseat("demo")
    assert done.code == 0
    assert hotseat.corpora[0].path == sample
    assert len(hotseat.contestants[0].history) == 24
    assert "24" in done.err.splitlines()[0]
    assert "recording" in done.err.splitlines()[0]
    assert "results digest sha256:" in done.out


def test_the_demo_takes_a_few_options(hotseat: Desk, sample: Path):
    document = hotseat.document("demo", "--limit", "6", "--set", "engine.max_tokens=9")
    assert document["questions"] == 6
    assert hotseat.settings[0].engine.max_tokens == 9


def test_settings_as_json(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOTSEAT_FETCH_PAGES", "2")
    settings = hotseat.document("settings", "--set", "retrieval.keep=60")["settings"]
    assert settings["retrieval.keep"]["value"] == 60
    assert settings["retrieval.keep"]["origin"] == "--set"
    assert settings["fetch.pages"]["origin"] == "environment"
    assert all(entry["description"] for entry in settings.values())


def test_settings_for_people(hotseat: Desk, monkeypatch: pytest.MonkeyPatch):
    done = hotseat("settings")
    assert "retrieval.keep = 40  # default: Passages kept for the reranker." in done.out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    table = hotseat("settings", "--set", "retrieval.keep=60")
    (line,) = [line for line in table.out.splitlines() if line.startswith("retrieval.keep ")]
    plain = re.sub(r"\x1b\[[\d;]*m", "", line)
    assert " ".join(plain.split()) == "retrieval.keep 60 --set Passages kept for the reranker."


def test_what_the_recording_lacks_is_told_with_a_way_out(hotseat: Desk):
    done = hotseat("replay", "corpus", "--set", "search.language=it-IT")
    assert re.search(r"Note: \d+ of \d+ questions asked for something", done.err)
    assert "changed against the recording: search.language" in done.err
    assert "--on-miss corpus" in done.err


class NothingFound:
    """A search over recorded pages that has no answer either."""

    def describe(self) -> dict[str, Any]:
        return {"index": "sha256:0"}

    def over(self, tape: Any) -> Any:
        return tape

    def close(self) -> None:
        pass


def test_who_uses_the_recorded_pages_already_is_not_told_to(hotseat: Desk, monkeypatch):
    monkeypatch.setattr(command, "_open_fallback", lambda corpus, settings: NothingFound())
    arguments = ("replay", "corpus", "--set", "search.language=it-IT")
    assert "Note: " in hotseat(*arguments).err
    done = hotseat(*arguments, "--on-miss", "corpus", "--out", "mine")
    assert json.loads(Path("mine/manifest.json").read_text())["on_miss"]["policy"] == "corpus"
    assert "Note: " not in done.err
