"""How small a difference a comparison could have shown at all."""

from __future__ import annotations

import math
from statistics import NormalDist

__all__ = ["detectable_difference"]

_STEPS = 60


def detectable_difference(
    discordant: int, n: float, *, confidence: float = 0.95, power: float = 0.8
) -> float | None:
    """Return the smallest true difference that would be shown with the given power.

    ``discordant`` of ``n`` pairs were right in one run only: how often two
    runs disagree decides how fine a difference can be seen.  Their share is
    taken as ``(discordant + 2) / (n + 4)``, so that a handful of questions
    without disagreement does not promise everything, and at least as large as
    the difference itself.  ``None`` when even a difference of 1 would be missed.

    Source: R. J. Connor, "Sample size for testing differences in proportions
    for the paired-sample design", Biometrics 43 (1987) 207-211, solved for
    the difference.
    """
    if n <= 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    z_power = NormalDist().inv_cdf(power)
    usual = (discordant + 2) / (n + 4)

    def surplus(difference: float) -> float:
        share = max(usual, difference)
        spread = z * math.sqrt(share) + z_power * math.sqrt(share - difference * difference)
        return math.sqrt(n) * difference - spread

    low, high = 0.0, 1.0
    if surplus(high) < 0:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
    return high
