"""May this run replace its baseline?  Yes, or the one sentence why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.errors import BadInputError
from harness.scoring.compare import Comparison
from harness.scoring.latency_ratios import TimeRatio
from harness.scoring.verdict import points

__all__ = ["GateRule", "GateVerdict", "check_gate"]


@dataclass(frozen=True, slots=True)
class GateRule:
    """What a run must keep to against its baseline.

    ``max_drop`` is the largest loss of accuracy, as a share; ``max_latency``
    the largest ratio of compute seconds, ``None`` for any.  With ``certain`` it
    is not enough that the limits were kept on these questions: worse must be
    excluded by the intervals.  ``allow_missing`` lets a run pass that leaves
    out questions of the baseline.
    """

    max_drop: float = 0.0
    max_latency: float | None = None
    certain: bool = False
    allow_missing: bool = False


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether the run passed, and why in one sentence."""

    passed: bool
    sentence: str


def check_gate(comparison: Comparison, rule: GateRule) -> GateVerdict:
    """Return whether the second run of a comparison keeps to the rule.

    Raises :class:`~harness.errors.BadInputError` where there is nothing to
    judge: no shared question of known truth.
    """
    result = comparison.overall
    if not result.n:
        raise BadInputError(
            "The run and its baseline share no question whose right answer is known.",
            remedy="Gate against a baseline made with the same questions.",
        )
    faults = list(_faults(comparison, rule))
    change = f"{points(result.difference or 0.0)} points on {result.n:,} shared questions"
    if faults:
        return GateVerdict(False, f"{'; '.join(faults)} ({change}).")
    seconds = _compute(comparison)
    ratio = f", {seconds.ratio:.2f} times the seconds" if seconds and seconds.ratio else ""
    return GateVerdict(True, f"The gate holds: {change}{ratio}.")


def _faults(comparison: Comparison, rule: GateRule) -> Iterator[str]:
    # Played less is the easiest way to look no worse.
    left_out = comparison.pairing.only_a.height + comparison.two_truths
    if left_out and not rule.allow_missing:
        yield (
            f"{left_out:,} of the baseline's questions can't be compared: not in the run, "
            "or of another truth there"
        )
    yield from _accuracy_faults(comparison, rule)
    if rule.max_latency is not None:
        yield from _latency_faults(_compute(comparison), rule, rule.max_latency)


def _accuracy_faults(comparison: Comparison, rule: GateRule) -> Iterator[str]:
    result = comparison.overall
    allowed = f"{points(rule.max_drop, signed=False)} points"
    fewer = result.lost - result.gained
    # Counted in questions: a drop of exactly what is allowed must not fail by rounding.
    if fewer > rule.max_drop * result.n + 1e-9:
        lost = points(fewer / result.n, signed=False)
        yield f"Accuracy fell by {lost} points ({fewer:,} fewer right), {allowed} are allowed"
    elif rule.certain and result.lower < -rule.max_drop:
        yield (
            f"A loss of more than {allowed} is not excluded: the interval reaches down to "
            f"{points(result.lower)} points"
        )


def _latency_faults(seconds: TimeRatio | None, rule: GateRule, limit: float) -> Iterator[str]:
    if seconds is None or seconds.ratio is None:
        yield "Seconds were asked for, but no question has compute seconds in both runs"
    elif seconds.ratio > limit:
        yield f"Computing took {seconds.ratio:.2f} times as long, more than the {limit:g} allowed"
    elif rule.certain and (seconds.upper is None or seconds.upper > limit):
        reach = "" if seconds.upper is None else f": the interval reaches {seconds.upper:.2f}"
        yield f"More than {limit:g} times the seconds is not excluded{reach}"


def _compute(comparison: Comparison) -> TimeRatio | None:
    return next((line for line in comparison.times if line.stage == "compute"), None)
