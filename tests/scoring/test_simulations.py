"""How often intervals hold the truth, and tests cry wolf: simulated, seeded."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from harness.scoring.clusters import bootstrap_interval, cluster_sums, clustered_wilson
from harness.scoring.intervals import wilson
from harness.scoring.mcnemar import mcnemar_midp, swap_test
from harness.scoring.paired_difference import tango_interval

GAMES, GAME_SIZES = 60, (1, 15)
Game = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int_]]


def held(lower: float, upper: float, truth: float) -> bool:
    return lower <= truth <= upper


@pytest.mark.parametrize(("n", "truth"), [(15, 0.95), (86, 0.7), (86, 0.9), (1000, 0.5)])
def test_wilson_holds_the_truth(n: int, truth: float):
    # Exact: every outcome with its probability.
    outcomes = np.arange(n + 1)
    intervals = [wilson(int(right), n) for right in outcomes]
    inside = [held(found.lower, found.upper, truth) for found in intervals]
    assert 0.93 <= float(stats.binom.pmf(outcomes, n, truth)[inside].sum()) <= 0.97


@pytest.mark.parametrize(
    ("n", "lost", "gained"), [(40, 0.1, 0.2), (86, 0.05, 0.12), (300, 0.1, 0.1), (1000, 0.03, 0.06)]
)
def test_tango_holds_the_truth(n: int, lost: float, gained: float):
    interval = lru_cache(maxsize=None)(tango_interval)
    drawn = np.random.default_rng(11).multinomial(n, [lost, gained, 1 - lost - gained], size=5000)
    found = [interval(int(a), int(b), n) for a, b, _ in drawn]
    truth = gained - lost
    assert 0.93 <= np.mean([held(each.lower, each.upper, truth) for each in found]) <= 0.97


@pytest.mark.parametrize(("n", "share"), [(86, 0.1), (86, 0.2), (300, 0.05), (1000, 0.1)])
def test_the_paired_test_cries_wolf_as_often_as_it_says(n: int, share: float):
    p_value = lru_cache(maxsize=None)(mcnemar_midp)
    drawn = np.random.default_rng(12).multinomial(n, [share, share, 1 - 2 * share], size=5000)
    assert 0.03 <= np.mean([p_value(int(a), int(b)) <= 0.05 for a, b, _ in drawn]) <= 0.06


def play(accuracy: float, change: float, dice: np.random.Generator, likeness: float) -> Game:
    """Play games whose questions are alike: some are hard for both runs, some for one."""
    games = np.repeat(np.arange(GAMES), dice.integers(GAME_SIZES[0], GAME_SIZES[1] + 1, GAMES))
    shared = dice.standard_normal(GAMES)[games]

    def run(share: float) -> NDArray[np.bool_]:
        own = dice.standard_normal(GAMES)[games]
        alone = dice.standard_normal(len(games))
        skill = np.sqrt(likeness / 2) * (shared + own) + np.sqrt(1 - likeness) * alone
        right: NDArray[np.bool_] = skill < stats.norm.ppf(share)
        return right

    return run(accuracy), run(accuracy + change), games


def share_of(trial: Callable[[Game, int], bool], change: float, times: int) -> float:
    dice = np.random.default_rng(13)
    return float(np.mean([trial(play(0.75, change, dice, 0.4), n) for n in range(times)]))


def differences(game: Game) -> NDArray[np.int_]:
    return game[1].astype(int) - game[0].astype(int)


def test_the_cluster_bootstrap_holds_the_truth():
    def trial(game: Game, number: int) -> bool:
        sums = cluster_sums(differences(game), game[2])
        found = bootstrap_interval(sums, seed=number, resamples=1000)
        return held(found.lower, found.upper, 0.05)

    assert 0.93 <= share_of(trial, 0.05, 1000) <= 0.97


def test_wilson_over_games_holds_the_truth_and_over_questions_does_not():
    def clustered(game: Game, number: int) -> bool:
        found = clustered_wilson(game[0], game[2])
        return held(found.lower, found.upper, 0.75)

    def naive(game: Game, number: int) -> bool:
        found = wilson(int(game[0].sum()), len(game[0]))
        return held(found.lower, found.upper, 0.75)

    assert 0.93 <= share_of(clustered, 0.0, 1500) <= 0.97
    assert share_of(naive, 0.0, 500) < 0.9


def test_swapping_games_cries_wolf_as_often_as_it_says_and_single_questions_do_not():
    def swapped(game: Game, number: int) -> bool:
        sums = cluster_sums(differences(game), game[2])
        return swap_test(sums.sums.astype(int)) <= 0.05

    def naive(game: Game, number: int) -> bool:
        found = differences(game)
        return mcnemar_midp(int((found < 0).sum()), int((found > 0).sum())) <= 0.05

    assert 0.03 <= share_of(swapped, 0.0, 1500) <= 0.06
    assert share_of(naive, 0.0, 500) > 0.08
