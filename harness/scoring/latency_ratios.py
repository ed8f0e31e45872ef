"""How many times as long: paired ratios of seconds, recorded network time kept apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.scoring.clusters import ClusterSums, cluster_sums, clustered_mean
from harness.trace import STAGES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TimeRatio", "late_counts", "time_ratios"]

_NETWORK_STAGES = ("search", "fetch")


@dataclass(frozen=True, slots=True)
class TimeRatio:
    """How many times as long the second run took, over ``n`` questions.

    ``ratio`` is the geometric mean of the questions' ratios, ``lower`` to
    ``upper`` its interval; all are ``None`` where ``n`` is too small.
    ``median_a_s`` and ``median_b_s`` are over the same questions.  ``source``
    is *compute*, *recorded network*, *live network* or *all*.  Not in it:
    ``only_a`` and ``only_b`` questions in which only one run came to the
    stage, and ``unusable`` ones with a time that is no positive number or not
    of the same source in both runs.
    """

    stage: str
    source: str
    n: int
    ratio: float | None
    lower: float | None
    upper: float | None
    median_a_s: float | None
    median_b_s: float | None
    only_a: int
    only_b: int
    unusable: int


def time_ratios(
    pairs: pl.DataFrame, *, clustered: bool, confidence: float = 0.95
) -> list[TimeRatio]:
    """Return the ratios per stage, then of the sums, of pairs of one pairing.

    A recorded second is only compared with a recorded one, a live one with a
    live one.  Lines in which nothing was measured are left out.
    """
    stages = [name for name in STAGES if f"t_{name}_s_a" in pairs.columns]
    sources = {kind: _network(pairs, kind) for kind in ("recorded", "live")}
    found = []
    for stage in stages:
        if stage in _NETWORK_STAGES:
            for kind, usable in sources.items():
                line = _line(pairs, stage, f"{kind} network", usable, clustered, confidence)
                found.append(line)
        else:
            found.append(_line(pairs, stage, "compute", None, clustered, confidence))
    for column, source in (
        ("network_recorded", "recorded network"),
        ("network_live", "live network"),
        ("compute", "compute"),
    ):
        # A question without network time has a sum of 0 there, which is no measurement.
        usable = _positive(pairs, column, "a") | _positive(pairs, column, "b")
        found.append(_line(pairs, column, source, usable, clustered, confidence))
    total = _line(pairs, "total", "all", same := _same_sources(pairs), clustered, confidence)
    found.append(replace(total, unusable=total.unusable + int((~same).sum())))
    return [line for line in found if line.n or line.only_a or line.only_b or line.unusable]


def late_counts(pairs: pl.DataFrame, allowed_s: tuple[float, float]) -> tuple[int, int, int]:
    """Return of how many pairs both totals are known, and how many each run was late in."""
    totals = [pairs[f"t_total_s_{run}"].to_numpy() for run in "ab"]
    timed = np.isfinite(totals[0]) & np.isfinite(totals[1])
    late = [int((timed & (t > s)).sum()) for t, s in zip(totals, allowed_s, strict=True)]
    return int(timed.sum()), late[0], late[1]


def _line(
    pairs: pl.DataFrame,
    stage: str,
    source: str,
    usable: Any,
    clustered: bool,
    confidence: float,
) -> TimeRatio:
    # A missing value becomes NaN here too, so that is asked before.
    ran = [pairs[f"t_{stage}_s_{run}"].is_not_null().to_numpy() for run in "ab"]
    seconds = [
        pairs[f"t_{stage}_s_{run}"].cast(float).fill_null(float("nan")).to_numpy() for run in "ab"
    ]
    here = np.ones(pairs.height, bool) if usable is None else usable
    together = ran[0] & ran[1] & here
    good = together & (seconds[0] > 0) & (seconds[1] > 0)
    good &= np.isfinite(seconds[0]) & np.isfinite(seconds[1])
    n = int(good.sum())
    logs = np.log(seconds[1][good] / seconds[0][good])
    ratio = lower = upper = None
    if n:
        labels = pairs["cluster"].to_numpy()[good] if clustered else None
        sums = ClusterSums(np.ones(n), logs) if labels is None else cluster_sums(logs, labels)
        ratio = float(np.exp(sums.mean))
        limits = clustered_mean(sums, confidence)
        if limits is not None:
            lower, upper = (float(np.exp(limit)) for limit in limits)
    medians = [float(np.median(times[good])) if n else None for times in seconds]
    return TimeRatio(
        stage=stage,
        source=source,
        n=n,
        ratio=ratio,
        lower=lower,
        upper=upper,
        median_a_s=medians[0],
        median_b_s=medians[1],
        only_a=int((ran[0] & ~ran[1] & here).sum()),
        only_b=int((ran[1] & ~ran[0] & here).sum()),
        unusable=int((together & ~good).sum()),
    )


def _positive(pairs: pl.DataFrame, column: str, run: str) -> Any:
    values = pairs[f"t_{column}_s_{run}"].cast(float).fill_null(0.0).to_numpy()
    return ~(values <= 0)  # NaN is kept, to be counted as unusable


def _network(pairs: pl.DataFrame, kind: str) -> Any:
    """Return of which pairs all the network time of the runs that have any is of one kind."""
    other = "live" if kind == "recorded" else "recorded"
    own = [_positive(pairs, f"network_{kind}", run) for run in "ab"]
    foreign = [_positive(pairs, f"network_{other}", run) for run in "ab"]
    return (own[0] | own[1]) & ~foreign[0] & ~foreign[1]


def _same_sources(pairs: pl.DataFrame) -> Any:
    """Return of which pairs the total is made of the same kinds of seconds."""
    same = np.ones(pairs.height, bool)
    for kind in ("network_recorded", "network_live"):
        same &= _positive(pairs, kind, "a") == _positive(pairs, kind, "b")
    return same
