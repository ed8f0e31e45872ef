from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring import latency, quantile
from harness.trace import STAGES

SECONDS = st.lists(st.floats(0, 1e4), min_size=1, max_size=40)


@given(SECONDS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values, share):
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-9, abs=1e-9)


def test_quantiles_of_few_values():
    assert quantile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.5
    assert quantile([3.0, 1.0, 2.0, 4.0], 0.9) == pytest.approx(3.7)
    assert quantile([7.0], 0.9) == 7.0
    with pytest.raises(ValueError, match="no quantile"):
        quantile([], 0.5)


def test_stages_count_only_the_questions_in_which_they_ran(make_row):
    rows = [make_row(t_generate_s=2.0), make_row(t_generate_s=4.0), make_row()]
    found = latency(rows)
    assert list(found.stages) == ["generate"]
    times = found.stages["generate"]
    assert (times.n, times.median_s, times.max_s) == (2, 3.0, 4.0)
    assert times.p90_s == pytest.approx(3.8)


def test_stages_come_in_the_order_of_the_pipeline_and_new_ones_after(make_row):
    row = make_row(**{f"t_{stage}_s": 1.0 for stage in reversed(STAGES)}, t_solve_s=1.0)
    assert list(latency([row]).stages) == [*STAGES, "solve"]


def test_recorded_network_is_kept_apart_from_compute(make_row):
    row = make_row(
        t_search_s=0.5, t_fetch_s=1.5, t_generate_s=8.0,
        t_network_recorded_s=2.0, t_compute_s=8.0, t_total_s=10.0,
    )  # fmt: skip
    found = latency([row])
    assert found.stages["search"].source == found.stages["fetch"].source == "recorded network"
    assert found.stages["generate"].source == "compute"
    assert found.network_recorded.max_s == 2.0
    assert found.network_live.max_s == 0.0
    assert found.compute.max_s == 8.0
    assert found.total.max_s == 10.0


def test_live_seconds_are_never_called_recorded(make_row):
    live = make_row(t_fetch_s=1.0, t_network_live_s=1.0)
    recorded = make_row(t_fetch_s=1.0, t_network_recorded_s=1.0)
    assert latency([live]).stages["fetch"].source == "live network"
    assert latency([live, recorded]).stages["fetch"].source == "mixed network"


def test_late_questions_are_counted_against_both_limits(make_row):
    rows = [make_row(t_total_s=seconds) for seconds in (1.0, 25.0, 25.1, 30.0, 31.0)]
    rows.append(make_row(t_total_s=None))
    found = latency(rows)
    assert (found.timed, found.over_budget, found.over_allowed) == (5, 3, 1)
    strict = latency(rows, budget_s=0.5, allowed_s=1.0)
    assert (strict.over_budget, strict.over_allowed) == (5, 4)


def test_no_rows():
    found = latency([])
    assert found.stages == {}
    assert found.total is None
    assert (found.timed, found.over_budget) == (0, 0)


@given(SECONDS, st.randoms(use_true_random=False))
def test_quantiles_are_ordered_and_independent_of_the_order_of_rows(make_row, seconds, dice):
    rows = [make_row(t_rerank_s=value) for value in seconds]
    found = latency(rows)
    times = found.stages["rerank"]
    assert min(seconds) <= times.median_s <= times.p90_s <= times.max_s == max(seconds)
    assert latency(dice.sample(rows, len(rows))) == found


def test_a_frame_gives_the_same(make_row):
    rows = [make_row(t_fetch_s=1.5), make_row(t_fetch_s=2.5, t_generate_s=1.0)]
    assert latency(pl.DataFrame(rows, infer_schema_length=None)) == latency(rows)
