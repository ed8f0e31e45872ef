"""The numbers of a run as one JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from harness.scoring._rows import Rows, read_rows
from harness.scoring.accuracy import Accuracy, score
from harness.scoring.baselines import baselines
from harness.scoring.latency import Latency, StageTimes, latency

__all__ = ["summary_document"]


def summary_document(
    rows: Rows,
    *,
    expected: int | None = None,
    budget_s: float = 25.0,
    allowed_s: float = 30.0,
) -> dict[str, Any]:
    """Return a run's numbers as JSON values; what is not known is ``None``, never NaN.

    Keys: ``questions``, ``missing``, ``failed``, ``accuracy``, ``baselines``,
    ``by_category``, ``by_basis``, ``by_parse``, ``by_tag``, ``degradations``
    (questions by code), ``stages`` and ``time``.  The arguments and the errors
    are those of :func:`~harness.scoring.accuracy.score` and
    :func:`~harness.scoring.latency.latency`.
    """
    found = read_rows(rows)
    scored = score(found, expected=expected)
    codes = Counter(code for row in found for code in set(row["degradations"]))
    times = latency(found, budget_s=budget_s, allowed_s=allowed_s)
    return {
        "questions": scored.overall.questions,
        "missing": scored.missing,
        "failed": scored.overall.failed,
        "accuracy": asdict(scored.overall),
        "baselines": asdict(baselines(found)),
        "by_category": _groups(scored.by_category),
        "by_basis": _groups(scored.by_basis),
        "by_parse": _groups(scored.by_parse_step),
        "by_tag": _groups(scored.by_tag),
        "degradations": dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
        "stages": {stage: _times(found) for stage, found in times.stages.items()},
        "time": _time(times),
    }


def _groups(groups: Mapping[str, Accuracy]) -> dict[str, Any]:
    return {name: asdict(accuracy) for name, accuracy in groups.items()}


def _time(times: Latency) -> dict[str, Any]:
    return {
        "budget_s": times.budget_s,
        "allowed_s": times.allowed_s,
        "timed": times.timed,
        "over_budget": times.over_budget,
        "over_allowed": times.over_allowed,
        "network_recorded": _times(times.network_recorded),
        "network_live": _times(times.network_live),
        "compute": _times(times.compute),
        "total": _times(times.total),
    }


def _times(times: StageTimes | None) -> dict[str, Any] | None:
    if times is None:
        return None
    return {
        "n": times.n,
        "median_s": round(times.median_s, 4),
        "p90_s": round(times.p90_s, 4),
        "max_s": round(times.max_s, 4),
        "source": times.source,
    }
