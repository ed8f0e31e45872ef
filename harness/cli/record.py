"""``hotseat record``: research a question set and keep what comes back."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import JSON, SET
from harness.cli.settings import assignments

if TYPE_CHECKING:
    from datetime import datetime

    from harness.contestant.recording import RecordProgress, RecordReport
    from harness.corpus import Corpus
    from harness.question_file import LoadedQuestions

__all__ = ["register"]

_PROBLEMS_SHOWN = 10
_REASONS_SHOWN = 8


class Refetch(StrEnum):
    """What is fetched although it is stored."""

    MISSING = "missing"
    FAILED = "failed"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("record")(_record)


def _record(
    questions: Path = typer.Option(..., "--questions", "-q", help="Question file (JSON Lines)."),
    corpus: Path = typer.Option(
        ..., "--corpus", "-C", help="Folder of the recording; made, or continued if it is there."
    ),
    server: str | None = typer.Option(
        None, "--server", metavar="URL", help="SearXNG server; the same as --set search.url=URL."
    ),
    proxy: str | None = typer.Option(
        None, "--proxy", metavar="URL", help="HTTP proxy that all requests go through."
    ),
    refresh: Refetch = typer.Option(
        Refetch.MISSING,
        "--refresh",
        help="Fetch what is missing, also what failed, or everything anew.",
    ),
    limit: int | None = typer.Option(
        None, "--limit", "-n", min=1, help="Research this many, spread over the categories."
    ),
    sets: list[str] = SET,
    virtual_time: str | None = typer.Option(
        None,
        "--virtual-time",
        metavar="ISO",
        help="Date everything so and take seconds from the server's Server-Timing header: "
        "a test site is then recorded the same bit for bit.",
    ),
    as_json: bool = JSON,
) -> None:
    """Research a question set through a SearXNG server and keep all pages for replay.

    Every search and page goes into the corpus folder, failures included, with
    a copy of the question file. What is stored is not fetched again, so a
    recording that was interrupted goes on where it stopped when the same
    command is run again. A question whose research breaks down is named at the
    end, and the exit code is then 1.

    The server has to list 'json' under search.formats in its settings.yml.

    For example:

      hotseat record --questions q.jsonl --corpus my-corpus

      hotseat record -q q.jsonl -C my-corpus --server http://127.0.0.1:8888 --limit 20

      hotseat record -q q.jsonl -C my-corpus --refresh failed
    """
    from harness.contestant.recording import record_questions, recording_into
    from harness.question_file import load_questions

    loaded = load_questions(questions)
    _console.tell_line_problems(loaded.problems)
    changes = assignments(sets)
    if server is not None:
        changes["search.url"] = server
    moment = _moment(virtual_time) if virtual_time is not None else None
    given = {
        "server": server,
        "proxy": proxy,
        "refresh": refresh.value if refresh is not Refetch.MISSING else None,
        "limit": str(limit) if limit is not None else None,
        "virtual-time": virtual_time,
    }
    again = _command(questions, corpus, given, sets)
    with ExitStack() as stack:
        terminated = stack.enter_context(_console.Terminated())
        target, settings = stack.enter_context(
            recording_into(corpus, questions, loaded, assignments=changes, moment=moment)
        )
        chosen = _choose(loaded, limit)
        total = len(chosen)
        counter = _console.Counter("questions", total)
        done = 0

        def show(news: RecordProgress) -> None:
            nonlocal done
            done = news.done
            counter.moved(news.done, _note(news))

        try:
            with counter:
                report = record_questions(
                    chosen,
                    target,
                    settings=settings,
                    proxy=proxy,
                    refresh=refresh.value,
                    progress=show,
                    **_timing(moment),
                )
        except KeyboardInterrupt:
            _console.say(
                f"Interrupted: {done} of {_console.counted(total, 'question')} recorded, and all "
                f"that was fetched is kept. Go on with: {again}"
            )
            raise typer.Exit(terminated.exit_code) from None
        document = _document(target, loaded, report)
    if as_json:
        _console.print_json(document)
    else:
        _show(document)
    if report.broken:
        raise typer.Exit(1)
    if report.searches and sum(report.searches_failed.values()) == report.searches:
        from harness.errors import SearchFailedError

        raise SearchFailedError(
            f"Not one of {_console.counted(report.searches, 'search', 'searches')} brought "
            "anything: a replay would have nothing to read.",
            remedy="Check the search server, then run the same command with --refresh failed.",
        )


def _choose(loaded: LoadedQuestions, limit: int | None) -> tuple[Any, ...]:
    # As a replay chooses, so that the same --limit finds the same questions.
    from harness.replay.selection import choose

    return choose(loaded.questions, limit=limit)


def _moment(text: str) -> datetime:
    from datetime import UTC, datetime

    from harness.errors import BadInputError

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInputError(
            f"--virtual-time: '{text}' is no time.", remedy="Write it like 2026-01-01T12:00:00Z."
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _timing(moment: datetime | None) -> dict[str, Any]:
    if moment is None:
        return {}
    from harness.clock import VirtualClock

    return {"clock": VirtualClock(wall=moment), "timing": "declared", "pause_s": 0.0}


def _note(news: RecordProgress) -> str:
    parts = [_console.counted(news.fetched, "request")]
    if news.kept:
        parts.append(f"{news.kept} stored before")
    if news.left_s is not None and news.done < news.total:
        parts.append(f"about {_console.duration_text(news.left_s)} left")
    return ", ".join(parts)


def _command(questions: Path, corpus: Path, options: dict[str, str | None], sets: list[str]) -> str:
    """Return the command line that goes on with a recording."""
    words = ["hotseat", "record", "--questions", str(questions), "--corpus", str(corpus)]
    for name, value in options.items():
        words += [f"--{name}", value] if value is not None else []
    for text in sets:
        words += ["--set", text]
    return shlex.join(words)


def _document(corpus: Corpus, loaded: LoadedQuestions, report: RecordReport) -> dict[str, Any]:
    return {
        "corpus": str(corpus.path),
        "digest": corpus.digest(),
        "questions": {
            "file": len(loaded.questions),
            "researched": report.questions,
            "without_results": report.without_results,
            "broken": [{"id": name, "fault": fault} for name, fault in report.broken],
            "bad_lines": sum(not problem.warning for problem in loaded.problems),
        },
        "requests": {"fetched": report.fetched, "stored_before": report.kept},
        "searches": {
            "total": report.searches,
            "failed": sum(report.searches_failed.values()),
            "reasons": dict(report.searches_failed),
        },
        "pages": {
            "total": report.pages,
            "failed": sum(report.pages_failed.values()),
            "reasons": dict(report.pages_failed),
        },
    }


def _show(document: dict[str, Any]) -> None:
    asked, requests = document["questions"], document["requests"]
    lines = [
        f"questions  {asked['researched']} researched"
        + (f", {asked['without_results']} without any result" * bool(asked["without_results"])),
        f"requests   {requests['fetched']} fetched, {requests['stored_before']} stored before",
    ]
    broken = asked["broken"]
    if broken:
        lines.append(f"broken     {_console.counted(len(broken), 'question')}: a fault in Hotseat")
        lines += [f"           {one['id']}: {one['fault']}" for one in broken[:_PROBLEMS_SHOWN]]
        if len(broken) > _PROBLEMS_SHOWN:
            lines.append(f"           … and {len(broken) - _PROBLEMS_SHOWN} more")
    for name in ("searches", "pages"):
        part = document[name]
        lines.append(f"{name:<10} {part['total'] - part['failed']} of {part['total']} usable")
        reasons = list(part["reasons"].items())
        lines += [f"           {count} × {reason}" for reason, count in reasons[:_REASONS_SHOWN]]
        if len(reasons) > _REASONS_SHOWN:
            lines.append(f"           … and {len(reasons) - _REASONS_SHOWN} more kinds")
    lines += [
        f"corpus     {document['corpus']}",
        f"digest     {document['digest']}",
        f"Replay it with: {shlex.join(['hotseat', 'replay', document['corpus']])}",
    ]
    for line in lines:
        typer.echo(_console.printable(line))
