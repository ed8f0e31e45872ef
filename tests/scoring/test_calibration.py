"""Calibration, by hand and against what must hold for any confidences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring.calibration import (
    area_under_risk,
    brier,
    expected_calibration_error,
    lucky_calibration_error,
    reliability,
    risk_coverage,
)

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def test_by_hand():
    sure, right = [0.9, 0.9, 0.9, 0.9, 0.3, 0.3], [True, True, True, False, True, False]
    assert brier(sure, right) == pytest.approx((3 * 0.01 + 0.81 + 0.49 + 0.09) / 6)
    assert expected_calibration_error(sure, right) == pytest.approx(4 / 6 * 0.15 + 2 / 6 * 0.2)
    bins = reliability(sure, right)
    assert [(b.start, b.end, b.n, b.accuracy) for b in bins] == [
        (0.3, 0.4, 2, 0.5),
        (0.9, 1.0, 4, 0.75),
    ]
    points = [(p.threshold, p.coverage, p.risk) for p in risk_coverage(sure, right)]
    assert points == [(0.9, pytest.approx(4 / 6), 0.25), (0.3, 1.0, pytest.approx(2 / 6))]
    # A quarter wrong for each of the first four, then half more for either of the last two.
    assert area_under_risk(sure, right) == pytest.approx((4 * 0.25 + 1.5 / 5 + 2 / 6) / 6)


def test_the_ends_of_the_scale():
    assert brier([1.0, 0.0], [True, False]) == 0.0
    assert brier([0.5] * 4, [True, False, True, True]) == 0.25
    assert expected_calibration_error([1.0, 1.0], [True, True]) == 0.0
    assert expected_calibration_error([1.0], [False]) == 1.0
    assert reliability([1.0, 0.0], [True, False])[-1].end == 1.0


def test_an_order_that_is_right_beats_one_that_is_not():
    right = [True] * 7 + [False] * 3
    falling = [1 - n / 10 for n in range(10)]
    perfect, opposite = area_under_risk(falling, right), area_under_risk(falling[::-1], right)
    assert perfect == pytest.approx((1 / 8 + 2 / 9 + 3 / 10) / 10)
    assert area_under_risk([0.5] * 10, right) == pytest.approx(0.3)
    assert perfect < 0.3 < opposite


def test_ties_are_taken_in_an_average_order():
    right = (True, False, False, True)
    orders = [
        area_under_risk([0.9, 0.8, 0.7, 0.6], order) for order in itertools.permutations(right)
    ]
    assert area_under_risk([0.5] * 4, right) == pytest.approx(np.mean(orders))


def test_perfect_confidences_show_an_error_by_luck():
    dice = np.random.default_rng(6)
    sure = dice.random(60)
    seen = [expected_calibration_error(sure, dice.random(60) < sure) for _ in range(400)]
    lucky = lucky_calibration_error(sure)
    assert lucky == pytest.approx(np.mean(seen), rel=0.05)
    assert lucky > 0.08
    assert lucky_calibration_error(np.tile(sure, 100)) < lucky / 5
    assert lucky_calibration_error(sure) == lucky_calibration_error(sure)


@given(ANSWERS)
def test_what_holds_for_any_confidences(answers):
    sure, right = [a for a, _ in answers], [b for _, b in answers]
    error = 1 - np.mean(right)
    assert 0 <= brier(sure, right) <= 1
    # The bins' distances can't undo the distance of the means.
    assert expected_calibration_error(sure, right) >= abs(np.mean(sure) - np.mean(right)) - 1e-9
    assert 0 <= area_under_risk(sure, right) <= 1
    last = risk_coverage(sure, right)[-1]
    assert last.coverage == 1.0
    assert last.risk == pytest.approx(error)
    assert sum(b.n for b in reliability(sure, right)) == len(answers)
    flipped = sorted(answers, reverse=True)
    assert brier([a for a, _ in flipped], [b for _, b in flipped]) == pytest.approx(
        brier(sure, right)
    )


@pytest.mark.parametrize(
    ("sure", "right"),
    [([], []), ([0.5], [True, False]), ([1.5], [True]), ([float("nan")], [True]), ([-0.1], [True])],
)
def test_nonsense_is_refused(sure: list[float], right: list[bool]):
    with pytest.raises(ValueError, match="confidence"):
        brier(sure, right)
