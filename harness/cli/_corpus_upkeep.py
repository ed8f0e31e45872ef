"""``hotseat corpus import``, ``compact`` and ``clean``: what changes things on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli._console import counted, print_json, printable, say, size_text

if TYPE_CHECKING:
    from harness.corpus import Merged

__all__ = ["print_problems", "progress_bar", "register_upkeep"]

_JSON = typer.Option("--json", help="Print one JSON document.")
_SHOWN = 20


def register_upkeep(group: typer.Typer) -> None:
    """Add the commands to the group ``corpus``."""
    group.command("import")(_import)
    group.command("compact")(_compact)
    group.command("clean")(_clean)


def _import(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="An exported folder, or a .warc or .warc.gz file, and a new folder; with --into "
            "any number of corpora of any form.",
            metavar="SOURCE… [NEW FOLDER]",
            show_default=False,
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            help="Take all sources into this corpus, which may be there already.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Unpack WARC, Hotseat's or any other tool's, into a corpus of your own; merge corpora.

    With --into, each source is taken in whole or not at all, and doing it
    again changes nothing.  Where two corpora hold different answers to one
    request, an answer beats a failure, a complete page one that was cut, and
    then the later one stays; each such conflict is listed.

    Exits with 1 if part of a source could not be read; the rest is there.

    Examples: hotseat corpus import crawl.warc.gz my-corpus

    hotseat corpus import monday tuesday shared/sample --into all-days
    """
    from harness.errors import BadInputError

    if into is not None:
        _merge(sources, into)
        return
    if len(sources) != 2:
        raise BadInputError(
            "Without --into, 'hotseat corpus import' takes one source and a new folder.",
            remedy="For several sources, name the corpus with --into.",
        )
    _unpack(*sources)


def _unpack(source: Path, corpus: Path) -> None:
    from harness.corpus import Corpus

    with Corpus.import_from(source, corpus) as made:
        problems = [str(problem) for problem in made.problems]
        info = made.info()
        number = counted(info.entries, "entry", "entries")
        typer.echo(f"Imported {number} into {corpus}; digest {info.digest}")
        _print_skipped(made.skipped)
    if problems:
        print_problems(problems)
        raise typer.Exit(1)


def _merge(sources: list[Path], into: Path) -> None:
    from harness.corpus import open_or_create

    problems: list[str] = []
    with open_or_create(into, sources[0]) as corpus:
        for source in sources:
            with progress_bar(source.name) as progress:
                merged = corpus.merge(source, progress)
            _tell(merged)
            _print_skipped(merged.skipped)
            for note in merged.notes:
                say(f"Note: {note}")
            problems += [str(problem) for problem in merged.problems]
        typer.echo(f"{into} now has the digest {corpus.digest()}")
    if problems:
        print_problems(problems)
        raise typer.Exit(1)


def _tell(merged: Merged) -> None:

    parts = [counted(merged.new, "new entry", "new entries"), f"{merged.same:,} there before"]
    parts.append(counted(len(merged.conflicts), "conflict"))
    if merged.questions:
        parts.append(counted(merged.questions, "question") + " added")
    typer.echo(printable(f"{merged.source}: {', '.join(parts)}"))
    for conflict in merged.conflicts[:_SHOWN]:
        typer.echo(printable(f"  {conflict}"))
    if len(merged.conflicts) > _SHOWN:
        typer.echo(f"  … and {len(merged.conflicts) - _SHOWN:,} more")


def _compact(
    corpus: Annotated[Path, typer.Argument(help="A corpus folder.", show_default=False)],
    repack: Annotated[
        bool, typer.Option("--repack", help="Also pack the pages again: slower, and tighter.")
    ] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Give back disk space: drop what no entry needs any more, and rewrite the database.

    What is recorded stays as it is, and so does the digest.

    Example: hotseat corpus compact my-corpus
    """
    from dataclasses import asdict

    from harness.corpus import Corpus

    with Corpus.open(corpus) as opened:
        done = opened.compact(repack=repack)
    if as_json:
        print_json({"path": str(corpus), **asdict(done)})
        return
    dropped = [counted(done.bodies, "body", "bodies"), counted(done.files, "stale file")]
    repacked = f", {done.repacked:,} packed again" if repack else ""
    typer.echo(
        f"{size_text(done.before_bytes)} before, {size_text(done.after_bytes)} after; "
        f"{' and '.join(dropped)} dropped{repacked}"
    )
    for note in done.notes:
        say(f"Note: {note}")


def _clean(
    days: Annotated[
        float, typer.Option("--days", min=0, help="What was not used for so many days may go.")
    ] = 30.0,
    everything: Annotated[bool, typer.Option("--all", help="All may go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only list.")] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """List or delete unpacked copies of corpora in Hotseat's own folder.

    Exported corpora and WARC files are unpacked there when they are opened.
    What goes here is made again when it is needed; what you recorded is never
    touched.

    Example: hotseat corpus clean --days 30 --yes
    """
    from dataclasses import asdict

    from harness.corpus import clean

    found = clean(days=days, everything=everything, remove=yes)
    total = sum(item.size_bytes for item in found)
    if as_json:
        items = [{**asdict(item), "path": str(item.path)} for item in found]
        print_json({"deleted": yes, "size_bytes": total, "folders": items})
        return
    for item in found:
        of = f" of {item.source}" if item.source else ""
        typer.echo(
            printable(f"{item.path}: {item.kind}{of}, {size_text(item.size_bytes)}; {item.reason}")
        )
    number = counted(len(found), "folder")
    if yes:
        typer.echo(f"Deleted {number}, {size_text(total)}")
    else:
        again = "; delete them with --yes" if found else ""
        typer.echo(f"{number}, {size_text(total)}, may go{again}")


def _print_skipped(skipped: dict[str, int]) -> None:
    if skipped:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(skipped.items()))
        typer.echo(f"Records that hold no page were passed over: {kinds}", err=True)


def print_problems(problems: list[str]) -> None:
    """Tell what is wrong with a corpus, on stderr."""
    for problem in problems:
        typer.echo(f"Problem: {problem}", err=True)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on stderr while something runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
