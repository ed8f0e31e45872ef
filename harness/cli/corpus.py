"""``hotseat corpus``: look at recorded corpora, check them, share them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.cli._console import counted, print_json
from harness.cli._corpus_upkeep import print_problems, progress_bar, register_upkeep

__all__ = ["register"]

_CORPUS = typer.Argument(
    help="A corpus folder, an exported folder, or a .warc or .warc.gz file.", show_default=False
)
_JSON = typer.Option("--json", help="Print one JSON document.")


def register(app: typer.Typer) -> None:
    """Add the command group ``corpus`` to the command line."""
    group = typer.Typer(
        name="corpus",
        help="Look at recorded corpora, check them, share them.",
        no_args_is_help=True,
    )
    group.command("info")(_info)
    group.command("verify")(_verify)
    group.command("export")(_export)
    register_upkeep(group)
    from harness.cli._corpus_search import search

    group.command("search")(search)
    app.add_typer(group)


def _info(
    corpus: Annotated[Path, _CORPUS],
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Say what a corpus holds.

    Example: hotseat corpus info cache/sample
    """
    from dataclasses import asdict

    from harness.corpus import Corpus

    with Corpus.open(corpus, read_only=True) as opened:
        info = opened.info()
        problems = [str(problem) for problem in opened.problems]
    asked = _count_questions(info.questions, problems)
    if as_json:
        print_json({**asdict(info), "question_count": asked, "problems": problems})
        return
    providers = ", ".join(f"{name} {number}" for name, number in info.providers.items())
    rows = {
        "corpus": f"{info.name} ({info.kind}{', read-only' if info.read_only else ''})",
        "path": info.path,
        "created": info.created,
        "digest": info.digest,
        "entries": f"{info.entries} ({providers or 'none'}) for "
        f"{counted(info.requests, 'different request')}",
        "failures": f"{info.failures} recorded; "
        f"{counted(info.truncated, 'body', 'bodies')} cut, "
        f"{counted(info.damaged, 'entry', 'entries')} damaged",
        "bodies": f"{info.bodies} distinct, {counted(info.body_bytes, 'byte')}",
        "on disk": counted(info.stored_bytes, "byte"),
        "questions": "none" if asked is None else str(asked),
        "question file": info.questions or "none",
    }
    rows |= {name: json.dumps(value) for name, value in sorted(info.settings.items())}
    width = max(map(len, rows))
    for name, value in rows.items():
        typer.echo(f"{name:<{width}}  {value}")
    print_problems(problems)


def _count_questions(path: str | None, problems: list[str]) -> int | None:
    """Return how many questions can be used; a file of none becomes a problem."""
    from harness.errors import QuestionFileError
    from harness.question_file import load_questions

    if path is None:
        return None
    try:
        return len(load_questions(Path(path)).questions)
    except QuestionFileError as error:
        problems.append(error.message)
        return 0


def _verify(
    corpus: Annotated[Path, _CORPUS],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            help="Check a large corpus in so many processes; by default as many as there are "
            "cores, at most 8.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Check every byte of a corpus against its hashes; exit with 1 if any is wrong.

    Example: hotseat corpus verify cache/sample
    """
    from harness.corpus import check

    with progress_bar("Checking") as progress:
        found = check(corpus, progress, jobs=jobs)
    problems = [str(problem) for problem in found.problems]
    entries, digest = found.entries, found.digest
    if as_json:
        told = {"path": str(corpus), "ok": not problems, "entries": entries, "digest": digest}
        print_json({**told, "problems": problems})
    else:
        for problem in problems:
            typer.echo(problem)
        number = counted(len(problems), "problem") if problems else "no problem"
        checked = counted(entries, "entry", "entries")
        typer.echo(f"{checked} checked, {number} found; digest {digest or 'unknown'}")
    if problems:
        raise typer.Exit(1)


def _export(
    corpus: Annotated[Path, _CORPUS],
    target: Annotated[
        Path, typer.Argument(help="A new folder, or a file named ….warc.gz.", show_default=False)
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what was exported there before.")
    ] = False,
) -> None:
    """Write a corpus as WARC, to be shared; the same corpus gives the same bytes.

    Exits with 1 if something in it is damaged; the rest is exported.

    Example: hotseat corpus export my-corpus shared/my-corpus
    """
    from harness.corpus import Corpus

    with Corpus.open(corpus, read_only=True) as opened:
        done = opened.export(target, replace=replace)
    problems = [str(problem) for problem in done.problems]
    number = counted(done.entries, "entry", "entries")
    typer.echo(f"Exported {number} to {target}; digest {done.digest}")
    if problems:
        print_problems(problems)
        raise typer.Exit(1)
