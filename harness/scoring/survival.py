"""How far a game goes: the chance of reaching each level, and what it earns on average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.scoring.intervals import Interval, wilson

__all__ = [
    "PRIZES",
    "GameResult",
    "Prize",
    "SurvivalPoint",
    "expected_prize",
    "survival_of_accuracy",
    "survival_of_games",
    "survival_of_levels",
]

PRIZES = (
    *(100, 200, 300, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000),
    *(256_000, 512_000, 1_024_000),
)
"""What the levels of the quiz earn, as it was observed; a server says its own."""


@dataclass(frozen=True, slots=True)
class SurvivalPoint:
    """The chance of answering ``level`` questions in a row, with its interval.

    ``at_risk`` is on how much it rests: questions, or games that came so far.
    """

    level: int
    estimate: float
    lower: float
    upper: float
    at_risk: int


@dataclass(frozen=True, slots=True)
class GameResult:
    """How a game ended: right answers given, and whether an error or the clock ended it.

    A game that was won, given up or cut off did not end by an error: what it
    would have done further on is not known.
    """

    right: int
    ended_by_error: bool


@dataclass(frozen=True, slots=True)
class Prize:
    """What a game earns on average, with the interval that follows from the accuracy's."""

    estimate: float
    lower: float
    upper: float


def survival_of_accuracy(
    right: float, n: float, *, levels: int = 15, confidence: float = 0.95
) -> list[SurvivalPoint]:
    """Return the survival that an accuracy implies, were all levels equally hard.

    The chance of ``k`` right answers in a row is the accuracy to the ``k``-th
    power; since that only grows with the accuracy, the ends of Wilson's
    interval carry over and keep their coverage.  Raises :class:`ValueError`
    for no questions, of which nothing follows.
    """
    if not n:
        raise ValueError("no survival follows from no questions")
    interval = wilson(right, n, confidence)
    share = right / n
    return [
        SurvivalPoint(
            level, share**level, interval.lower**level, interval.upper**level, math.floor(n)
        )
        for level in range(1, levels + 1)
    ]


def survival_of_levels(
    counts: Sequence[tuple[int, int]],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
) -> list[SurvivalPoint]:
    """Return the survival that accuracies by level imply, from (right, n) of each level.

    The chance is the product of the levels' accuracies.  Its interval is that
    of products of draws, one a level, from the posterior under Jeffreys' prior;
    the same seed gives the same.  From the first level without questions on
    nothing is known, and no points are given.

    Source: L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a
    binomial proportion", Statistical Science 16 (2001) 101-133 (Jeffreys).
    """
    import numpy as np

    dice = np.random.default_rng(seed)
    product, chance = np.ones(draws), 1.0
    tail = (1 - confidence) / 2
    found = []
    for level, (right, n) in enumerate(counts, start=1):
        if not n:
            break
        product *= dice.beta(right + 0.5, n - right + 0.5, draws)
        chance *= right / n
        lower, upper = (float(end) for end in np.quantile(product, [tail, 1 - tail]))
        found.append(SurvivalPoint(level, chance, min(lower, chance), max(upper, chance), n))
    return found


def survival_of_games(
    games: Sequence[GameResult], *, levels: int = 15, confidence: float = 0.95
) -> list[SurvivalPoint]:
    """Return the survival seen in games, those that were cut off counted as far as they went.

    The Kaplan-Meier estimate; its interval is Wilson's over the number of games
    that would give the same variance, which without games that were cut off is
    the number of games.  Levels that no game came to are left out.

    Sources: E. L. Kaplan and P. Meier, "Nonparametric estimation from
    incomplete observations", JASA 53 (1958) 457-481; K. J. Rothman,
    "Estimation of confidence limits for the cumulative probability of survival
    in life table analysis", Journal of Chronic Diseases 31 (1978) 557-560.
    """
    chance, spread = 1.0, 0.0  # spread: Greenwood's sum
    found = []
    for level in range(1, levels + 1):
        passed = sum(game.right >= level for game in games)
        failed = sum(game.right == level - 1 and game.ended_by_error for game in games)
        at_risk = passed + failed
        if not at_risk:
            break
        chance *= passed / at_risk
        spread += failed / (at_risk * passed) if passed else math.inf
        interval = _rothman(chance, spread, at_risk, confidence)
        found.append(SurvivalPoint(level, chance, interval.lower, interval.upper, at_risk))
    return found


def _rothman(chance: float, spread: float, at_risk: int, confidence: float) -> Interval:
    if 0 < chance < 1:
        # Greenwood's variance is chance² · spread; a share of n games has chance (1 - chance) / n.
        worth = (1 - chance) / (chance * spread)
        return wilson(chance * worth, worth, confidence)
    return wilson(chance * at_risk, at_risk, confidence)


def expected_prize(survival: Sequence[SurvivalPoint], prizes: Sequence[float] = PRIZES) -> Prize:
    """Return what a game earns on average: the first error keeps the last amount.

    Each level adds the step from the amount before, as often as it is reached.
    The ends take all levels at their lower or upper ends together: exact for
    :func:`survival_of_accuracy`, wider than needed for the others.  Levels
    behind the last point add nothing.  Raises :class:`ValueError` when there
    are more levels than prizes.
    """
    if len(survival) > len(prizes):
        raise ValueError(f"{len(survival)} levels have only {len(prizes)} prizes")
    steps = [after - before for before, after in zip((0, *prizes), prizes, strict=False)]
    sums = [
        math.fsum(step * chance for step, chance in zip(steps, chances, strict=False))
        for chances in (
            [point.estimate for point in survival],
            [point.lower for point in survival],
            [point.upper for point in survival],
        )
    ]
    return Prize(*sums)
