"""What a set of questions says about two runs: counts, test, interval, power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.scoring.clusters import (
    ClusterSums,
    Values,
    bootstrap_interval,
    cluster_sums,
    clustered_wilson,
    design_effect,
)
from harness.scoring.intervals import Interval, wilson
from harness.scoring.mcnemar import mcnemar_midp, swap_test
from harness.scoring.paired_difference import DifferenceInterval, tango_interval
from harness.scoring.power import detectable_difference

__all__ = ["Design", "NonInferiority", "PairedResult", "paired_result"]

NonInferiority = Literal["shown", "refuted", "open"]
_FEW_CLUSTERS = 10  # of clusters in which the runs differ: below, a bootstrap is too sure


@dataclass(frozen=True, slots=True)
class Design:
    """What is fixed before two runs are compared.

    ``margin`` is the loss of accuracy that would be put up with, as a share;
    ``seed`` is that of the bootstrap.
    """

    margin: float = 0.02
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PairedResult:
    """Two runs on the same ``n`` questions of known gold.

    ``both``, ``lost`` (right in the first run only), ``gained`` (right in the
    second only) and ``neither`` add up to ``n``.  ``difference`` is the second
    run's accuracy less the first's, ``lower`` to ``upper`` its interval by
    ``method``; it is ``None`` over no questions.  ``p`` is the mid-p value of
    the paired ``test``, ``p_adjusted`` Holm's where several are looked at.
    ``noninferior`` says whether a loss of more than the margin is excluded
    (*shown*), certain (*refuted*) or neither (*open*).  ``detectable`` is the
    smallest true difference that so many questions show in 80 % of
    comparisons.  ``clusters`` counts games or repeated questions, ``None``
    where questions are taken as independent.
    """

    n: int
    both: int
    lost: int
    gained: int
    neither: int
    accuracy_a: Interval
    accuracy_b: Interval
    difference: float | None
    lower: float
    upper: float
    method: str
    p: float
    p_adjusted: float | None
    test: str
    noninferior: NonInferiority
    detectable: float | None
    clusters: int | None
    design_effect: float

    @property
    def right_a(self) -> int:
        """Right answers of the first run."""
        return self.both + self.lost

    @property
    def right_b(self) -> int:
        """Right answers of the second run."""
        return self.both + self.gained

    def shown(self, level: float) -> bool:
        """Whether the test and the interval both exclude that there is no difference."""
        p = self.p if self.p_adjusted is None else self.p_adjusted
        return p <= level and not self.lower <= 0 <= self.upper


def paired_result(
    right_a: Values, right_b: Values, clusters: Values | None, design: Design
) -> PairedResult:
    """Return what two runs' verdicts on the same questions say.

    ``right_a`` and ``right_b`` are boolean arrays of one length; ``clusters``
    holds a label per question, or is ``None`` where questions are independent.
    Clusters of one question each change nothing.
    """
    a, b = right_a.astype(bool), right_b.astype(bool)
    n = len(a)
    both, gained, lost = int((a & b).sum()), int((b & ~a).sum()), int((a & ~b).sum())
    values = b.astype(np.int64) - a.astype(np.int64)
    sums = None if clusters is None or n == 0 else cluster_sums(values, clusters)
    if sums is None or len(sums.sizes) == n:
        interval, method = tango_interval(lost, gained, n, design.confidence), "Tango's score"
        p, test, effect = mcnemar_midp(lost, gained), "McNemar, mid-p", 1.0
        accuracies = [wilson(int(run.sum()), n, design.confidence) for run in (a, b)]
        count = None
    else:
        interval, method = _clustered_interval(sums, design)
        p, test = swap_test(sums.sums.astype(np.int64)), "swapping within clusters, mid-p"
        effect = design_effect(values, sums)
        accuracies = [clustered_wilson(run, clusters, design.confidence) for run in (a, b)]  # type: ignore[arg-type]
        count = len(sums.sizes)
    return PairedResult(
        n=n,
        both=both,
        lost=lost,
        gained=gained,
        neither=n - both - lost - gained,
        accuracy_a=accuracies[0],
        accuracy_b=accuracies[1],
        difference=(gained - lost) / n if n else None,
        lower=interval.lower,
        upper=interval.upper,
        method=method,
        p=p,
        p_adjusted=None,
        test=test,
        noninferior=_noninferior(interval, design.margin) if n else "open",
        detectable=_detectable(lost + gained, n, effect, design),
        clusters=count,
        design_effect=effect,
    )


def _clustered_interval(sums: ClusterSums, design: Design) -> tuple[DifferenceInterval, str]:
    """Return the cluster bootstrap's interval, no narrower than few clusters allow."""
    drawn = bootstrap_interval(sums, seed=design.seed, confidence=design.confidence)
    count, differing = len(sums.sizes), int(np.count_nonzero(sums.sums))
    if count < 2 or differing >= _FEW_CLUSTERS:
        return drawn, f"cluster bootstrap, seed {design.seed}"
    # As if each cluster were one question: what little the clusters can exclude.
    lost, gained = int((sums.sums < 0).sum()), int((sums.sums > 0).sum())
    whole = tango_interval(lost, gained, count, design.confidence)
    return (
        DifferenceInterval(min(drawn.lower, whole.lower), max(drawn.upper, whole.upper)),
        f"cluster bootstrap, seed {design.seed}, widened to Tango's score over clusters",
    )


def _noninferior(interval: DifferenceInterval, margin: float) -> NonInferiority:
    if interval.lower > -margin:
        return "shown"
    return "refuted" if interval.upper < -margin else "open"


def _detectable(discordant: int, n: int, effect: float, design: Design) -> float | None:
    # Clustered questions are worth fewer independent ones.
    return detectable_difference(
        round(discordant / effect), n / effect, confidence=design.confidence
    )
