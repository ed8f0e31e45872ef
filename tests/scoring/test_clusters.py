"""Clusters: the bootstrap, the t interval and Wilson's over what clusters are worth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from harness.scoring.clusters import (
    bootstrap_interval,
    cluster_sums,
    clustered_mean,
    clustered_wilson,
    design_effect,
)
from harness.scoring.intervals import Interval, wilson

DICE = np.random.default_rng(3)
GAMES = np.repeat(np.arange(40), DICE.integers(1, 9, 40))
VALUES = DICE.integers(-1, 2, len(GAMES)) + (GAMES % 3 == 0)


def test_sums_by_any_label():
    found = cluster_sums(np.array([1.0, 2, 3, 4]), np.array(["x", "y", "x", "x"]))
    assert found.sizes.tolist() == [3, 1]
    assert found.sums.tolist() == [8.0, 2.0]
    assert (found.n, found.mean) == (4, 2.5)


def test_statsmodels_cluster_robust_error():
    found = cluster_sums(VALUES, GAMES)
    fit = OLS(VALUES, np.ones(len(VALUES))).fit(cov_type="cluster", cov_kwds={"groups": GAMES})
    # Its factor for small samples also holds (n - 1) / (n - k), which is 1 here.
    assert found.error == pytest.approx(float(fit.bse[0]), rel=1e-9)


def test_one_value_a_cluster_gives_students_interval():
    values = DICE.normal(1, 2, 30)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = clustered_mean(cluster_sums(values, np.arange(30)), 0.9)
    assert found == pytest.approx((low, high))
    assert clustered_mean(cluster_sums(values, np.zeros(30))) is None


def test_the_bootstrap_agrees_with_drawing_clusters_one_by_one():
    dice = np.random.default_rng(8)
    sizes = np.array([3, 5, 2, 8, 4, 6, 7, 5])
    values = dice.normal(0, 1, sizes.sum())
    sums = cluster_sums(values, np.repeat(np.arange(8), sizes))
    found = bootstrap_interval(sums, seed=1, resamples=200_000)
    drawn = dice.integers(0, 8, (200_000, 8))
    means = sums.sums[drawn].sum(1) / sums.sizes[drawn].sum(1)
    tail = stats.norm.cdf(-np.sqrt(8 / 7) * stats.t.ppf(0.975, 7))
    expected = np.quantile(means, [tail, 1 - tail])
    assert [found.lower, found.upper] == pytest.approx(expected, abs=0.04 * means.std())


def test_the_bootstrap_repeats_itself_by_its_seed():
    sums = cluster_sums(VALUES, GAMES)
    assert bootstrap_interval(sums, seed=5) == bootstrap_interval(sums, seed=5)
    assert bootstrap_interval(sums, seed=5) != bootstrap_interval(sums, seed=6)


def test_the_bootstrap_stays_small_where_every_cluster_is_of_its_own_kind():
    sums = cluster_sums(np.arange(5_000) % 7 * 1.0, np.repeat(np.arange(2_500), 2))
    few = bootstrap_interval(sums, seed=1, resamples=700)
    assert few.lower < sums.mean < few.upper


def test_one_cluster_says_nothing():
    sums = cluster_sums(np.ones(9), np.zeros(9))
    found = bootstrap_interval(sums, seed=1)
    assert (found.lower, found.upper) == (-1.0, 1.0)
    assert clustered_wilson(np.ones(9), np.zeros(9)) == Interval(0.0, 1.0)


def test_the_design_effect_of_games_that_are_all_or_nothing_is_their_size():
    games = np.repeat(np.arange(60), 5)
    outcome = np.repeat(np.arange(60) % 2, 5)
    effect = design_effect(outcome, cluster_sums(outcome, games))
    assert effect == pytest.approx(5, rel=0.02)
    assert design_effect(np.ones(9), cluster_sums(np.ones(9), np.arange(9))) == 1.0


def test_wilson_over_games_by_another_way():
    right = (GAMES * 7 % 5 + VALUES > 1).astype(float)
    fit = OLS(right, np.ones(len(right))).fit(cov_type="cluster", cov_kwds={"groups": GAMES})
    share, n = right.mean(), len(right)
    effect = float(fit.bse[0]) ** 2 / (share * (1 - share) / (n - 1))
    assert effect > 1.2
    worth = n / effect * (stats.norm.ppf(0.95) / stats.t.ppf(0.95, 39)) ** 2
    # Its ends are where the score test over so many questions stops refusing.
    found = clustered_wilson(right, GAMES, 0.9)
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        score = sign * (share - end) / np.sqrt(end * (1 - end) / worth)
        assert score == pytest.approx(stats.norm.ppf(0.95))


def test_wilson_over_games_is_wider_than_over_questions():
    games = np.repeat(np.arange(30), 6)
    right = np.repeat(np.arange(30) % 4 > 0, 6)
    apart, together = wilson(int(right.sum()), 180), clustered_wilson(right, games)
    assert together.lower < apart.lower < apart.upper < together.upper
    always = clustered_wilson(np.ones(180), games)
    assert always.upper == 1.0
    assert always.lower <= wilson(30, 30).lower  # no more than a question a game


def test_labels_only_tell_apart():
    renamed = np.array([f"game {(7 * game) % 41}" for game in GAMES])
    first, second = cluster_sums(VALUES, GAMES), cluster_sums(VALUES, renamed)
    assert first.error == pytest.approx(second.error)
    for one, other in itertools.pairwise(
        [bootstrap_interval(sums, seed=2) for sums in (first, second)]
    ):
        assert (one.lower, one.upper) == (other.lower, other.upper)
