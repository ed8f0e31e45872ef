"""``hotseat replay`` and ``hotseat demo``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import JSON, PRESET, SET
from harness.cli._stored_vectors import StoredVectorsOfReplay
from harness.cli.settings import assignments
from harness.errors import MissingError

if TYPE_CHECKING:
    from harness.contestant.protocol import Contestant
    from harness.replay import Outcome, RecordedWeb, Request, SearchFallback
    from harness.settings import Settings

__all__ = ["register"]

DEMO_QUESTIONS = 24


class OnMiss(StrEnum):
    """What a request that was never recorded becomes."""

    FAIL = "fail"
    CORPUS = "corpus"


_ON_MISS = typer.Option(
    OnMiss.FAIL,
    "--on-miss",
    help="A search that was not recorded: 'fail' notes it on the answer and goes on, "
    "'corpus' searches the recorded pages instead, and notes that.",
)


class AllFailedError(MissingError):
    """A replay in which no question could be answered."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("demo")(_demo)
    app.command("replay")(_replay)


def _demo(
    limit: int = typer.Option(
        DEMO_QUESTIONS, "--limit", "-n", min=1, help="Questions, spread over the categories."
    ),
    preset: str = PRESET,
    sets: list[str] = SET,
    on_miss: OnMiss = _ON_MISS,
    as_json: bool = JSON,
) -> None:
    """Replay the shipped recording with the embedded models: nothing to set up.

    Fetches the models on first use (once, about 1.2 GB); after that it needs no network.

    For example:

      hotseat demo

      hotseat demo --limit 6 --set engine.model=smollm2
    """
    from harness.replay import Request, sample_path

    _console.say(
        f"Replaying {_console.counted(limit, 'recorded question')}; "
        "web pages come from the shipped recording, not from the network."
    )
    request = Request(
        sample_path(),
        preset=preset,
        assignments=assignments(sets),
        limit=limit,
        on_miss=on_miss.value,
    )
    _run(request, as_json=as_json)


def _replay(
    corpus: Path | None = typer.Argument(
        None, help="Recorded corpus: a folder, or a WARC file.", show_default=False
    ),
    questions: Path | None = typer.Option(
        None, "--questions", "-q", help="Question file, in place of the corpus's own."
    ),
    limit: int | None = typer.Option(
        None, "--limit", "-n", min=1, help="Play this many, spread over the categories."
    ),
    category: list[str] = typer.Option(
        [], "--category", "-c", help="Play only this category; may be repeated."
    ),
    shuffle: int | None = typer.Option(
        None, "--shuffle", metavar="SEED", help="Play in another order; results must not change."
    ),
    preset: str = PRESET,
    sets: list[str] = SET,
    no_search: bool = typer.Option(False, "--no-search", help="No research: the model alone."),
    on_miss: OnMiss = _ON_MISS,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Run folder; an unfinished one of the same run is resumed."
    ),
    resume: Path | None = typer.Option(
        None, "--resume", metavar="RUN", help="Go on with an interrupted run, as it was started."
    ),
    as_json: bool = JSON,
) -> None:
    """Rerun the agent on a recorded corpus, offline, and score it.

    The same machine, settings, models and corpus give the same results digest,
    in whatever order the questions are played.

    For example:

      hotseat replay my-corpus --limit 20

      hotseat replay my-corpus --no-search --json

      hotseat replay my-corpus --set search.language=it-IT --on-miss corpus

      hotseat replay --resume runs/20260101T120000Z-my-corpus
    """
    from harness.quiz import Category
    from harness.replay import Request

    if resume is not None:
        others = (limit, category, sets, no_search, out, preset != "cpu", on_miss != OnMiss.FAIL)
        if any(others) or shuffle is not None:
            raise typer.BadParameter(
                "takes all settings from the run; of the others it allows only "
                "CORPUS and --questions (if they moved) and --json",
                param_hint="--resume",
            )
        _run(Request.of_run(resume, corpus=corpus, questions=questions), as_json=as_json)
        return
    if corpus is None:
        raise typer.BadParameter("name a corpus, or a run with --resume", param_hint="CORPUS")
    request = Request(
        corpus,
        questions=questions,
        preset=preset,
        assignments=assignments(sets),
        limit=limit,
        categories=tuple(Category.parse(name) for name in category),
        shuffle=shuffle,
        search=not no_search,
        on_miss=on_miss.value,
        out=out,
    )
    _run(request, as_json=as_json)


def _run(request: Request, *, as_json: bool) -> None:
    from harness.cli._replay_display import ReplayDisplay
    from harness.replay import replay

    vectors = StoredVectorsOfReplay(_open_corpus, _load_contestant)
    with ReplayDisplay() as display, _console.Terminated() as terminated:
        try:
            outcome = replay(
                request,
                open_corpus=vectors.open_corpus,
                load_contestant=vectors.load_contestant,
                open_fallback=_open_fallback,
                listener=display,
            )
        except KeyboardInterrupt:
            display.interrupted()
            raise typer.Exit(terminated.exit_code) from None
    vectors.tell_problems()
    document = _document(outcome)
    if as_json:
        _console.print_json(document)
    else:
        _show(document)
    _tell_misses(outcome)
    _check_failures(outcome)


def _tell_misses(outcome: Outcome) -> None:
    """Say what a recording does not answer any more, and what can be done."""
    missing = sum("not_recorded" in row["degradations"] for row in outcome.rows)
    if not missing or outcome.manifest.get("on_miss") is not None:
        return
    changed = [
        name
        for name, origin in outcome.manifest["origins"].items()
        if name.startswith(("search.", "fetch.")) and origin not in ("default", "corpus")
    ]
    cause = f" (changed against the recording: {', '.join(changed)})" if changed else ""
    _console.say(
        f"Note: {missing} of {_console.counted(len(outcome.rows), 'question')} asked for something "
        f"that was never recorded{cause}. --on-miss corpus searches the recorded pages instead; "
        "'hotseat record' records what is missing."
    )


def _open_corpus(path: Path) -> RecordedWeb:
    from harness.corpus import Corpus

    return Corpus.open(path)


def _load_contestant(settings: Settings) -> Contestant:
    from harness.contestant.embedded import load_contestant

    with _console.PullDisplay() as display:
        return load_contestant(settings, progress=display.hear)


def _open_fallback(corpus: RecordedWeb, settings: Settings) -> SearchFallback:
    from harness.cli._index_display import update_index
    from harness.corpus import Corpus
    from harness.corpus_index import CorpusIndex, CorpusSearch
    from harness.retrieval import load_encoder

    assert isinstance(corpus, Corpus)
    wanted = settings.retrieval
    encoder = load_encoder(wanted.encoder, threads=wanted.encoder_threads, device=wanted.device)
    index = CorpusIndex.open(corpus, encoder)
    try:
        update_index(index)
    except BaseException:
        index.close()
        raise
    return CorpusSearch(index, results=settings.search.results)


def _document(outcome: Outcome) -> dict[str, Any]:
    from harness.scoring import summary_document

    manifest = outcome.manifest
    summary = summary_document(
        outcome.rows,
        expected=manifest["questions"]["n"],
        budget_s=manifest["settings"]["time.budget_s"],
        allowed_s=manifest["settings"]["time.allowed_s"],
    )
    return {
        "run": str(outcome.path),
        "digest": outcome.digest,
        **summary,
        "seconds": round(outcome.seconds, 3),
        "resumed": outcome.resumed,
        "problems": list(outcome.problems),
    }


def _show(document: dict[str, Any]) -> None:
    from harness.report.terminal import render

    render(document, _console.stdout())


def _check_failures(outcome: Outcome) -> None:
    """Be loud about failed questions; raise when not one was answered."""
    failed = sum(row["status"] == "failed" for row in outcome.rows)
    if not failed:
        return
    first = _first_failure(outcome.path)
    if failed == len(outcome.rows):
        raise AllFailedError(
            f"{'The only question' if failed == 1 else f'All {failed} questions'} failed. "
            f"The first: {first}"
        )
    _console.warn(f"{failed} of {len(outcome.rows)} questions failed. The first: {first}")


def _first_failure(run: Path) -> str:
    from harness.replay import read_traces

    for line in read_traces(run):
        if "error" in line:
            return str(line["error"]["message"])
    return "see traces.jsonl"
