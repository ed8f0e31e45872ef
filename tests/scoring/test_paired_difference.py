"""Tango's interval, against published values and a maximisation that knows no formula."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from harness.scoring.paired_difference import score_statistic, tango_interval

COUNTS = st.integers(0, 40)


def test_airway_hyper_responsiveness():
    # Fagerland, Lydersen and Laake, "Recommended tests and confidence intervals for
    # paired binomial proportions", Statistics in Medicine 33 (2014): 0.026 to 0.517.
    found = tango_interval(1, 7, 21)
    assert (round(found.lower, 3), round(found.upper, 3)) == (0.026, 0.517)


def likeliest_lost_share(lost: int, gained: int, n: int, difference: float) -> float:
    """Maximise the multinomial likelihood along the hypothesis, by search alone."""
    low, high = max(0.0, -difference), (1 - difference) / 2

    def unlikeliness(share: float) -> float:
        cells = (share, share + difference, 1 - 2 * share - difference)
        counts = (lost, gained, n - lost - gained)
        return -sum(
            count * math.log(max(cell, 1e-300))
            for count, cell in zip(counts, cells, strict=True)
            if count
        )

    found = optimize.minimize_scalar(
        unlikeliness, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    return float(found.x)


@pytest.mark.parametrize(
    ("lost", "gained", "n"), [(1, 7, 21), (12, 21, 85), (0, 5, 30), (9, 2, 40)]
)
def test_its_limits_are_where_the_score_test_stops_refusing(lost: int, gained: int, n: int):
    found = tango_interval(lost, gained, n)
    for limit, quantile in ((found.lower, 0.975), (found.upper, 0.025)):
        share = likeliest_lost_share(lost, gained, n, limit)
        variance = n * (2 * share + limit - limit**2)
        score = (gained - lost - n * limit) / math.sqrt(variance)
        assert score == pytest.approx(stats.norm.ppf(quantile), abs=2e-4)


@given(COUNTS, COUNTS, st.integers(0, 40))
def test_at_no_difference_the_score_is_mcnemars(lost: int, gained: int, rest: int):
    if lost + gained:
        squared = mcnemar([[3, lost], [gained, 4]], exact=False, correction=False).statistic
        found = score_statistic(lost, gained, lost + gained + rest, 0.0)
        assert found**2 == pytest.approx(squared)


@given(COUNTS, COUNTS, st.integers(0, 60), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_what_every_interval_keeps_to(lost: int, gained: int, rest: int, confidence: float):
    n = lost + gained + rest
    found = tango_interval(lost, gained, n, confidence)
    assert -1 <= found.lower <= found.upper <= 1
    if n:
        assert found.lower <= (gained - lost) / n <= found.upper
    mirrored = tango_interval(gained, lost, n, confidence)
    assert (mirrored.lower, mirrored.upper) == (-found.upper, -found.lower)
    wider = tango_interval(lost, gained, n, 0.995)
    assert wider.lower <= found.lower
    assert wider.upper >= found.upper


def test_runs_that_agree_everywhere_are_not_proven_equal():
    z = stats.norm.ppf(0.975)
    found = tango_interval(0, 0, 86)
    assert found.upper == pytest.approx(z**2 / (86 + z**2), abs=1e-9)
    assert found.lower == -found.upper


def test_extremes():
    assert (tango_interval(0, 0, 0).lower, tango_interval(0, 0, 0).upper) == (-1.0, 1.0)
    all_gained = tango_interval(0, 12, 12)
    assert all_gained.upper == 1.0
    assert 0 < all_gained.lower < 1
    one = tango_interval(0, 1, 1)
    assert one.lower < 0
    assert one.upper == 1.0


@pytest.mark.parametrize(
    "wrong", [(5, 6, 10, 0.95), (-1, 0, 10, 0.95), (0, 0, 10, 1.0), (0, 0, 10, 0.0)]
)
def test_nonsense_is_refused(wrong: tuple[int, int, int, float]):
    with pytest.raises(ValueError, match=r"do not fit|confidence must"):
        tango_interval(*wrong)
