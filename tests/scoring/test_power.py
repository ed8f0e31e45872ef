from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.scoring.mcnemar import mcnemar_midp
from harness.scoring.power import detectable_difference


def test_connors_sample_size_is_met():
    # His formula gives the number of pairs for a difference; put back in, the number comes out.
    discordant, n = 40, 200
    found = detectable_difference(discordant, n)
    assert found is not None
    share = (discordant + 2) / (n + 4)
    z, z_power = stats.norm.ppf([0.975, 0.8])
    needed = (z * share**0.5 + z_power * (share - found**2) ** 0.5) ** 2 / found**2
    assert needed == pytest.approx(n, rel=1e-6)


@pytest.mark.parametrize(("discordant", "n"), [(17, 86), (45, 300), (300, 1000)])
def test_a_true_difference_of_that_size_is_shown_in_four_of_five(discordant: int, n: int):
    found = detectable_difference(discordant, n)
    assert found is not None
    share = max((discordant + 2) / (n + 4), found)
    dice = np.random.default_rng(7)
    chances = [(share - found) / 2, (share + found) / 2, 1 - share]
    tables, often = np.unique(dice.multinomial(n, chances, size=4000), axis=0, return_counts=True)
    shown = [mcnemar_midp(int(lost), int(gained)) <= 0.05 for lost, gained, _ in tables]
    assert 0.77 <= (often * shown).sum() / often.sum() <= 0.86


def test_more_questions_see_more_and_more_disagreement_sees_less():
    sizes = [detectable_difference(n // 5, n) for n in (20, 50, 100, 1000, 100_000)]
    assert sizes == sorted(sizes, reverse=True)
    shares = [detectable_difference(discordant, 200) for discordant in (0, 5, 20, 80, 200)]
    assert shares == sorted(shares)


def test_a_handful_of_questions_promises_nothing():
    assert detectable_difference(0, 0) is None
    assert detectable_difference(1, 3) is None
    agreed = detectable_difference(0, 86)
    assert agreed is not None
    assert agreed > 0.04  # that the runs agreed is no proof that they always would
