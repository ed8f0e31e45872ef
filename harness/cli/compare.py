"""``hotseat compare``: whether a change helped."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import _console
from harness.cli._options import JSON
from harness.cli._runs import load_runs, parse_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.scoring.compare import Comparison

__all__ = ["register"]

FLIPS = 10


class By(StrEnum):
    """What questions are grouped by."""

    CATEGORY = "category"
    LEVEL = "level"
    TAG = "tag"


class Format(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    CSV = "csv"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(_compare)


def _compare(
    runs: list[str] = typer.Argument(
        ..., metavar="RUN", help="Run folders, or names of runs inside ./runs.", show_default=False
    ),
    baseline: str | None = typer.Option(
        None, "--baseline", "-b", metavar="RUN", help="The run to compare with; else the first."
    ),
    margin: str = typer.Option(
        "2pp", "--margin", metavar="POINTS", help="Loss of accuracy that would be put up with."
    ),
    confidence: float = typer.Option(0.95, "--confidence", help="Confidence of the intervals."),
    seed: int = typer.Option(
        0, "--seed", min=0, help="Seed of the bootstrap, which questions in games need."
    ),
    by: By = typer.Option(By.CATEGORY, "--by", help="Groups that are compared one by one."),
    flip_limit: int | None = typer.Option(
        None,
        "--flips",
        min=0,
        metavar="N",
        help=f"Flipped questions to list (a table: {FLIPS}, JSON: all).",
    ),
    form: Format = typer.Option(
        Format.TABLE, "--format", help="'md' is Markdown, 'csv' has one line a shared question."
    ),
    as_json: bool = JSON,
) -> None:
    """Compare runs on the questions that they share, to see whether a change helped.

    Rows are paired by question; what has no partner is listed and counted.
    With two runs all is shown: the difference with its interval, a paired
    test, groups, flipped questions, ratios of seconds. Several are set
    against the baseline.

    For example:

      hotseat compare runs/before runs/after

      hotseat compare after-1 after-2 --baseline before --margin 1pp

      hotseat compare runs/before runs/after --by tag --flips 50

      hotseat compare runs/before runs/after --json
    """
    from harness.scoring.compare import Design, compare_all

    if not 0 < confidence < 1:
        raise typer.BadParameter("must lie between 0 and 1", param_hint="--confidence")
    design = Design(margin=parse_points(margin), confidence=confidence, seed=seed)
    named = [run for run in runs if run != baseline]
    texts = named if baseline is None else [baseline, *named]
    if len(texts) < 2:
        raise typer.BadParameter("name at least two runs", param_hint="RUN")
    comparisons = compare_all(load_runs(texts, "RUN"), design=design, by=by.value)
    _print(comparisons, Format.JSON if as_json else form, flip_limit)


def _print(comparisons: Sequence[Comparison], form: Format, flip_limit: int | None) -> None:
    from harness.scoring.comparison_document import comparison_document, pairs_csv

    match form:
        case Format.JSON:
            _console.print_json(comparison_document(comparisons, flip_limit=flip_limit))
        case Format.CSV:
            typer.echo(pairs_csv(comparisons), nl=False)
        case Format.MD:
            from harness.report.comparison_markdown import comparison_markdown

            typer.echo(comparison_markdown(_for_people(comparisons, flip_limit)), nl=False)
        case Format.TABLE:
            from harness.report.comparison import render_comparison

            render_comparison(_for_people(comparisons, flip_limit), _console.stdout())


def _for_people(comparisons: Sequence[Comparison], flip_limit: int | None) -> dict[str, Any]:
    """Return the document with some flips, and these with the texts of their questions."""
    from harness.scoring.comparison_document import comparison_document
    from harness.scoring.flip_stories import with_stories

    limit = FLIPS if flip_limit is None else flip_limit
    document = comparison_document(comparisons, flip_limit=limit)
    if len(comparisons) == 1:
        only, shown = comparisons[0], document["comparisons"][0]
        shown["flips"] = with_stories(shown["flips"], only.a.path, only.b.path)
    return document
