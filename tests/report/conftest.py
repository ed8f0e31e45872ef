from __future__ import annotations

from typing import Any

import pytest


def accuracy(
    correct: int, known: int, lower: float, upper: float, **changes: Any
) -> dict[str, Any]:
    estimate = correct / known if known else None
    share = estimate or 0.0
    return {
        "questions": known, "known": known, "correct": correct, "estimate": estimate,
        "lower": lower, "upper": upper, "bound_low": share, "bound_high": share, "failed": 0,
        **changes,
    }  # fmt: skip


def times(n: int, median: float, p90: float, largest: float, source: str) -> dict[str, Any]:
    return {"n": n, "median_s": median, "p90_s": p90, "max_s": largest, "source": source}


@pytest.fixture
def document() -> dict[str, Any]:
    """A run's document, written by hand."""
    return {
        "run": "runs/20260101T120000Z-sample",
        "digest": "sha256:" + "0123456789abcdef" * 4,
        "questions": 24,
        "missing": 1,
        "failed": 1,
        "accuracy": accuracy(
            15, 20, 0.5313, 0.8881, questions=24, bound_low=0.625, bound_high=0.75, failed=1
        ),
        "baselines": {
            "random": {"n": 20, "estimate": 0.25, "lower": None, "upper": None},
            "longest_option": {"n": 20, "estimate": 0.4, "lower": 0.2188, "upper": 0.6134},
        },
        "by_category": {
            "history": accuracy(7, 10, 0.3968, 0.8922),
            "news": accuracy(8, 10, 0.4902, 0.9433),
            "maths": accuracy(0, 0, 0.0, 1.0, questions=3),
        },
        "by_basis": {
            "retrieved passages": accuracy(15, 18, 0.6078, 0.9416),
            "failed": accuracy(0, 2, 0.0, 0.6576),
        },
        "by_tag": {"invented facts": accuracy(9, 10, 0.5958, 0.9821)},
        "by_parse": {"text": accuracy(15, 18, 0.6078, 0.9416)},
        "degradations": {"page_failed": 5, "context_cut": 1, "brand_new_code": 1},
        "stages": {
            "search": times(23, 0.41, 0.9, 1.2, "recorded network"),
            "generate": times(23, 9.5, 14.25, 27.0, "compute"),
        },
        "time": {
            "budget_s": 25.0,
            "allowed_s": 30.0,
            "timed": 23,
            "over_budget": 2,
            "over_allowed": 1,
            "network_recorded": times(23, 1.5, 2.9, 4.0, "recorded network"),
            "network_live": times(23, 0.0, 0.0, 0.0, "live network"),
            "compute": times(23, 10.0, 15.0, 28.0, "compute"),
            "total": times(23, 11.9, 17.5, 31.25, "both"),
        },
    }
