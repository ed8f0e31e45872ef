"""Where the seconds went: per stage, recorded network time apart from compute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.scoring._rows import ResultRow, Rows, read_rows
from harness.trace import STAGES

__all__ = ["Latency", "Source", "StageTimes", "latency", "quantile"]

Source = Literal["compute", "recorded network", "live network", "mixed network", "both"]
"""What seconds are made of; a recorded second is never shown as a live one."""

_NETWORK_STAGES = frozenset({"search", "fetch"})
_SUMS = ("network_recorded", "network_live", "compute", "total")


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds of one stage over the ``n`` questions in which it ran."""

    n: int
    median_s: float
    p90_s: float
    max_s: float
    source: Source


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds per stage and in sum, and how many questions were too slow.

    ``network_recorded``, ``network_live``, ``compute`` and ``total`` are per
    question, 0 included.  Of ``timed`` questions ``over_budget`` took more
    than ``budget_s`` and ``over_allowed`` more than ``allowed_s``, recorded
    network and compute seconds together.
    """

    stages: Mapping[str, StageTimes]
    network_recorded: StageTimes | None
    network_live: StageTimes | None
    compute: StageTimes | None
    total: StageTimes | None
    budget_s: float
    allowed_s: float
    timed: int
    over_budget: int
    over_allowed: int


def latency(rows: Rows, *, budget_s: float = 25.0, allowed_s: float = 30.0) -> Latency:
    """Return the latency of a run's rows, from their ``t_<stage>_s`` columns.

    Stages come in the order of :data:`harness.trace.STAGES`, unknown ones
    after them by name; a stage that never ran is left out.
    """
    found = read_rows(rows)
    network = _network_source(found)
    stages: dict[str, StageTimes] = {}
    for stage in _stage_names(found):
        times = _times(found, stage, network if stage in _NETWORK_STAGES else "compute")
        if times is not None:
            stages[stage] = times
    totals = _seconds(found, "total")
    return Latency(
        stages=stages,
        network_recorded=_times(found, "network_recorded", "recorded network"),
        network_live=_times(found, "network_live", "live network"),
        compute=_times(found, "compute", "compute"),
        total=_times(found, "total", "both"),
        budget_s=budget_s,
        allowed_s=allowed_s,
        timed=len(totals),
        over_budget=sum(seconds > budget_s for seconds in totals),
        over_allowed=sum(seconds > allowed_s for seconds in totals),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Return a sample quantile by linear interpolation between order statistics.

    Definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical
    packages", The American Statistician 50 (1996) 361-365: the default of
    NumPy.  ``values`` need no order; raises :class:`ValueError` if empty.
    """
    if not values:
        raise ValueError("there is no quantile of no values")
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _stage_names(rows: Iterable[ResultRow]) -> list[str]:
    columns = {name for row in rows for name in row if name.startswith("t_")}
    names = {column.removeprefix("t_").removesuffix("_s") for column in columns} - set(_SUMS)
    return [stage for stage in STAGES if stage in names] + sorted(names - set(STAGES))


def _network_source(rows: Iterable[ResultRow]) -> Source:
    recorded = live = False
    for row in rows:
        recorded = recorded or (row.get("t_network_recorded_s") or 0) > 0
        live = live or (row.get("t_network_live_s") or 0) > 0
    if live:
        return "mixed network" if recorded else "live network"
    return "recorded network"


def _times(rows: Iterable[ResultRow], stage: str, source: Source) -> StageTimes | None:
    seconds = _seconds(rows, stage)
    if not seconds:
        return None
    return StageTimes(
        len(seconds), quantile(seconds, 0.5), quantile(seconds, 0.9), max(seconds), source
    )


def _seconds(rows: Iterable[ResultRow], stage: str) -> list[float]:
    values = (row.get(f"t_{stage}_s") for row in rows)
    return [float(value) for value in values if value is not None]
