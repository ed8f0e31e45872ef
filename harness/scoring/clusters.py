"""Questions that share a game, or were asked more than once, are not independent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import Interval, wilson
from harness.scoring.paired_difference import DifferenceInterval

__all__ = [
    "ClusterSums",
    "bootstrap_interval",
    "cluster_sums",
    "clustered_mean",
    "clustered_wilson",
    "design_effect",
]

Values: TypeAlias = NDArray[Any]
RESAMPLES = 4000
_BLOCK = 1_000_000  # counts drawn at a time


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Per cluster, how many questions it has and the sum of their values."""

    sizes: Values
    sums: Values

    @property
    def n(self) -> int:
        """The number of questions."""
        return int(self.sizes.sum())

    @property
    def mean(self) -> float:
        """The mean over all questions."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def error(self) -> float:
        """The standard error of the mean, between clusters; infinite for a single one."""
        count = len(self.sizes)
        if count < 2:
            return math.inf
        off = self.sums - self.mean * self.sizes
        return float(np.sqrt((off * off).sum() * count / (count - 1))) / self.n


def cluster_sums(values: Values, clusters: Values) -> ClusterSums:
    """Return the sums of ``values`` by cluster; ``clusters`` holds any labels."""
    _, codes = np.unique(clusters, return_inverse=True)
    return ClusterSums(np.bincount(codes), np.bincount(codes, weights=values))


def design_effect(values: Values, sums: ClusterSums) -> float:
    """Return by how much clustering inflates the variance of the mean (at least 1)."""
    spread = float(np.var(values))
    if spread == 0 or sums.n < 2:
        return 1.0
    return max(1.0, sums.error**2 / (spread / (sums.n - 1)))


def clustered_mean(sums: ClusterSums, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the t interval of a mean whose values come in clusters.

    The variance is that between clusters, with one degree of freedom less than
    there are; with one value a cluster it is Student's interval.  ``None`` for
    fewer than two clusters.

    Source: K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using
    generalized linear models", Biometrika 73 (1986) 13-22.
    """
    from scipy.special import stdtrit

    if len(sums.sizes) < 2:
        return None
    half = float(stdtrit(len(sums.sizes) - 1, 0.5 + confidence / 2)) * sums.error
    return sums.mean - half, sums.mean + half


def clustered_wilson(right: Values, clusters: Values, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval over as many questions as the clusters are worth.

    The number of questions is divided by the design effect and shrunk by the
    ratio of the normal quantile to Student's, for the number of clusters.

    Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions
    with small expected number of positive counts estimated from survey data",
    Survey Methodology 24 (1998) 193-201, with Wilson's interval in place of
    the exact one.
    """
    from scipy.special import stdtrit

    sums = cluster_sums(right, clusters)
    if len(sums.sizes) < 2:
        return Interval(0.0, 1.0)
    tail = 0.5 + confidence / 2
    shrink = NormalDist().inv_cdf(tail) / float(stdtrit(len(sums.sizes) - 1, tail))
    worth = sums.n / design_effect(right, sums) * shrink**2
    # Alike everywhere, nothing can be seen of how alike games are inside.
    worth = min(worth, len(sums.sizes)) if np.var(right) == 0 else worth
    return wilson(sums.mean * worth, worth, confidence)


def bootstrap_interval(
    sums: ClusterSums, *, seed: int, confidence: float = 0.95, resamples: int = RESAMPLES
) -> DifferenceInterval:
    """Return the percentile interval of a mean over resampled clusters.

    Whole clusters are drawn with replacement.  The percentiles are those that
    a t interval of as many clusters would take, a little further out than the
    nominal ones: the plain percentile interval is too narrow for few clusters.
    The same seed gives the same interval.  Nothing is known of fewer than two
    clusters: -1 to 1.

    Source: T. C. Hesterberg, "What teachers should know about the bootstrap",
    The American Statistician 69 (2015) 371-386, section 4.3 (expanded percentile).
    """
    from scipy.special import ndtr, stdtrit

    count = len(sums.sizes)
    if count < 2:
        return DifferenceInterval(-1.0, 1.0)
    # Clusters of the same size and sum can't be told apart: it is drawn how often
    # each kind comes, which is the same distribution and hardly any work.
    kinds, often = np.unique(np.column_stack([sums.sizes, sums.sums]), axis=0, return_counts=True)
    dice = np.random.default_rng(seed)
    block = max(1, _BLOCK // len(kinds))
    means = np.concatenate(
        [
            _resampled(dice, kinds, often, min(block, resamples - start))
            for start in range(0, resamples, block)
        ]
    )
    reach = math.sqrt(count / (count - 1)) * float(stdtrit(count - 1, 0.5 + confidence / 2))
    tail = float(ndtr(-reach))
    lower, upper = np.quantile(means, [tail, 1 - tail])
    return DifferenceInterval(float(lower), float(upper))


def _resampled(dice: np.random.Generator, kinds: Values, often: Values, times: int) -> Values:
    count = int(often.sum())
    drawn = dice.multinomial(count, often / count, size=times)
    means: Values = (drawn @ kinds[:, 1]) / (drawn @ kinds[:, 0])
    return means
