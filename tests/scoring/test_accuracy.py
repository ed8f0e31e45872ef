from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.scoring import score, wilson

KINDS = st.lists(
    st.sampled_from(["right", "wrong", "failed", "refused", "open", "unknown", "failed unknown"]),
    max_size=25,
)


def test_known_partial_and_unknown_gold_are_told_apart(make_row, kinds):
    overall = score([make_row(kind=kind) for kind in kinds]).overall
    assert overall.questions == 7
    assert overall.known == 3  # right, wrong, failed
    assert overall.correct == 1
    assert overall.estimate == pytest.approx(1 / 3)
    assert (overall.lower, overall.upper) == (wilson(1, 3).lower, wilson(1, 3).upper)
    assert overall.failed == 2
    # Low: only what is known to be right.  High: the two answers that gold can't
    # judge too; not the refused one, and not the question without an answer.
    assert overall.bound_low == pytest.approx(1 / 7)
    assert overall.bound_high == pytest.approx(3 / 7)


def test_a_failed_question_over_known_gold_stays_in_the_denominator(make_row):
    overall = score([make_row(), make_row(kind="failed")]).overall
    assert (overall.known, overall.correct, overall.failed) == (2, 1, 1)
    assert overall.estimate == 0.5


def test_nothing_unknown_counts_as_wrong(make_row):
    overall = score([make_row(kind="unknown"), make_row()]).overall
    assert overall.estimate == 1.0
    assert (overall.bound_low, overall.bound_high) == (0.5, 1.0)


def test_no_known_gold_gives_no_estimate(make_row):
    overall = score([make_row(kind="open")]).overall
    assert overall.estimate is None
    assert (overall.lower, overall.upper) == (0.0, 1.0)
    assert (overall.bound_low, overall.bound_high) == (0.0, 1.0)


def test_no_rows_at_all():
    scored = score([])
    assert scored.overall.estimate is None
    assert (scored.overall.questions, scored.missing) == (0, 0)
    assert (scored.overall.bound_low, scored.overall.bound_high) == (0.0, 1.0)
    assert scored.by_category == {}


def test_questions_without_a_row_are_missing_and_widen_the_bounds(make_row):
    scored = score([make_row(), make_row(kind="wrong")], expected=5)
    assert scored.missing == 3
    assert scored.overall.questions == 5
    assert scored.overall.known == 2
    assert (scored.overall.bound_low, scored.overall.bound_high) == (0.2, 0.8)


def test_more_rows_than_questions_are_refused(make_row):
    with pytest.raises(BadInputError, match="2 result rows for 1 questions"):
        score([make_row(), make_row()], expected=1)


def test_a_question_with_two_rows_is_refused(make_row):
    row = make_row(question_id="q-twice")
    with pytest.raises(BadInputError, match="q-twice"):
        score([row, make_row(), row])


def test_groups(make_row):
    scored = score(
        [
            make_row(category="news", tags=["invented", "dated", "dated"]),
            make_row(category="history", kind="wrong", tags=["invented"], parsed_by="logprob",
                     basis="parser fallback"),
            make_row(category="history", kind="failed"),
            make_row(category="zoology", parsed_by=None, basis="solver"),
        ]
    )  # fmt: skip
    assert list(scored.by_category) == [
        "history",
        "news",
        "zoology",
    ]  # the quiz's order, then names
    assert (scored.by_category["history"].known, scored.by_category["history"].correct) == (2, 0)
    assert list(scored.by_basis) == ["retrieved passages", "solver", "parser fallback", "failed"]
    assert list(scored.by_parse_step) == ["text", "logprob", "not parsed"]
    assert list(scored.by_tag) == ["dated", "invented"]
    assert scored.by_tag["invented"].questions == 2
    assert scored.by_tag["dated"].questions == 1
    for groups in (scored.by_category, scored.by_basis, scored.by_parse_step):
        assert sum(group.questions for group in groups.values()) == 4


def test_a_frame_scores_like_its_rows(make_row, kinds):
    rows = [make_row(kind=kind) for kind in kinds]
    assert score(pl.DataFrame(rows)) == score(rows)
    assert score(iter(rows)) == score(rows)


@given(KINDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(make_row, kinds, dice: random.Random):
    rows = [make_row(kind=kind, category=dice.choice(["news", "maths"])) for kind in kinds]
    shuffled = dice.sample(rows, len(rows))
    assert score(shuffled) == score(rows)


@given(KINDS, st.integers(0, 5), st.data())
def test_the_bounds_hold_every_possible_truth(make_row, kinds, missing, data):
    rows = [make_row(kind=kind) for kind in kinds]
    found = score(rows, expected=len(rows) + missing).overall
    right = found.correct
    for kind in [*kinds, *["missing"] * missing]:
        if kind in ("open", "unknown", "missing"):
            right += data.draw(st.booleans())
    total = len(rows) + missing
    assert 0 <= found.bound_low <= found.bound_high <= 1
    if total:
        assert found.bound_low <= right / total <= found.bound_high
    if found.estimate is not None:
        assert found.lower <= found.estimate <= found.upper
        assert found.bound_low <= found.estimate


@given(KINDS)
def test_one_more_right_answer_raises_everything(make_row, kinds):
    rows = [make_row(kind=kind) for kind in kinds]
    before = score([*rows, make_row(kind="wrong")]).overall
    after = score([*rows, make_row(kind="right")]).overall
    assert after.estimate > before.estimate
    assert after.lower > before.lower
    assert after.upper > before.upper
    assert after.bound_low > before.bound_low
    assert after.bound_high > before.bound_high


@given(KINDS)
def test_bounds_meet_the_estimate_where_all_gold_is_known(make_row, kinds):
    rows = [make_row(kind=kind) for kind in kinds if kind in ("right", "wrong", "failed")]
    found = score(rows).overall
    if rows:
        assert found.bound_low == found.estimate == found.bound_high
