"""Wilson score intervals for proportions of few questions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

__all__ = ["Interval", "wilson"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a proportion: ``0 <= lower <= upper <= 1``."""

    lower: float
    upper: float


@lru_cache(maxsize=64)
def _two_sided_z(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval (without continuity correction).

    ``successes`` may be fractional where ties share credit, and ``n`` where
    questions in games are worth fewer than they are.  Nothing is known
    of no questions: ``n = 0`` gives (0, 1).  Unlike the normal approximation
    it keeps its coverage near 0 and 1 and for a handful of questions.

    Raises :class:`ValueError` unless ``0 <= successes <= n`` and
    ``0 < confidence < 1``.

    Source: E. B. Wilson, "Probable inference, the law of succession, and
    statistical inference", JASA 22 (1927) 209-212.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and {n}, not {successes}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if n == 0:
        return Interval(0.0, 1.0)
    z = _two_sided_z(confidence)
    share = successes / n
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding must not leave the unit interval, nor the estimate outside.
    lower = 0.0 if successes == 0 else max(0.0, min(centre - half, share))
    upper = 1.0 if successes == n else min(1.0, max(centre + half, share))
    return Interval(lower, upper)
