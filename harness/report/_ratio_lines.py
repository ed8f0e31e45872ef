"""Ratios of seconds of two runs, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.report._drawing import Pen

__all__ = ["ratio_lines"]

_LABEL = 19
_TIME_NAMES = {
    "network_recorded": "network",
    "network_live": "network",
    "total": "together",
}
_SOURCES = {"recorded network": " (recorded)", "live network": " (live)"}


def ratio_lines(
    comparison: Mapping[str, Any], confidence: float, pen: Pen
) -> Iterator[tuple[str, str]]:
    """Yield the lines of a comparison's ratios of seconds, each with its style."""
    times = comparison["times"]
    if not times:
        return
    first, second = comparison["runs"]
    interval = f"{100 * confidence:g} % interval"
    head = f"{'n':>7}{'median ' + first:>11}{'median ' + second:>11}{'ratio':>8}{interval:>16}"
    yield f"{f'Seconds, {second} to {first}'.ljust(_LABEL)}{head}", "bold cyan"
    yield ("─" if pen.fine else "-") * pen.width, "dim"
    for line in times:
        name = _TIME_NAMES.get(line["stage"], line["stage"]) + _SOURCES.get(line["source"], "")
        yield (
            f"{pen.cell(name, _LABEL)}{line['n']:>7}{_ratio(line, pen)}",
            ("bold" if line["stage"] == "total" else ""),
        )
    yield "", ""
    yield "Geometric mean of the questions' ratios. Recorded seconds were not", "dim"
    yield "measured now, and stand beside recorded ones only.", "dim"
    only = [
        sum(line[f"only_{side}"] for line in times if line["stage"] != "total") for side in "ab"
    ]
    unusable = sum(line["unusable"] for line in times)
    if any(only):
        yield f"Stages that ran in one run only: {only[0]} in {first}, {only[1]} in {second}.", ""
    if unusable:
        yield f"{unusable} pairs of times can't be compared and are in no ratio.", "yellow"
    if comparison["timed"]:
        yield (
            f"Late of {comparison['timed']}: {comparison['late_a']} in {first}, "
            f"{comparison['late_b']} in {second}.",
            "red" if comparison["late_b"] > comparison["late_a"] else "",
        )
    yield "", ""


def _ratio(line: Mapping[str, Any], pen: Pen) -> str:
    if not line["n"]:
        return "  none in both"
    medians = f"{line['median_a_s']:>11.3f}{line['median_b_s']:>11.3f}"
    if line["lower"] is None:
        return f"{medians}{line['ratio']:>8.3f}"
    dash = "–" if pen.fine else "-"
    limits = f"{line['lower']:.3f} {dash} {line['upper']:.3f}"
    return f"{medians}{line['ratio']:>8.3f}{limits:>16}"
