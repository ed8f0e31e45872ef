"""The paired test of two runs: McNemar's, and its form for questions in games."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["mcnemar_midp", "swap_test"]


def mcnemar_midp(lost: int, gained: int) -> float:
    """Return the two-sided mid-p value of McNemar's test.

    ``lost`` pairs were right in the first run only, ``gained`` ones in the
    second only; pairs on which the runs agree say nothing about a difference
    and do not enter.  Without a discordant pair it is 1.

    The exact conditional test keeps its level but wastes power; half of the
    probability of what was observed is left out, which keeps the size close
    to the level.  Source: M. W. Fagerland, S. Lydersen and P. Laake, "The
    McNemar test for binary matched-pairs data: mid-p and asymptotic are
    better than exact conditional", BMC Medical Research Methodology 13 (2013) 91.
    """
    from scipy.special import bdtr

    n, smaller = lost + gained, min(lost, gained)
    if n == 0:
        return 1.0
    below = float(bdtr(smaller - 1, n, 0.5)) if smaller else 0.0
    return min(1.0, float(bdtr(smaller, n, 0.5)) + below)


def swap_test(differences: Iterable[int]) -> float:
    """Return the two-sided mid-p value of swapping the runs within each cluster.

    ``differences`` holds, per cluster (a game, or a question that was asked
    more than once), gained less lost questions.  If the runs did not differ,
    each cluster's difference could as well have had the other sign, all its
    questions together.  The distribution over all signs is computed, not
    sampled.  With one question a cluster this *is* McNemar's mid-p test.

    Source: E. J. G. Pitman, "Significance tests which may be applied to
    samples from any populations", JRSS Supplement 4 (1937) 119-130.
    """
    values = np.asarray(list(differences), dtype=np.int64)
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if sizes.size == 0:
        return 1.0
    if sizes.size == 1:  # all of one size: the signs are a binomial's
        return mcnemar_midp(int((values < 0).sum()), int((values > 0).sum()))
    reach = int((sizes * counts).sum())
    # The characteristic function of a sum of signs is a product of cosines;
    # its Fourier transform is the distribution, over one period that holds it.
    period = 1 << (2 * reach).bit_length()
    angles = 2 * np.pi * np.arange(period // 2 + 1) / period
    product = np.ones_like(angles)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        product *= np.cos(size * angles) ** count
    chances = np.fft.irfft(product, period)
    observed = abs(int(values.sum()))
    upper = float(chances[observed + 1 : reach + 1].sum()) + 0.5 * float(chances[observed])
    return min(1.0, max(0.0, 2 * upper))
