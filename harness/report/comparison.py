"""The tables of a comparison, on a terminal or in a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.report._drawing import Pen
from harness.report._flip_lines import flip_lines
from harness.report._ratio_lines import ratio_lines
from harness.scoring.verdict import points

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["render_comparison"]

_LABEL = 19
_WIDE = 80  # below, intervals of groups have no room
_GROUP_NAMES = {"category": "By category", "level": "By level", "tag": "By tag"}
_DIFFERENCES_SHOWN = 12
_UNMATCHED_SHOWN = 5
_Line = tuple[str, str]
"""A line's text and its style."""


def render_comparison(document: Mapping[str, Any], console: Console) -> None:
    """Print a comparison's document as tables, the verdict last.

    ``document`` is that of :func:`harness.scoring.comparison_document`.  One
    comparison is shown with all its parts, several as a table against the
    baseline.  On a terminal the tables use drawing characters and colour,
    elsewhere plain ASCII; lines keep to the console's width, except paths, which
    are never cut.
    """
    from rich.text import Text

    pen = Pen.of(console)
    for text, style in _lines(document, pen):
        console.print(Text(text.rstrip(), style=style), soft_wrap=True)


def _lines(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    yield from _runs(document, pen)
    yield from _differences(document, pen)
    comparisons = document["comparisons"]
    if len(comparisons) == 1:
        yield from _whole(comparisons[0], document, pen)
    else:
        yield from _against_baseline(document, pen)
    for comparison in comparisons:
        yield from _conclusion(comparison, pen, named=len(comparisons) > 1)


def _whole(comparison: Mapping[str, Any], document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    if comparison["overall"]["n"]:
        yield from _accuracy(comparison, document, pen)
        yield from _groups(comparison, document, pen)
        yield from _bases(comparison, pen)
    yield from ratio_lines(comparison, document["confidence"], pen)
    yield from flip_lines(comparison, pen)
    yield from _unmatched(comparison, pen)


def _runs(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    for letter, run in document["runs"].items():
        role = "  (baseline)" if letter == document["baseline"] else ""
        name = pen.text(str(run["path"] or run["name"]))
        yield f"{letter}  {name}{role}", "bold"
    yield "", ""


def _differences(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    found, letters = document["differences"], list(document["runs"])
    if not found:
        yield "No setting, model, recording or question differs.", ""
        yield "", ""
        return
    width = max(10, (pen.width - 2 * _LABEL - 2) // len(letters) - 2)
    head = "".join(f"  {letter:<{width}}" for letter in letters)
    yield from _title("What differs", pen, head=head, label=2 * _LABEL)
    for line in found[:_DIFFERENCES_SHOWN]:
        name = f"{line['part']} {line['name']}" if line["name"] != line["part"] else line["part"]
        cells = "".join(f"  {pen.cell(_value(line['values'][x]), width)}" for x in letters)
        yield pen.cell(name, 2 * _LABEL) + cells, ""
    if len(found) > _DIFFERENCES_SHOWN:
        yield f"and {len(found) - _DIFFERENCES_SHOWN} more, which --json tells.", "dim"
    yield "", ""


def _value(value: Any) -> str:
    if value is None:
        return "-"
    text = str(value)
    return text.removeprefix("sha256:")[:12] if text.startswith("sha256:") else text


def _accuracy(
    comparison: Mapping[str, Any], document: Mapping[str, Any], pen: Pen
) -> Iterator[_Line]:
    result = comparison["overall"]
    width = pen.width - _LABEL - 11 - 10 - 16 - 2
    interval = f"{_confidence(document)} interval"
    head = f"{'right':>11}{'accuracy':>10}{interval:>16}  {pen.scale(width)}"
    yield from _title("Accuracy", pen, head=head)
    for letter, side in zip(comparison["runs"], "ab", strict=True):
        found = result[f"accuracy_{side}"]
        whisker = pen.whisker(found["estimate"], found["lower"], found["upper"], width)
        right = f"{found['right']}/{found['n']}"
        yield (
            f"{letter:<{_LABEL}}{right:>11}{_per_cent(found['estimate']):>10}"
            f"{pen.span(found['lower'], found['upper']):>16}  {whisker}",
            "",
        )
    yield "", ""
    first, second = comparison["runs"]
    yield f"{result['both']:>8,}  right in both", ""
    yield f"{result['gained']:>8,}  right in {second} only (gained)", "green"
    yield f"{result['lost']:>8,}  right in {first} only (lost)", "red"
    yield f"{result['neither']:>8,}  right in neither", ""
    yield "", ""
    yield f"Difference  {_difference(result)} points, {interval} {_limits(result, pen)}", "bold"
    yield f"            by {result['method']}; {result['test']}: {_p(result['p'], '{:.4f}')}", ""
    if result["detectable"] is not None:
        smallest = points(result["detectable"], signed=False)
        yield f"            shown in 4 of 5 comparisons: {smallest} points and more", ""
    yield "", ""


def _groups(
    comparison: Mapping[str, Any], document: Mapping[str, Any], pen: Pen
) -> Iterator[_Line]:
    groups = comparison["groups"]
    if not groups:
        return
    label, level = max(12, min(_LABEL + 12, pen.width - 67)), 1 - document["confidence"]
    head = _result_head([f"{letter} %" for letter in comparison["runs"]], document, pen)
    yield from _title(_GROUP_NAMES[document["by"]], pen, head=head, label=label)
    for name, result in groups.items():
        style = "bold" if result["p_adjusted"] <= level else ""
        yield pen.cell(name, label) + _result_row(result, pen), style
    yield "", ""


def _result_head(names: list[str], document: Mapping[str, Any], pen: Pen) -> str:
    interval = f"{f'{_confidence(document)} interval':>16}" if pen.width >= _WIDE else ""
    shares = "".join(f"{name:>8}" for name in names)
    return f"{'n':>6}{shares}{'lost':>6}{'gained':>7}{'points':>8}{interval}{'p Holm':>8}"


def _result_row(result: Mapping[str, Any], pen: Pen) -> str:
    limits = f"{_limits(result, pen):>16}" if pen.width >= _WIDE else ""
    shares = "".join(f"{100 * result[f'accuracy_{side}']['estimate']:>8.1f}" for side in "ab")
    return (
        f"{result['n']:>6}{shares}{result['lost']:>6}{result['gained']:>7}"
        f"{_difference(result):>8}{limits}{_short_p(result['p_adjusted']):>8}"
    )


def _bases(comparison: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    first, second = comparison["runs"]
    yield from _title(
        "By what the answer rests on", pen, head=f"{first:>12}{second:>12}", label=2 * _LABEL - 8
    )
    for line in comparison["by_basis"]:
        cells = [f"{line[f'right_{side}']}/{line[f'n_{side}']}" for side in "ab"]
        yield f"{pen.cell(line['basis'], 2 * _LABEL - 8)}{cells[0]:>12}{cells[1]:>12}", ""
    yield "Right of all. Not tested: each run has other answers under a basis.", "dim"
    yield "", ""


def _unmatched(comparison: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    for letter, side in zip(comparison["runs"], "ab", strict=True):
        rows = comparison["unmatched"][side]
        if not rows:
            continue
        yield from _title(f"In {letter} without a partner: {len(rows):,}", pen)
        for row in rows[:_UNMATCHED_SHOWN]:
            yield pen.cell(f"{row['question_id']}: {row['reason']}", pen.width), ""
        if len(rows) > _UNMATCHED_SHOWN:
            yield f"and {len(rows) - _UNMATCHED_SHOWN:,} more, which --json lists.", "dim"
        yield "", ""
    truths = comparison["two_truth_ids"]
    if truths:
        yield from _title(f"With two truths: {len(truths):,}", pen)
        for row in truths[:_UNMATCHED_SHOWN]:
            gold = [row["gold_a"], row["gold_b"]]
            said = " / ".join("refused" if text is None else str(text) for text in gold)
            yield pen.cell(f"{row['question_id']}: {said}", pen.width), ""
        yield "", ""


def _against_baseline(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    baseline = document["baseline"]
    head = _result_head([f"{baseline} %", "own %"], document, pen)
    yield from _title(f"Against {baseline}", pen, head=head, label=12)
    for comparison in document["comparisons"]:
        result, letter = comparison["overall"], comparison["runs"][1]
        if result["n"]:
            yield f"{letter:<12}{_result_row(result, pen)}", ""
        else:
            yield f"{letter:<12}{0:>6}  no question of known truth in common", ""
    yield "", ""
    yield "Compare two runs to see their groups, flipped questions and seconds.", "dim"
    yield "", ""


def _conclusion(comparison: Mapping[str, Any], pen: Pen, *, named: bool) -> Iterator[_Line]:
    prefix = f"{comparison['runs'][1]}: " if named else ""
    for line in textwrap.wrap(pen.text(prefix + comparison["verdict"]), pen.width):
        yield line, "bold"
    for sentence in comparison["caveats"]:
        for line in textwrap.wrap(pen.text(sentence), pen.width):
            yield line, "yellow"
    if named:
        yield "", ""


def _title(title: str, pen: Pen, *, head: str = "", label: int = _LABEL) -> Iterator[_Line]:
    yield f"{title.ljust(label)}{head}", "bold cyan"
    yield ("─" if pen.fine else "-") * pen.width, "dim"


def _difference(result: Mapping[str, Any]) -> str:
    return points(result["difference"])


def _limits(result: Mapping[str, Any], pen: Pen) -> str:
    dash = "…" if pen.fine else ".."
    return f"{points(result['lower'])} {dash} {points(result['upper'])}"


def _p(p: float, form: str) -> str:
    return "p < 0.0001" if p < 0.0001 else "p = " + form.format(p)


def _short_p(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _confidence(document: Mapping[str, Any]) -> str:
    return f"{100 * document['confidence']:g} %"
