from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.clock import VirtualClock
from harness.errors import BadInputError
from harness.quiz import Answer, Basis, Category, Gold, Option, ParseStep, Question
from harness.replay.digest import canonical_json, results_digest
from harness.replay.rows import COLUMNS, check_row, make_row, schema, to_frame
from harness.trace import STAGES, Code, Trace

OPTIONS = (Option(3, "Anna"), Option(5, "Bert"))


def question(name: str = "q1", gold: Gold = Gold("Bert"), **more) -> Question:  # noqa: B008
    return Question(name, Category.NEWS, "Who won?", OPTIONS, gold, **more)


def full_trace() -> Trace:
    clock = VirtualClock()
    trace = Trace(clock=clock)
    trace.network("search", 1.25, recorded=True)
    trace.network("fetch", 2.5, recorded=True)
    trace.network("fetch", 0.5, recorded=False)
    for _ in range(2):
        with trace.stage("encode"):
            clock.advance(0.125)
    with trace.stage("generate"):
        clock.advance(4)
    trace.degrade("fetch", Code.PAGE_FAILED, "x")
    trace.degrade("fetch", Code.PAGE_FAILED, "y")
    trace.degrade("search", Code.NO_RESULTS)
    trace.note(
        hits=[1, 2, 3], documents=2, passages=(1,), prompt_tokens=400, output="ANSWER: 5 Bert"
    )
    return trace


def answered(name: str = "q1", gold: Gold = Gold("Bert"), place: int = 1) -> dict:  # noqa: B008
    answer = Answer(OPTIONS[place], Basis.PASSAGES, ParseStep.TEXT)
    return make_row(question(name, gold, level=4, tags=("invented",)), answer, full_trace())


def test_the_whole_row():
    row = answered()
    assert row == {
        "question_id": "q1",
        "question_key": question().key,
        "category": "news",
        "level": 4,
        "tags": ["invented"],
        "options": ["Anna", "Bert"],
        "option_ids": [3, 5],
        "gold_kind": "known",
        "gold_text": "Bert",
        "refused": [],
        "status": "answered",
        "answer_id": 5,
        "answer_text": "Bert",
        "correct": True,
        "basis": "retrieved passages",
        "parsed_by": "text",
        "degradations": ["no_results", "page_failed"],
        "hits": 3,
        "documents": 2,
        "passages": 1,
        "context_tokens": None,
        "prompt_tokens": 400,
        "output_tokens": None,
        "output": "ANSWER: 5 Bert",
        "t_search_s": 1.25,
        "t_lookup_s": None,
        "t_fetch_s": 3.0,
        "t_extract_s": None,
        "t_chunk_s": None,
        "t_encode_s": 0.25,
        "t_rerank_s": None,
        "t_prompt_s": None,
        "t_generate_s": 4.0,
        "t_parse_s": None,
        "t_network_recorded_s": 3.75,
        "t_network_live_s": 0.5,
        "t_compute_s": 4.25,
        "t_total_s": 8.5,
    }
    assert list(row) == [column.name for column in COLUMNS]
    assert {f"t_{stage}_s" for stage in STAGES} < set(row)


@pytest.mark.parametrize(
    ("gold", "place", "correct"),
    [
        (Gold("Bert"), 0, False),
        (Gold(refused=("Bert",)), 1, False),
        (Gold(refused=("Bert",)), 0, None),
        (Gold(), 0, None),
    ],
)
def test_correct_is_null_where_gold_cannot_tell(gold, place, correct):
    assert answered(gold=gold, place=place)["correct"] is correct


def test_a_failed_question_over_known_gold_stays_in_the_denominator():
    row = make_row(question(), None, Trace())
    assert (row["status"], row["correct"], row["basis"]) == ("failed", False, "failed")
    assert (row["answer_id"], row["answer_text"], row["parsed_by"]) == (None, None, None)
    assert make_row(question(gold=Gold()), None, Trace())["correct"] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hits", "3"),
        ("hits", True),
        ("hits", 3.0),
        ("output", 3),
        ("output", "\ud800"),
        ("tags", "a"),
        ("option_ids", ["1"]),
        ("correct", 1),
        ("category", None),
        ("t_total_s", None),
    ],
)
def test_a_value_outside_the_schema_is_refused(name, value):
    with pytest.raises(BadInputError, match=f"'{name}'"):
        check_row({**answered(), name: value})


def test_missing_and_extra_columns_are_refused():
    row = answered()
    with pytest.raises(BadInputError, match="extra"):
        check_row({**row, "extra": 1})
    row.pop("hits")
    with pytest.raises(BadInputError, match="hits"):
        check_row(row)


def test_the_table_is_sorted_and_round_trips(tmp_path):
    failed = make_row(question("q0"), None, Trace())
    rows = [answered("q2"), failed, answered("q10")]
    frame = to_frame(rows)
    assert frame.schema == schema()
    assert frame["question_id"].to_list() == ["q0", "q10", "q2"]
    frame.write_parquet(tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").to_dicts() == [failed, rows[2], rows[0]]


def test_a_table_of_failures_only_keeps_its_types():
    assert to_frame([make_row(question(), None, Trace())]).schema == schema()
    assert to_frame([]).schema == schema()


@given(st.permutations(["q1", "q2", "q3"]), st.floats(0, 100))
def test_the_digest_ignores_order_and_time(order, seconds):
    rows = [{**answered(name), "t_total_s": seconds} for name in order]
    assert results_digest(rows) == results_digest([answered(n) for n in ("q1", "q2", "q3")])


@pytest.mark.parametrize("column", [c for c in COLUMNS if not c.is_time], ids=lambda c: c.name)
def test_the_digest_covers_every_other_column(column):
    changed = {
        "text": "another",
        "int": 77,
        "bool": False,
        "texts": ["another"],
        "ints": [77],
    }[column.kind]
    row = answered()
    assert row[column.name] != changed
    assert results_digest([{**row, column.name: changed}]) != results_digest([row])


def test_the_digest_is_the_documented_one():
    rows = [
        {"question_id": "b", "t_x_s": 1.0, "n": None},
        {"question_id": "a", "output": "ü", "n": 1},
    ]
    import hashlib

    text = '[{"n":1,"output":"ü","question_id":"a"},{"n":null,"question_id":"b"}]'
    assert results_digest(rows) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_the_digest_ignores_the_order_of_keys_but_not_of_lists():
    row = answered()
    items = list(row.items())
    random.Random(1).shuffle(items)
    assert results_digest([dict(items)]) == results_digest([row])
    assert results_digest([{**row, "options": ["Bert", "Anna"]}]) != results_digest([row])


def test_canonical_json_refuses_nan():
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
