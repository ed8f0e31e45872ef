from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from harness.clock import VirtualClock
from harness.errors import BadInputError, QuestionFileError, SettingError
from harness.quiz import Category
from harness.replay import (
    Listener,
    Outcome,
    Request,
    read_manifest,
    read_rows,
    read_traces,
    replay,
    runs_folder,
)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def corpus(fakes: ModuleType, tmp_path: Path) -> Path:
    return fakes.make_corpus(tmp_path / "corpus")


class Stage:
    """One replay over the fakes, with everything it touched."""

    def __init__(self, fakes: ModuleType) -> None:
        self.fakes = fakes
        self.contestant: Any = None
        self.corpora: list[Any] = []
        self.corpus_changes: dict[str, Any] = {}
        self.settings: Any = None

    def run(self, request: Request, listener: Listener | None = None, **contestant: Any) -> Outcome:
        clock = VirtualClock()
        self.contestant = self.fakes.FakeContestant(clock=clock, **contestant)

        def load(settings: Any) -> Any:
            self.settings = settings
            return self.contestant

        def open_corpus(path: Path) -> Any:
            self.corpora.append(self.fakes.FakeCorpus(path, **self.corpus_changes))
            return self.corpora[-1]

        return replay(
            request, open_corpus=open_corpus, load_contestant=load, listener=listener, clock=clock
        )


@pytest.fixture
def stage(fakes: ModuleType) -> Stage:
    return Stage(fakes)


def test_a_replay_from_beginning_to_end(stage: Stage, corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    outcome = stage.run(Request(corpus, out=out))
    assert outcome.path == out
    assert list(outcome.rows) == read_rows(out)
    assert len(outcome.rows) == 24
    assert outcome.seconds == 48.0
    assert stage.corpora[0].tapes == 24
    assert len({id(tape) for tape in stage.contestant.transports}) == 24
    assert stage.contestant.closed
    assert stage.corpora[0].closed
    row = outcome.rows[0]
    assert (row["t_network_recorded_s"], row["t_compute_s"], row["t_total_s"]) == (1.75, 2.0, 3.75)


def test_the_manifest_tells_everything_needed_to_repeat_it(stage: Stage, corpus: Path, tmp_path):
    request = Request(
        corpus,
        out=tmp_path / "out",
        limit=5,
        shuffle=7,
        assignments={"retrieval.keep": 3},
        categories=(Category.NEWS, Category.MATHS),
    )
    outcome = stage.run(request)
    manifest = read_manifest(tmp_path / "out")
    assert manifest == outcome.manifest
    assert manifest["digest"] == outcome.digest
    assert manifest["settings"] == stage.settings.flat()
    assert manifest["settings"]["retrieval.keep"] == 3
    assert manifest["origins"]["retrieval.keep"] == "--set"
    assert manifest["contestant"]["engine"] == "fake"
    assert manifest["corpus"] == {"name": "fake", "digest": "sha256:corpus"}
    assert manifest["questions"]["n"] == 5
    assert manifest["categories"] == ["maths", "news"]
    assert (manifest["limit"], manifest["seed"]) == (5, 7)
    assert {"python", "hotseat", "polars"} <= set(manifest["versions"])
    assert set(manifest["machine"]) == {"cpu", "cores", "memory_bytes", "os", "arch"}
    assert manifest["started"] == "2026-01-01T00:00:00+00:00"
    assert manifest["status"] == "finished"


def test_traces_tell_the_whole_story(stage: Stage, corpus: Path, tmp_path: Path):
    stage.run(Request(corpus, out=tmp_path / "out", limit=2))
    lines = list(read_traces(tmp_path / "out"))
    assert [line["row"]["question_id"] for line in lines] == ["news-0", "history-0"]
    assert lines[0]["question"].startswith("Question 0 of news")
    assert lines[0]["trace"]["spans"] == [
        {"stage": "search", "seconds": 0.25, "recorded": True},
        {"stage": "fetch", "seconds": 1.5, "recorded": True},
        {"stage": "generate", "seconds": 2.0, "recorded": False},
    ]
    assert lines[0]["trace"]["facts"]["hits"] == [1, 2, 3]
    assert all("error" not in line for line in lines)


def _table(path: Path) -> pl.DataFrame:
    frame = pl.read_parquet(path / "answers.parquet")
    return frame.select([name for name in frame.columns if not name.startswith("t_")])


def test_the_same_digest_in_every_order_and_again(stage: Stage, corpus: Path, tmp_path: Path):
    outcomes = [
        stage.run(Request(corpus, out=tmp_path / str(place), limit=12, shuffle=seed))
        for place, seed in enumerate([None, 1, 2, None])
    ]
    assert len({outcome.digest for outcome in outcomes}) == 1
    for outcome in outcomes[1:]:
        assert _table(outcome.path).equals(_table(outcomes[0].path))


def test_shuffling_does_change_the_order_of_play(stage: Stage, corpus: Path, tmp_path: Path):
    orders = []
    for seed in (1, 2):
        stage.run(Request(corpus, out=tmp_path / str(seed), limit=12, shuffle=seed))
        orders.append(stage.contestant.history)
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


def test_an_order_dependent_contestant_is_found_out(stage: Stage, corpus: Path, tmp_path: Path):
    class Forgetful(stage.fakes.FakeContestant):  # type: ignore[name-defined]
        def play(self, question, transport, trace):
            answer = super().play(question, transport, trace)
            trace.note(output=f"number {len(self.history)}")
            return answer

    stage.fakes = type("F", (), {**vars(stage.fakes), "FakeContestant": Forgetful})
    digests = {
        stage.run(Request(corpus, out=tmp_path / str(seed), shuffle=seed)).digest for seed in (1, 2)
    }
    assert len(digests) == 2


def test_without_search_there_is_no_transport(stage: Stage, corpus: Path, tmp_path: Path):
    outcome = stage.run(Request(corpus, out=tmp_path / "out", search=False, limit=3))
    assert stage.contestant.transports == [None] * 3
    assert stage.corpora[0].tapes == 0
    assert stage.settings.search.enabled is False
    assert outcome.manifest["origins"]["search.enabled"] == "--no-search"
    assert {row["basis"] for row in outcome.rows} == {"model alone"}


def test_search_switched_off_by_a_setting_is_the_same(stage: Stage, corpus: Path, tmp_path: Path):
    stage.run(Request(corpus, out=tmp_path / "out", assignments={"search.enabled": False}, limit=3))
    assert stage.contestant.transports == [None] * 3


def test_the_corpus_says_how_it_was_recorded(stage: Stage, corpus: Path, tmp_path: Path):
    stage.corpus_changes["manifest"] = stage.fakes.FakeManifest(settings={"search.results": 4})
    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=1))
    assert outcome.manifest["settings"]["search.results"] == 4
    assert outcome.manifest["origins"]["search.results"] == "corpus"


def test_another_question_file(stage: Stage, corpus: Path, tmp_path: Path):
    other = tmp_path / "mine.jsonl"
    line = {"category": "news", "question": "Mine?", "options": ["a", "b"], "answer": "a"}
    other.write_text(json.dumps(line) + "\n{bad\n")
    heard: list[Any] = []

    class Ear(Listener):
        def line_problems(self, problems):
            heard.extend(problems)

    outcome = stage.run(Request(corpus, questions=other, out=tmp_path / "out"), Ear())
    assert len(outcome.rows) == 1
    assert [problem.line for problem in heard] == [2]
    assert outcome.problems == (str(heard[0]),)
    assert outcome.manifest["problems"] == [str(heard[0])]


def test_a_corpus_without_questions_asks_for_some(stage: Stage, corpus: Path):
    stage.corpus_changes["manifest"] = stage.fakes.FakeManifest(questions=None)
    with pytest.raises(QuestionFileError, match="--questions"):
        stage.run(Request(corpus))
    assert stage.corpora[0].closed


def test_damage_in_the_corpus_is_told(stage: Stage, corpus: Path, tmp_path: Path):
    stage.corpus_changes["problems"] = ("body abc does not match its hash",)
    heard: list[str] = []

    class Ear(Listener):
        def corpus_problems(self, problems):
            heard.extend(problems)

    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=1), Ear())
    assert heard == ["body abc does not match its hash"]
    assert list(outcome.problems) == heard


# Failing questions


def test_a_failing_question_is_a_row_and_the_run_goes_on(stage: Stage, corpus: Path, tmp_path):
    stunts = {"news-0": "error", "maths-0": "bug"}
    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=6), stunts=stunts)
    failed = {row["question_id"]: row for row in outcome.rows if row["status"] == "failed"}
    assert set(failed) == set(stunts)
    for row in failed.values():
        assert row["basis"] == "failed"
        assert row["degradations"] == ["answer_failed"]
        assert row["correct"] is False
        assert row["answer_text"] is None
    lines = {line["row"]["question_id"]: line for line in read_traces(tmp_path / "out")}
    assert lines["news-0"]["error"] == {
        "type": "EngineError",
        "message": "The engine fell silent.",
        "remedy": "Wake it.",
    }
    assert lines["news-0"]["trace"]["degradations"] == [
        {"stage": "answer", "code": "answer_failed", "detail": "The engine fell silent."}
    ]
    bug = lines["maths-0"]["error"]
    assert (bug["type"], bug["message"]) == ("ZeroDivisionError", "ZeroDivisionError: a bug")
    assert "Traceback" in bug["traceback"]
    assert "fakes.py" in bug["traceback"]


@pytest.mark.parametrize(
    "facts",
    [
        {"hits": "many"},
        {"output": "\ud800"},
        {"strange": object()},
        {"strange": float("nan")},
    ],
    ids=["wrong type", "no text", "no JSON", "not a number"],
)
def test_facts_that_cannot_be_written_fail_that_question_only(
    stage: Stage, corpus: Path, tmp_path: Path, facts
):
    class Odd(stage.fakes.FakeContestant):  # type: ignore[name-defined]
        def play(self, question, transport, trace):
            answer = super().play(question, transport, trace)
            if question.id == "news-0":
                trace.note(**facts)
            return answer

    stage.fakes = type("F", (), {**vars(stage.fakes), "FakeContestant": Odd})
    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=6))
    failed = [row["question_id"] for row in outcome.rows if row["status"] == "failed"]
    assert failed == ["news-0"]
    assert len(outcome.rows) == 6
    assert any("error" in line for line in read_traces(tmp_path / "out"))


def test_seconds_that_are_none_fail_that_question_only(stage: Stage, corpus: Path, tmp_path: Path):
    class Odd(stage.fakes.FakeContestant):  # type: ignore[name-defined]
        def play(self, question, transport, trace):
            trace.network("search", float("nan"), recorded=True)
            return super().play(question, transport, trace)

    stage.fakes = type("F", (), {**vars(stage.fakes), "FakeContestant": Odd})
    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=2))
    assert [row["status"] for row in outcome.rows] == ["failed", "failed"]


def test_a_tape_that_cannot_be_had_fails_the_question(stage: Stage, corpus: Path, tmp_path: Path):
    class NoTape(stage.fakes.FakeCorpus):  # type: ignore[name-defined]
        def tape(self, mode):
            raise BadInputError("The tape is torn.")

    stage.fakes = type("F", (), {**vars(stage.fakes), "FakeCorpus": NoTape})
    outcome = stage.run(Request(corpus, out=tmp_path / "out", limit=1))
    assert outcome.rows[0]["status"] == "failed"


# Progress


def test_progress_counts_and_estimates(stage: Stage, corpus: Path, tmp_path: Path):
    heard: list[Any] = []

    class Ear(Listener):
        def started(self, folder, total):
            heard.append((len(folder.rows), total))

        def progress(self, progress):
            heard.append((progress.done, progress.total, progress.failed, progress.left_s))

    stage.run(Request(corpus, out=tmp_path / "out", limit=3), Ear(), stunts={"history-0": "error"})
    # Two seconds a question, none for the failed one.
    assert heard == [(0, 3), (1, 3, 0, 4.0), (2, 3, 1, 1.0), (3, 3, 1, 0.0)]


# Resuming


def interrupt(stage: Stage, request: Request, at: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        stage.run(request, stunts={at: "int"})


def test_an_interrupted_run_goes_on_where_it_stopped(stage: Stage, corpus: Path, tmp_path: Path):
    whole = stage.run(Request(corpus, out=tmp_path / "whole"))
    request = Request(corpus, out=tmp_path / "cut")
    interrupt(stage, request, "science-1")
    before = stage.contestant.history[:-1]
    assert len(before) == 8
    assert read_manifest(tmp_path / "cut")["status"] == "interrupted"
    assert stage.contestant.closed

    outcome = stage.run(request)
    assert outcome.digest == whole.digest
    assert outcome.resumed == 8
    assert set(stage.contestant.history).isdisjoint(before)
    assert len(stage.contestant.history) + len(before) == 24
    manifest = read_manifest(tmp_path / "cut")
    assert manifest["status"] == "finished"
    assert [item["answered"] for item in manifest["resumed"]] == [8]


def test_resume_in_another_order_is_the_same_run(stage: Stage, corpus: Path, tmp_path: Path):
    whole = stage.run(Request(corpus, out=tmp_path / "whole"))
    interrupt(stage, Request(corpus, out=tmp_path / "cut", shuffle=1), "science-1")
    assert stage.run(Request(corpus, out=tmp_path / "cut", shuffle=2)).digest == whole.digest


def test_a_request_can_be_made_from_the_run_alone(
    stage: Stage, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    request = Request(
        Path("corpus"),
        out=tmp_path / "cut",
        search=False,
        limit=9,
        shuffle=3,
        categories=(Category.NEWS, Category.MATHS, Category.HISTORY),
        assignments={"retrieval.keep": 3},
    )
    interrupt(stage, request, "maths-1")
    # Neither the folder nor the surroundings may change what is resumed.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOTSEAT_RETRIEVAL_KEEP", "99")
    outcome = stage.run(Request.of_run(tmp_path / "cut"))
    assert outcome.resumed > 0
    assert len(outcome.rows) == 9
    assert stage.contestant.transports[-1] is None
    assert outcome.manifest["origins"]["search.enabled"] == "--no-search"


def test_a_moved_corpus_can_be_named(stage: Stage, corpus: Path, tmp_path: Path):
    interrupt(stage, Request(corpus, out=tmp_path / "cut"), "science-1")
    corpus.rename(tmp_path / "moved")
    outcome = stage.run(Request.of_run(tmp_path / "cut", corpus=tmp_path / "moved"))
    assert len(outcome.rows) == 24


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"assignments": {"retrieval.keep": 3}},
            r"settings.retrieval.keep \(3 now, 40 in the run\)",
        ),
        ({"limit": 5}, r"limit \(5 now, null in the run\)"),
        ({"search": False}, r"settings.search.enabled \(false now, true in the run\)"),
        ({"categories": (Category.NEWS,)}, r"categories .*questions.digest"),
    ],
)
def test_another_run_is_refused_naming_what_differs(
    stage: Stage, corpus: Path, tmp_path: Path, change, named
):
    out = tmp_path / "cut"
    interrupt(stage, Request(corpus, out=out), "science-1")
    before = {item.name: item.read_bytes() for item in out.iterdir()}
    with pytest.raises(BadInputError, match=f"differs in {named}"):
        stage.run(Request(corpus, out=out, **change))
    assert {item.name: item.read_bytes() for item in out.iterdir()} == before


def test_another_contestant_or_corpus_is_refused(stage: Stage, corpus: Path, tmp_path: Path):
    out = tmp_path / "cut"
    interrupt(stage, Request(corpus, out=out), "science-1")
    with pytest.raises(BadInputError, match=r'contestant.engine \("other" now, "fake" in the run'):
        stage.run(Request(corpus, out=out), name="other")
    stage.corpus_changes["value"] = "sha256:changed"
    with pytest.raises(BadInputError, match=r"corpus.digest"):
        stage.run(Request.of_run(out))


def test_changed_gold_is_another_run(stage: Stage, corpus: Path, tmp_path: Path):
    out = tmp_path / "cut"
    interrupt(stage, Request(corpus, out=out), "science-1")
    file = corpus / "questions.jsonl"
    file.write_text(file.read_text().replace('"answer": "news 0 a"', '"answer": "news 0 b"'))
    with pytest.raises(BadInputError, match=r"questions.digest"):
        stage.run(Request(corpus, out=out))


def test_a_finished_run_is_refused(stage: Stage, corpus: Path, tmp_path: Path):
    stage.run(Request(corpus, out=tmp_path / "out", limit=2))
    with pytest.raises(BadInputError, match="already finished"):
        stage.run(Request(corpus, out=tmp_path / "out", limit=2))
    with pytest.raises(BadInputError, match="already finished"):
        Request.of_run(tmp_path / "out")


def test_a_manifest_that_does_not_say_how_to_go_on(stage: Stage, corpus: Path, tmp_path: Path):
    out = tmp_path / "cut"
    interrupt(stage, Request(corpus, out=out), "science-1")
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "source": None}))
    with pytest.raises(BadInputError, match="how it was started"):
        Request.of_run(out)


def test_nothing_is_created_when_a_run_cannot_start(stage: Stage, corpus: Path, tmp_path: Path):
    with pytest.raises(SettingError):
        stage.run(Request(corpus, out=tmp_path / "out", assignments={"retrieval.kep": 3}))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "runs").exists()


# Where runs go


def test_runs_go_into_the_working_folder(stage: Stage, corpus: Path, tmp_path: Path):
    outcome = stage.run(Request(corpus, limit=1))
    assert outcome.path == Path("runs/20260101T000000Z-fake")
    assert stage.run(Request(corpus, limit=1)).path.name == "20260101T000000Z-fake-2"


def test_or_into_the_home_where_that_cannot_be_written(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert runs_folder() == isolated_home / "runs"


def test_a_password_in_an_address_is_not_written(stage: Stage, corpus: Path, tmp_path: Path):
    assignments = {"search.url": "http://me:secret@h.example:8080"}
    stage.run(Request(corpus=corpus, out=tmp_path / "out", assignments=assignments))
    assert read_manifest(tmp_path / "out")["settings"]["search.url"] == "http://h.example:8080"
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()
