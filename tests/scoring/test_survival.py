"""Survival and prizes, against the analytic values and an independent estimator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from harness.scoring.intervals import wilson
from harness.scoring.survival import (
    PRIZES,
    GameResult,
    expected_prize,
    survival_of_accuracy,
    survival_of_games,
    survival_of_levels,
)


@pytest.mark.parametrize(
    ("accuracy", "million"), [(0.90, 0.206), (0.95, 0.463), (0.97, 0.633), (1.0, 1.0), (0.0, 0.0)]
)
def test_fifteen_in_a_row(accuracy: float, million: float):
    points = survival_of_accuracy(accuracy * 1000, 1000)
    assert [point.level for point in points] == list(range(1, 16))
    assert points[-1].estimate == pytest.approx(million, abs=5e-4)
    interval = wilson(accuracy * 1000, 1000)
    assert points[-1].lower == pytest.approx(interval.lower**15)
    assert points[-1].upper == pytest.approx(interval.upper**15)


def test_of_no_questions_nothing_is_known():
    with pytest.raises(ValueError, match="no questions"):
        survival_of_accuracy(0, 0)


def test_the_expected_prize():
    always = expected_prize(survival_of_accuracy(50, 50))
    assert always.estimate == 1_024_000
    assert always.lower < 1_024_000 == always.upper
    assert expected_prize(survival_of_accuracy(0, 50)).estimate == 0
    half = expected_prize(survival_of_accuracy(50, 100, levels=3))
    # One half earns nothing, a quarter 100, an eighth 200 and an eighth 300.
    assert half.estimate == pytest.approx(100 / 4 + 200 / 8 + 300 / 8)
    assert expected_prize([]).estimate == 0
    with pytest.raises(ValueError, match="15 levels have only 2 prizes"):
        expected_prize(survival_of_accuracy(5, 9), (100, 200))


def test_the_expected_prize_is_what_played_games_earn():
    dice = np.random.default_rng(4)
    wrong = dice.random((200_000, 15)) > 0.8
    reached = np.where(wrong.any(axis=1), wrong.argmax(axis=1), 15)
    earned = np.array([0, *PRIZES])[reached]
    expected = expected_prize(survival_of_accuracy(80, 100)).estimate
    assert earned.mean() == pytest.approx(expected, abs=4 * earned.std() / 200_000**0.5)


def test_levels_multiply():
    points = survival_of_levels([(9, 10), (8, 10), (10, 10)])
    assert [point.estimate for point in points] == pytest.approx([0.9, 0.72, 0.72])
    assert all(point.lower < point.estimate < point.upper for point in points[:2])
    assert points == survival_of_levels([(9, 10), (8, 10), (10, 10)])
    assert points != survival_of_levels([(9, 10), (8, 10), (10, 10)], seed=1)
    assert [point.level for point in survival_of_levels([(90, 100), (0, 0), (9, 10)])] == [1]


def test_levels_hold_the_truth():
    dice = np.random.default_rng(5)
    truth = np.linspace(0.95, 0.6, 6)
    held = 0
    for right in dice.binomial(30, truth, size=(600, 6)):
        point = survival_of_levels([(int(k), 30) for k in right], draws=1000)[-1]
        held += point.lower <= truth.prod() <= point.upper
    assert 0.93 <= held / 600 <= 0.97


GAMES = st.lists(st.builds(GameResult, st.integers(0, 15), st.booleans()), min_size=1, max_size=40)


@given(GAMES)
def test_games_are_kaplan_and_meiers(games: list[GameResult]):
    # An error at level k is an event at time k; a game that was cut off after k right
    # answers was last seen at k, after the events there.
    times = np.array([game.right + 1 if game.ended_by_error else game.right for game in games])
    status = np.array([int(game.ended_by_error) for game in games])
    points = survival_of_games(games, levels=16)
    seen = times > 0
    if not seen.any() or not status.any():
        assert all(point.estimate == 1.0 for point in points)
        return
    theirs = SurvfuncRight(times[seen], status[seen])
    for time, chance, at_risk in zip(
        theirs.surv_times, theirs.surv_prob, theirs.n_risk, strict=True
    ):
        point = points[int(time) - 1]
        assert point.estimate == pytest.approx(chance)
        assert point.at_risk == at_risk


def test_without_games_cut_off_it_is_the_share_of_games():
    games = [GameResult(right, ended_by_error=True) for right in (0, 2, 2, 5, 9, 9, 14)]
    games.append(GameResult(15, ended_by_error=False))
    points = survival_of_games(games)
    for point in points:
        reached = sum(game.right >= point.level for game in games)
        assert point.estimate == pytest.approx(reached / 8)
        interval = wilson(reached, 8)
        if 0 < reached < 8:
            assert (point.lower, point.upper) == pytest.approx((interval.lower, interval.upper))


def test_no_games_and_levels_that_none_came_to():
    assert survival_of_games([]) == []
    assert len(survival_of_games([GameResult(1, ended_by_error=True)])) == 2
    lost = survival_of_games([GameResult(0, ended_by_error=True)] * 5)
    assert [(point.estimate, point.lower) for point in lost] == [(0.0, 0.0)]
    assert 0.4 < lost[0].upper < 0.5


@given(GAMES)
def test_survival_only_falls(games: list[GameResult]):
    points = survival_of_games(games)
    chances = [point.estimate for point in points]
    assert chances == sorted(chances, reverse=True)
    assert all(0 <= p.lower <= p.estimate + 1e-12 <= p.upper + 2e-12 <= 1 + 1e-9 for p in points)
