from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.replay.rows import COLUMNS, to_frame
from harness.scoring import summary_document


def test_the_document_has_the_promised_parts(make_row):
    rows = [
        make_row(tags=["invented"], degradations=["page_failed"], t_fetch_s=1.0, t_total_s=26.0,
                 t_network_recorded_s=1.0),
        make_row(kind="wrong", degradations=["page_failed", "context_cut"]),
        make_row(kind="open", category="news"),
    ]  # fmt: skip
    document = summary_document(rows, expected=4)
    assert (document["questions"], document["missing"], document["failed"]) == (4, 1, 0)
    accuracy = document["accuracy"]
    assert (accuracy["known"], accuracy["correct"], accuracy["estimate"]) == (2, 1, 0.5)
    assert accuracy["lower"] < 0.5 < accuracy["upper"]
    assert (accuracy["bound_low"], accuracy["bound_high"]) == (0.25, 0.75)
    assert document["baselines"]["random"] == {
        "n": 2, "estimate": 0.25, "lower": None, "upper": None,
    }  # fmt: skip
    assert document["baselines"]["longest_option"]["n"] == 2
    assert list(document["by_category"]) == ["history", "news"]
    assert document["by_category"]["news"]["estimate"] is None
    assert document["by_basis"]["retrieved passages"]["questions"] == 3
    assert document["by_parse"]["text"]["questions"] == 3
    assert document["by_tag"]["invented"]["correct"] == 1
    assert list(document["degradations"].items()) == [("page_failed", 2), ("context_cut", 1)]
    assert document["stages"]["fetch"] == {
        "n": 1, "median_s": 1.0, "p90_s": 1.0, "max_s": 1.0, "source": "recorded network",
    }  # fmt: skip
    assert document["time"]["over_budget"] == 1
    assert document["time"]["over_allowed"] == 0


@given(st.lists(st.sampled_from(["right", "failed", "open", "unknown"]), max_size=6))
def test_the_document_is_strict_json(make_row, kinds):
    document = summary_document([make_row(kind=kind) for kind in kinds])
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_columns_are_those_of_the_result_table(make_row):
    row = make_row()
    assert sorted(row) == sorted(column.name for column in COLUMNS)
    rows = [row, make_row(kind="failed", t_fetch_s=0.25)]
    ordered = [{column.name: row[column.name] for column in COLUMNS} for row in rows]
    assert summary_document(to_frame(ordered)) == summary_document(rows)


def test_scoring_loads_no_heavy_library():
    code = (
        "import sys, harness.scoring\n"
        "heavy = {'polars', 'numpy', 'scipy', 'rich', 'onnxruntime', 'faiss', 'xllamacpp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_row_without_its_columns_is_an_error(make_row):
    row = make_row()
    del row["gold_kind"]
    with pytest.raises(BadInputError, match="gold_kind"):
        summary_document([row])
