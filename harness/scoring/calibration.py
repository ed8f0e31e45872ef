"""Whether an answer of 80 % confidence is right in 80 % of cases, and the less sure less often.

The functions take ``confidence`` (chances between 0 and 1 that the answer is
right) and ``right`` of the same questions, all of known truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import wilson

__all__ = [
    "CoveragePoint",
    "ReliabilityBin",
    "area_under_risk",
    "brier",
    "expected_calibration_error",
    "lucky_calibration_error",
    "reliability",
    "risk_coverage",
]

BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers whose confidence lies from ``start`` up to ``end``.

    ``confidence`` is their mean one, ``accuracy`` the share of right ones with
    its 95 % Wilson interval.
    """

    start: float
    end: float
    n: int
    confidence: float
    accuracy: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CoveragePoint:
    """Answering only what is at least as sure as ``threshold``.

    ``coverage`` is the share of questions that get an answer, ``risk`` the
    share of wrong ones among these.
    """

    threshold: float
    coverage: float
    risk: float


def brier(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean squared distance of confidence and outcome: 0 is perfect.

    Always saying 0.5 gives 0.25.  Source: G. W. Brier, "Verification of
    forecasts expressed in terms of probability", Monthly Weather Review 78
    (1950) 1-3, for one outcome.
    """
    sure, outcome = _arrays(confidence, right)
    return float(np.mean((sure - outcome) ** 2))


def reliability(
    confidence: Sequence[float], right: Sequence[bool], *, bins: int = BINS
) -> list[ReliabilityBin]:
    """Return the bins of equal width that hold answers; a confidence of 1 is in the last."""
    sure, outcome = _arrays(confidence, right)
    place = _places(sure, bins)
    found = []
    for number in np.unique(place).tolist():
        inside = place == number
        n, hits = int(inside.sum()), int(outcome[inside].sum())
        interval = wilson(hits, n)
        found.append(
            ReliabilityBin(
                start=number / bins,
                end=(number + 1) / bins,
                n=n,
                confidence=float(sure[inside].mean()),
                accuracy=hits / n,
                lower=interval.lower,
                upper=interval.upper,
            )
        )
    return found


def expected_calibration_error(
    confidence: Sequence[float], right: Sequence[bool], *, bins: int = BINS
) -> float:
    """Return the mean distance of confidence and accuracy over bins of equal width.

    It depends on the number of bins and is above 0 by luck alone: read it
    beside :func:`lucky_calibration_error`.  Source: C. Guo, G. Pleiss, Y. Sun
    and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
    """
    sure, outcome = _arrays(confidence, right)
    return float(_errors(sure, outcome[np.newaxis, :], bins)[0])


def lucky_calibration_error(
    confidence: Sequence[float], *, bins: int = BINS, seed: int = 0, draws: int = 1000
) -> float:
    """Return the calibration error that perfect confidences would show on so few answers.

    Outcomes are drawn as the confidences say; the mean error over the draws is
    what no agent can be blamed for.  The same seed gives the same.
    """
    sure, _ = _arrays(confidence, [False] * len(confidence))
    dice = np.random.default_rng(seed)
    block = max(1, 2_000_000 // len(sure))
    errors: list[float] = []
    for start in range(0, draws, block):
        outcomes = dice.random((min(block, draws - start), len(sure))) < sure
        errors += _errors(sure, outcomes.astype(float), bins).tolist()
    return float(np.mean(errors))


def risk_coverage(confidence: Sequence[float], right: Sequence[bool]) -> list[CoveragePoint]:
    """Return the risk at every coverage that a threshold can give, the surest first.

    Answers of the same confidence can't be told apart, and come in together.
    Source: R. Geifman and R. El-Yaniv, "Selective classification for deep
    neural networks", NeurIPS 2017.
    """
    sure, outcome = _arrays(confidence, right)
    thresholds, counts, hits = _by_confidence(sure, outcome)
    answered, wrong = counts.cumsum(), (counts - hits).cumsum()
    return [
        CoveragePoint(float(threshold), float(n / len(sure)), float(errors / n))
        for threshold, n, errors in zip(thresholds, answered, wrong, strict=True)
    ]


def area_under_risk(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean risk over all coverages, 1 of n to n of n: lower is better.

    Answers of the same confidence are taken in an average order.  With
    confidences that say nothing it is the error rate.
    """
    sure, outcome = _arrays(confidence, right)
    _, counts, hits = _by_confidence(sure, outcome)
    rate = np.repeat((counts - hits) / counts, counts)  # each answer's expected error
    return float(np.mean(rate.cumsum() / np.arange(1, len(sure) + 1)))


def _by_confidence(
    sure: NDArray[Any], outcome: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return distinct confidences downwards, with their numbers of answers and right ones."""
    values, codes = np.unique(-sure, return_inverse=True)
    counts = np.bincount(codes)
    return -values, counts, np.bincount(codes, weights=outcome)


def _errors(sure: NDArray[Any], outcomes: NDArray[Any], bins: int) -> NDArray[Any]:
    """Return the calibration error of each row of outcomes."""
    inside = np.zeros((len(sure), bins))
    inside[np.arange(len(sure)), _places(sure, bins)] = 1.0
    # Weighted by their numbers, means become sums: |sum of confidence - right answers| / n.
    errors: NDArray[Any] = np.abs((sure - outcomes) @ inside).sum(axis=1) / len(sure)
    return errors


def _places(sure: NDArray[Any], bins: int) -> NDArray[Any]:
    places: NDArray[Any] = np.minimum((sure * bins).astype(int), bins - 1)
    return places


def _arrays(
    confidence: Sequence[float], right: Sequence[bool]
) -> tuple[NDArray[Any], NDArray[Any]]:
    sure, outcome = np.asarray(confidence, dtype=float), np.asarray(right, dtype=float)
    if sure.shape != outcome.shape or sure.ndim != 1 or not len(sure):
        raise ValueError("there must be as many confidences as outcomes, and at least one")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("a confidence must lie between 0 and 1")
    return sure, outcome
