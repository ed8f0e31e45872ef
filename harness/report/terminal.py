"""The table that people look at after a replay, on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.report._drawing import Pen
from harness.report._words import degradation_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["render"]

_LABEL = 21
_GROUPS = (
    ("by_basis", "By what the answer rests on"),
    ("by_tag", "By tag"),
    ("by_parse", "By how the answer was read"),
)
_BASELINES = (("random", "random"), ("longest_option", "longest option"))
_TOTALS = ("network_recorded", "network_live", "compute", "total")
_SUM_NAMES = {
    "network_recorded": "network, recorded",
    "network_live": "network, live",
    "compute": "compute",
    "total": "together",
}
_SOURCES = {
    "recorded network": " (recorded)",
    "live network": " (live)",
    "mixed network": " (recorded+live)",
}
_Line = tuple[str, str]
"""A line's text and its style."""


def render(document: Mapping[str, Any], console: Console) -> None:
    """Print a run's document as tables.

    ``document`` is that of :func:`harness.scoring.summary_document`, with
    ``run`` and ``digest`` where there is a run folder.  Parts that are
    missing or empty are left out.  On a terminal the tables use drawing
    characters and colour, elsewhere plain ASCII; lines keep to the console's
    width, except the run folder and the digest, which are never cut.
    """
    pen = Pen.of(console)
    for text, style in _lines(document, pen):
        console.print(_styled(text, style), soft_wrap=True)


def _styled(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text.rstrip(), style=style)


def _lines(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    if document.get("accuracy"):
        yield from _accuracy(document, pen)
    for key, title in _GROUPS:
        yield from _group(document.get(key) or {}, title, pen)
    yield from _degradations(document.get("degradations") or {}, pen)
    yield from _seconds(document, pen)
    if document.get("run"):
        yield f"run folder     {pen.text(str(document['run']))}", ""
    if document.get("digest"):
        yield f"results digest {pen.text(str(document['digest']))}", "bold"


def _accuracy(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    accuracy = document["accuracy"]
    questions, known = accuracy["questions"], accuracy["known"]
    yield from _title("Accuracy", pen, head=_accuracy_head(pen))
    for name, group in (document.get("by_category") or {}).items():
        yield _accuracy_row(name, group, pen), _group_style(group)
    yield _accuracy_row("all questions", accuracy, pen), "bold"
    for key, name in _BASELINES:
        baseline = (document.get("baselines") or {}).get(key)
        if baseline and baseline["estimate"] is not None:
            yield _baseline_row(f"  {name}", baseline, pen), "dim"
    yield "", ""
    yield f"{_count(questions, 'question')}, {known} with known gold.", ""
    if known < questions:
        low, high = _per_cent(accuracy["bound_low"]), _per_cent(accuracy["bound_high"])
        yield from _bounds(questions, low, high)
    if accuracy["failed"]:
        failed = accuracy["failed"]
        yield f"{failed} failed: no answer, and wrong where the gold is known.", "red"
    if document.get("missing"):
        yield f"{document['missing']} missing: they were to be played and have no row.", "red"
    yield "", ""


def _bounds(questions: int, low: str, high: str) -> Iterator[_Line]:
    over = "Over the one question" if questions == 1 else f"Over all {questions} questions"
    between = f"between {low} and {high}" if low != high else low
    yield f"{over}: {between},", ""
    yield "whatever the answers that aren't known turn out to be.", ""


def _accuracy_head(pen: Pen) -> str:
    return f"{'right':>7}{'accuracy':>11}{'95 % interval':>16}  {pen.scale(_bar_width(pen))}"


def _bar_width(pen: Pen) -> int:
    return pen.width - _LABEL - 7 - 11 - 16 - 2


def _accuracy_row(name: str, accuracy: Mapping[str, Any], pen: Pen, noun: str = "question") -> str:
    label = pen.cell(name, _LABEL)
    if accuracy["estimate"] is None:
        return f"{label}  {_count(accuracy['questions'], noun)}, none with known gold"
    right = f"{accuracy['correct']}/{accuracy['known']}"
    return f"{label}{right:>7}{_estimate(accuracy, pen)}"


def _baseline_row(name: str, baseline: Mapping[str, Any], pen: Pen) -> str:
    return f"{pen.cell(name, _LABEL)}{'':7}{_estimate(baseline, pen)}"


def _estimate(numbers: Mapping[str, Any], pen: Pen) -> str:
    estimate, lower, upper = numbers["estimate"], numbers["lower"], numbers["upper"]
    span = "" if lower is None else pen.span(lower, upper)
    ends = (estimate, estimate) if lower is None else (lower, upper)
    whisker = pen.whisker(estimate, *ends, _bar_width(pen))
    return f"{_per_cent(estimate):>11}{span:>16}  {whisker}"


def _group(groups: Mapping[str, Any], title: str, pen: Pen) -> Iterator[_Line]:
    if not groups:
        return
    yield from _title(title, pen)
    for name, accuracy in groups.items():
        yield _accuracy_row(name, accuracy, pen, "answer"), _group_style(accuracy)
    yield "", ""


def _group_style(accuracy: Mapping[str, Any]) -> str:
    return "yellow" if accuracy["known"] and not accuracy["correct"] else ""


def _degradations(counts: Mapping[str, int], pen: Pen) -> Iterator[_Line]:
    if not counts:
        return
    yield from _title("What went less than well, in how many questions", pen)
    for code, count in counts.items():
        yield f"{count:>5}  {pen.cell(degradation_words(code), pen.width - 7)}", ""
    yield "", ""


def _seconds(document: Mapping[str, Any], pen: Pen) -> Iterator[_Line]:
    stages, time = document.get("stages") or {}, document.get("time") or {}
    if not stages and not time.get("total"):
        return
    budget_s = time.get("budget_s", 25.0)
    width = pen.width - _LABEL - 3 * 9 - 6 - 2
    scale = f"0{f'{budget_s:g} s':>{width - 1}}"
    head = f"{'n':>6}{'median':>9}{'p90':>9}{'max':>9}  {scale}"
    yield from _title("Seconds per question", pen, head=head)
    for stage, times in stages.items():
        yield _times_row(stage + _SOURCES.get(times["source"], ""), times, budget_s, width, pen), ""
    if stages:
        yield "", ""
    for key in _TOTALS:
        times = time.get(key)
        if times and not (key.startswith("network") and times["max_s"] == 0):
            style = "bold" if key == "total" else ""
            yield _times_row(_SUM_NAMES[key], times, budget_s, width, pen), style
    yield "", ""
    yield f"Bars end at the budget of {budget_s:g} s: {pen.legend()}.", "dim"
    yield from _late(time, budget_s)
    yield "", ""


def _late(time: Mapping[str, Any], budget_s: float) -> Iterator[_Line]:
    if not time.get("timed"):
        return
    over, allowed_s = time["over_budget"], time["allowed_s"]
    yield (
        f"{over} of {time['timed']} would have taken over {budget_s:g} s, "
        f"{time['over_allowed']} over the {allowed_s:g} s allowed.",
        "red" if over else "",
    )
    recorded = time.get("network_recorded")
    if recorded and recorded["max_s"] > 0:
        yield "Network seconds are those recorded with the corpus, not measured now.", "dim"


def _times_row(name: str, times: Mapping[str, Any], budget_s: float, width: int, pen: Pen) -> str:
    median, p90, largest = times["median_s"], times["p90_s"], times["max_s"]
    columns = f"{median:>9.2f}{p90:>9.2f}{largest:>9.2f}"
    bar = pen.bar(median, p90, largest, budget_s, width)
    return f"{pen.cell(name, _LABEL)}{times['n']:>6}{columns}  {bar}"


def _title(title: str, pen: Pen, *, head: str = "") -> Iterator[_Line]:
    yield f"{title.ljust(_LABEL)}{head}", "bold cyan"
    yield ("─" if pen.fine else "-") * pen.width, "dim"


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
