"""The difference of two accuracies on the same questions: Tango's score interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["DifferenceInterval", "score_statistic", "tango_interval"]

_STEPS = 80  # halvings: far below the last digit of a double


@dataclass(frozen=True, slots=True)
class DifferenceInterval:
    """A confidence interval of a difference of shares: ``-1 <= lower <= upper <= 1``."""

    lower: float
    upper: float


def tango_interval(
    lost: int, gained: int, n: float, confidence: float = 0.95
) -> DifferenceInterval:
    """Return Tango's score interval of (gained - lost) / n over independent questions.

    It holds the differences that the score test does not refuse.  Unlike the
    usual interval it keeps its coverage for few questions, and does not
    collapse to a point when the runs agree everywhere: then it is
    ± z² / (n + z²).  Nothing is known of no questions: ``n = 0`` gives -1 to 1.

    Raises :class:`ValueError` unless ``0 <= lost + gained <= n`` and
    ``0 < confidence < 1``.

    Source: T. Tango, "Equivalence test and confidence interval for the
    difference in proportions for the paired-sample design", Statistics in
    Medicine 17 (1998) 891-908.
    """
    if min(lost, gained) < 0 or lost + gained > n:
        raise ValueError(f"{lost} lost and {gained} gained do not fit {n} questions")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if n == 0:
        return DifferenceInterval(-1.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    upper = _upper(lost, gained, n, z)
    # Mirrored, so that swapping the runs mirrors the interval to the last bit.
    lower = -_upper(gained, lost, n, z)
    return DifferenceInterval(lower, upper)


def score_statistic(lost: int, gained: int, n: float, difference: float) -> float:
    """Return the score statistic of the hypothesis that the difference is ``difference``.

    It is standard normal under the hypothesis; at 0 it is McNemar's without
    continuity correction.
    """
    distance = gained - lost - n * difference
    variance = n * (2 * _lost_share(lost, gained, n, difference) + difference * (1 - difference))
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def _upper(lost: int, gained: int, n: float, z: float) -> float:
    inside, outside = (gained - lost) / n, 1.0
    if score_statistic(lost, gained, n, outside) >= -z:
        return outside
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if score_statistic(lost, gained, n, middle) >= -z:
            inside = middle
        else:
            outside = middle
    return inside


def _lost_share(lost: int, gained: int, n: float, difference: float) -> float:
    """Return the likeliest share of lost pairs, given the difference."""
    a = 2 * n
    b = (2 * n - gained + lost) * difference - lost - gained
    c = -lost * difference * (1 - difference)
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    # The roots' product is c / a: this form does not cancel where b is positive.
    share = (root - b) / (2 * a) if b <= 0 else -2 * c / (root + b) if root + b else 0.0
    return max(0.0, share, -difference)
