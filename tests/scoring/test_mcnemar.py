"""McNemar's mid-p test and its form for clusters, against published and exact values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from harness.scoring.mcnemar import mcnemar_midp, swap_test

COUNTS = st.integers(0, 60)


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [
        (1, 7, 0.0391),  # airway hyper-responsiveness before and after transplantation
        (6, 16, 0.0347),  # complete response before and after consolidation
    ],
)
def test_the_examples_of_fagerland_lydersen_and_laake(lost: int, gained: int, p: float):
    assert mcnemar_midp(lost, gained) == pytest.approx(p, abs=5e-5)


def exact_midp(lost: int, gained: int) -> Fraction:
    """The definition, in whole numbers."""
    n, smaller = lost + gained, min(lost, gained)
    tail = sum(math.comb(n, k) for k in range(smaller + 1))
    doubled = Fraction(2 * tail - math.comb(n, smaller), 2**n)
    return min(Fraction(1), doubled)


@given(COUNTS, COUNTS)
def test_it_is_the_exact_sum(lost: int, gained: int):
    assert mcnemar_midp(lost, gained) == pytest.approx(float(exact_midp(lost, gained)), rel=1e-9)


@given(COUNTS, COUNTS)
def test_statsmodels_exact_test_less_half_of_what_was_observed(lost: int, gained: int):
    if lost == gained:
        assert mcnemar_midp(lost, gained) == pytest.approx(1.0)
        return
    whole = mcnemar([[5, lost], [gained, 7]], exact=True).pvalue
    observed = stats.binom.pmf(min(lost, gained), lost + gained, 0.5)
    assert mcnemar_midp(lost, gained) == pytest.approx(whole - observed, rel=1e-9)


def test_no_disagreement_is_no_evidence():
    assert mcnemar_midp(0, 0) == 1.0
    assert swap_test([]) == 1.0
    assert swap_test([0, 0, 0]) == 1.0


def test_a_hundred_thousand_flips():
    assert mcnemar_midp(50_000, 50_000) == pytest.approx(1.0)
    normal = 2 * stats.norm.sf(400 / math.sqrt(100_000))
    assert mcnemar_midp(49_800, 50_200) == pytest.approx(normal, rel=1e-3)
    assert 0 <= mcnemar_midp(10_000, 90_000) < 1e-100


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=80))
def test_swapping_single_questions_is_mcnemar(differences: list[int]):
    expected = mcnemar_midp(differences.count(-1), differences.count(1))
    assert swap_test(differences) == expected


@given(st.lists(st.integers(-6, 6), max_size=9))
def test_swapping_games_is_the_sum_over_all_signs(differences: list[int]):
    observed = abs(sum(differences))
    sizes = [abs(value) for value in differences if value]
    sums = [
        sum(sign * size for sign, size in zip(signs, sizes, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(sizes))
    ]
    upper = sum(total > observed for total in sums) + sum(total == observed for total in sums) / 2
    assert swap_test(differences) == pytest.approx(min(1.0, 2 * upper / len(sums)), abs=1e-12)


@given(st.lists(st.integers(-15, 15), max_size=60))
def test_swapping_the_runs_changes_nothing(differences: list[int]):
    assert swap_test([-value for value in differences]) == pytest.approx(swap_test(differences))


def test_ten_thousand_games_of_many_sizes():
    sizes = [size for size in range(1, 11) for _ in range(1000)]
    games = [size if n % 2 or n % 80 == 0 else -size for n, size in enumerate(sizes)]
    spread = math.sqrt(sum(value * value for value in games))
    normal = 2 * stats.norm.sf(abs(sum(games)) / spread)
    assert 0.001 < normal < 0.05
    assert swap_test(games) == pytest.approx(normal, rel=0.02)
