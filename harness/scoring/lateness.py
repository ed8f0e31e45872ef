"""How many answers would have come too late."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.scoring.intervals import wilson

__all__ = ["LateRate", "late_rate"]


@dataclass(frozen=True, slots=True)
class LateRate:
    """``late`` of ``timed`` answers took longer than allowed, with the 95 % Wilson interval.

    ``untimed`` answers have no time that is a number; they are in no rate.
    ``estimate`` is ``None`` over none.
    """

    timed: int
    late: int
    untimed: int
    estimate: float | None
    lower: float
    upper: float


def late_rate(seconds: Iterable[float | None], allowed_s: float) -> LateRate:
    """Return the share of answers that took longer than ``allowed_s`` seconds.

    An infinite time is late; nothing and NaN are no times.
    """
    timed = late = untimed = 0
    for each in seconds:
        if each is None or math.isnan(each):
            untimed += 1
        else:
            timed += 1
            late += each > allowed_s
    interval = wilson(late, timed)
    share = late / timed if timed else None
    return LateRate(timed, late, untimed, share, interval.lower, interval.upper)
