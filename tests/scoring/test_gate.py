"""The gate: what passes, what does not, and the one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import BadInputError
from harness.scoring.compare import compare_runs
from harness.scoring.gate import GateRule, GateVerdict, check_gate
from harness.scoring.run_table import table_of_rows


@pytest.fixture
def gated(runs) -> Any:
    def give(a: Any, b: Any, **rule: Any) -> GateVerdict:
        sides = [runs.rows(side) if isinstance(side, str) else side for side in (a, b)]
        tables = [table_of_rows(side, "x") for side in sides]
        return check_gate(compare_runs(*tables), GateRule(**rule))

    return give


def test_no_worse_passes(gated):
    assert gated("RRRW", "RRRR") == GateVerdict(
        True, "The gate holds: +25.0 points on 4 shared questions, 1.00 times the seconds."
    )
    assert gated("RRRW", "RRWR").passed


def test_a_drop(gated):
    before, after = "R" * 50, "R" * 48 + "WW"
    assert gated(before, after, max_drop=0.04).passed  # exactly what is allowed
    found = gated(before, after, max_drop=0.03)
    assert found == GateVerdict(
        False,
        "Accuracy fell by 4.0 points (2 fewer right), 3.0 points are allowed "
        "(-4.0 points on 50 shared questions).",
    )


def test_certainty_asks_more_than_luck(gated):
    same = "RRRW" * 10
    assert gated(same, same, max_drop=0.02).passed
    found = gated(same, same, max_drop=0.02, certain=True)
    assert not found.passed
    assert "A loss of more than 2.0 points is not excluded: the interval reaches down to" in (
        found.sentence
    )
    assert gated(same * 10, same * 10, max_drop=0.02, certain=True).passed


def slower(runs: Any, times: float, n: int = 12) -> list[dict[str, Any]]:
    return [runs.row(k, t_compute_s=2.0 * times * (1 + k % 2 / 10)) for k in range(n)]


def test_seconds(gated, runs):
    before = slower(runs, 1.0)
    assert gated(before, slower(runs, 1.09), max_latency=1.1).passed
    found = gated(before, slower(runs, 1.3), max_latency=1.1)
    assert not found.passed
    assert found.sentence.startswith("Computing took 1.30 times as long, more than the 1.1 allowed")
    assert gated(before, slower(runs, 1.3)).passed  # nobody asked
    noisy = slower(runs, 1.0)
    noisy[0]["t_compute_s"] = 4.0
    assert gated(before, noisy, max_latency=1.1).passed
    unsure = gated(before, noisy, max_latency=1.1, certain=True, max_drop=0.5)
    assert "More than 1.1 times the seconds is not excluded: the interval reaches" in (
        unsure.sentence
    )


def test_seconds_that_nobody_measured(gated, runs):
    none = [runs.row(n, t_compute_s=0.0) for n in range(3)]
    found = gated(none, none, max_latency=1.1)
    assert not found.passed
    assert "no question has compute seconds in both runs" in found.sentence


def test_leaving_questions_out_is_no_way_through(gated, runs):
    found = gated("RRWW", "RR--")
    assert not found.passed
    assert found.sentence.startswith("2 of the baseline's questions can't be compared")
    assert gated("RRWW", "RR--", allow_missing=True).passed
    assert gated("RR--", "RRWW").passed  # more than the baseline is welcome
    other_truth = [runs.row(0), runs.row(1, gold_text="blue")]
    assert not gated("RR", other_truth).passed


def test_all_faults_in_one_sentence(gated):
    found = gated("RRRR", "RRW-")
    assert found.sentence.count(";") == 1
    assert found.sentence.endswith(".")


def test_nothing_in_common(gated):
    for a, b in (("", ""), ("??", "??"), ("R-", "-R")):
        with pytest.raises(BadInputError, match="share no question whose right answer is known"):
            gated(a, b)
