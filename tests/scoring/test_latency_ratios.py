"""Ratios of seconds: recorded beside recorded, live beside live, nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.scoring.latency_ratios import TimeRatio, late_counts, time_ratios
from harness.scoring.pairing import pair_runs
from harness.scoring.run_table import table_of_rows


@pytest.fixture
def ratios(runs) -> Any:
    def give(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> dict[tuple[str, str], TimeRatio]:
        pairing = pair_runs(table_of_rows(a, "A"), table_of_rows(b, "B"))
        found = time_ratios(pairing.pairs, clustered=bool(pairing.clustered))
        return {(line.stage, line.source): line for line in found}

    return give


def timed(runs: Any, times: list[float], **same: Any) -> list[dict[str, Any]]:
    return [runs.row(n, t_generate_s=seconds, **same) for n, seconds in enumerate(times)]


def test_it_is_students_interval_of_the_logarithms(ratios, runs):
    dice = np.random.default_rng(2)
    before, after = dice.lognormal(0, 0.3, 25).tolist(), dice.lognormal(0.2, 0.3, 25).tolist()
    found = ratios(timed(runs, before), timed(runs, after))["generate", "compute"]
    logs = np.log(np.array(after) / np.array(before))
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert found.ratio == pytest.approx(stats.gmean(np.array(after) / np.array(before)))
    assert (found.lower, found.upper) == pytest.approx(tuple(np.exp(expected)))
    assert found.median_a_s == pytest.approx(np.median(before))
    assert (found.n, found.unusable) == (25, 0)


def test_questions_in_games_are_worth_less(ratios, runs):
    before, after = [1.0] * 40, [2.0 if n // 8 % 2 else 1.1 for n in range(40)]
    alone = ratios(timed(runs, before), timed(runs, after))["generate", "compute"]
    games = [{**row, "game": f"g{n // 8}"} for n, row in enumerate(timed(runs, before))]
    together = ratios(games, timed(runs, after))["generate", "compute"]
    assert together.ratio == pytest.approx(alone.ratio)
    assert together.lower < alone.lower < alone.upper < together.upper


def test_times_that_are_none_are_counted_and_left_out(ratios, runs):
    before = [1.0, math.nan, 0.0, -1.0, math.inf, 1.0, None, 1.0]
    after = [2.0, 1.0, 1.0, 1.0, 1.0, math.nan, 1.0, None]
    found = ratios(timed(runs, before), timed(runs, after))["generate", "compute"]
    assert (found.n, found.unusable, found.only_a, found.only_b) == (1, 5, 1, 1)
    assert found.ratio == pytest.approx(2.0)
    assert (found.lower, found.upper) == (None, None)  # one question has no spread


def test_a_recorded_second_never_stands_beside_a_live_one(ratios, runs):
    recorded = timed(runs, [1.0] * 3)
    live = timed(runs, [1.0] * 3, t_network_recorded_s=0.0, t_network_live_s=0.5)
    found = ratios(recorded, live)
    assert not [key for key in found if key[0] in ("search", "fetch")]
    assert found["network_recorded", "recorded network"].n == 0
    assert (found["total", "all"].n, found["total", "all"].unusable) == (0, 3)
    assert found["generate", "compute"].n == 3
    both = ratios(live, live)
    assert both["search", "live network"].n == 3
    assert ("search", "recorded network") not in both


def test_a_stage_of_one_run_only_has_no_ratio(ratios, runs):
    found = ratios(timed(runs, [1.0, 1.0]), timed(runs, [None, None]))["generate", "compute"]
    assert (found.n, found.ratio, found.only_a) == (0, None, 2)


def test_runs_without_times_have_no_lines(ratios, runs):
    none = {name: 0.0 for name in runs.row(0) if name.startswith("t_") and name.count("_") > 2}
    none |= dict.fromkeys(("t_search_s", "t_generate_s"))
    none |= {"t_compute_s": 0.0, "t_total_s": 0.0}
    found = ratios([runs.row(0, **none)], [runs.row(0, **none)])
    assert [line.n for line in found.values()] == [0] * len(found)


def test_late_answers_are_counted_by_each_runs_own_rule(runs):
    a = [runs.row(n, t_total_s=seconds) for n, seconds in enumerate([31.0, 29.0, 40.0, math.nan])]
    pairs = pair_runs(table_of_rows(a, "A"), table_of_rows(a, "B")).pairs
    assert late_counts(pairs, (30.0, 25.0)) == (3, 2, 3)
