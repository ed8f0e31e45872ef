"""From run records to numbers that can be believed."""

from harness.scoring.accuracy import Accuracy, Score, score
from harness.scoring.baselines import Baseline, Baselines, baselines
from harness.scoring.intervals import Interval, wilson
from harness.scoring.latency import Latency, StageTimes, latency, quantile
from harness.scoring.summary import summary_document

__all__ = [
    "Accuracy",
    "Baseline",
    "Baselines",
    "Interval",
    "Latency",
    "Score",
    "StageTimes",
    "baselines",
    "latency",
    "quantile",
    "score",
    "summary_document",
    "wilson",
]
