from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring import Interval, wilson


@pytest.mark.parametrize(
    ("successes", "n", "lower", "upper"),
    [  # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_intervals(successes, n, lower, upper):
    found = wilson(successes, n)
    assert found.lower == pytest.approx(lower, abs=5e-5)
    assert found.upper == pytest.approx(upper, abs=5e-5)


def test_the_bounds_solve_wilsons_equation():
    # (p - bound)^2 = z^2 bound (1 - bound) / n, with the exact 97.5 % point of the normal
    z = 1.959963984540054
    found = wilson(11, 15)
    for bound in (found.lower, found.upper):
        assert (11 / 15 - bound) ** 2 == pytest.approx(z * z * bound * (1 - bound) / 15, rel=1e-9)


def coverage(n: int, p: float) -> float:
    """Return the exact probability that the interval holds ``p``."""
    total = 0.0
    for k in range(n + 1):
        interval = wilson(k, n)
        if interval.lower <= p <= interval.upper:
            total += math.comb(n, k) * p**k * (1 - p) ** (n - k)
    return total


def test_coverage_for_few_questions_of_high_accuracy():
    # Here the normal approximation covers 53 %.
    assert 0.94 < coverage(15, 0.95) < 0.98


def test_mean_coverage_is_near_nominal():
    shares = [place / 200 for place in range(1, 200)]
    for n in (5, 15, 40):
        assert math.fsum(coverage(n, p) for p in shares) / len(shares) == pytest.approx(
            0.95, abs=0.02
        )


def test_no_questions_tell_nothing():
    assert wilson(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [(-1, 3, 0.95), (4, 3, 0.95), (1, -1, 0.95), (1, 3, 0.0), (1, 3, 1.0), (math.nan, 3, 0.95)],
)
def test_impossible_counts_are_refused(successes, n, confidence):
    with pytest.raises(ValueError, match="must lie between"):
        wilson(successes, n, confidence)


COUNTS = st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
CONFIDENCE = st.floats(0.5, 0.999)


@given(COUNTS, CONFIDENCE)
def test_an_interval_lies_in_the_unit_interval_and_holds_the_estimate(counts, confidence):
    successes, n = counts
    found = wilson(successes, n, confidence)
    assert 0 <= found.lower <= successes / n <= found.upper <= 1


@given(COUNTS, CONFIDENCE)
def test_an_interval_mirrors_with_right_and_wrong_swapped(counts, confidence):
    successes, n = counts
    found, mirrored = wilson(successes, n, confidence), wilson(n - successes, n, confidence)
    assert found.lower == pytest.approx(1 - mirrored.upper, abs=1e-12)
    assert found.upper == pytest.approx(1 - mirrored.lower, abs=1e-12)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_more_right_answers_raise_both_bounds(counts):
    successes, n = counts
    fewer, more = wilson(successes, n), wilson(successes + 1, n)
    assert fewer.lower < more.lower
    assert fewer.upper < more.upper


@given(COUNTS)
def test_more_confidence_widens_and_more_questions_narrow(counts):
    successes, n = counts
    narrow, wide = wilson(successes, n, 0.9), wilson(successes, n, 0.99)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
    once, often = wilson(successes, n), wilson(4 * successes, 4 * n)
    assert often.upper - often.lower < once.upper - once.lower
