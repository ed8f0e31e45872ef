"""The sentences: what they say, and that they never say more than the numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scoring.compare import Comparison, Design, compare_all, compare_runs
from harness.scoring.run_table import table_of_rows
from harness.scoring.verdict import caveats, points, verdict


@pytest.fixture
def compared(runs) -> Any:
    def give(a: Any, b: Any, manifests: Any = ({}, {}), **options: Any) -> Comparison:
        sides = [runs.rows(side) if isinstance(side, str) else side for side in (a, b)]
        tables = [
            table_of_rows(side, "x", manifest)
            for side, manifest in zip(sides, manifests, strict=True)
        ]
        return compare_runs(*tables, **options)

    return give


def test_a_difference_that_is_shown(compared):
    assert verdict(compared("RWWW" * 20, "RRRW" * 20)) == (
        "B answers more of such questions right than A: B got 60 and A 20 of the same 80 "
        "questions, +50.0 points (95 % interval +39.3 to +60.7; p < 0.001)."
    )
    worse = verdict(compared("RRRW" * 20, "RWWW" * 20, design=Design(margin=0.05)))
    assert worse.startswith("B answers fewer of such questions right than A")
    assert worse.endswith("The loss is more than the 5 points that would be put up with.")


def test_a_difference_that_is_not_shown(compared):
    a, b = "RRWW" * 21 + "RW", "RRWR" + "RRWW" * 20 + "WR"
    assert verdict(compared(a, b)) == (
        "No difference was shown: B got 44 and A 43 of the same 86 questions, +1.2 points "
        "(95 % interval -4.3 to +7.1; p = 0.625). With these 86 questions a true change smaller "
        "than 8.9 points would go unnoticed in at least one comparison of five. "
        "A loss of more than 2 points is not excluded."
    )


def test_one_question(compared):
    said = verdict(compared("W", "R"))
    assert said.startswith("No difference was shown: B got 1 and A 0 of the same 1 question,")
    assert "1 question can't show any difference, however large." in said


def test_same_answers_and_same_digests(compared):
    alike = verdict(compared("RW" * 20, "RW" * 20))
    assert alike.startswith("A and B gave the same answer to every question that they share. With")
    same = verdict(compared("RW", "RW", ({"digest": "sha256:1"}, {"digest": "sha256:1"})))
    assert same == "A and B are the same: their results digests agree, so every answer does."


def test_nothing_to_go_by(compared):
    assert verdict(compared("", "R")) == (
        "Nothing can be said: A and B have no question in common."
    )
    assert verdict(compared("??", "??")) == (
        "Nothing can be said about right and wrong: the right answer is known for none of the "
        "2 questions that A and B share."
    )


def test_after_holm_it_is_said(runs):
    tables = [table_of_rows(runs.rows(p), "x") for p in ("RW" * 9, "RR" * 9, "WW" * 9)]
    assert all(" after Holm)" in verdict(found) for found in compare_all(tables))


def test_caveats(compared, runs):
    a = [*runs.rows("RRR-"), runs.row(5), runs.row(6, "?")]
    b = [*runs.rows("RR-RR"), runs.row(5, gold_text="blue"), runs.row(6, "?", answer_text="blue")]
    manifests = (
        {"corpus": {"digest": "1"}, "machine": {"cpu": "x"}, "questions": {"n": 9}},
        {"corpus": {"digest": "2"}, "machine": {"cpu": "y"}},
    )
    assert caveats(compared(a, b, manifests)) == [
        "1 question left out of the test: the two runs hold different truths for the same "
        "question.",
        "Over all 4 questions the difference lies between -25.0 and +25.0 points, whatever the "
        "truth of the 2 that are not in the test.",
        "1 question of A without a partner, in no number here.",
        "2 questions of B without a partner, in no number here.",
        "4 questions that A was to play have no row.",
        "The recordings differ, so a difference may be theirs and not the agent's.",
        "The machines differ, so a ratio of seconds may be theirs and not the agent's.",
    ]
    assert caveats(compared("RW", "RR")) == []
    games = [{**row, "game": f"g{n // 2}"} for n, row in enumerate(runs.rows("RWRW"))]
    assert caveats(compared(games, "RRRR")) == [
        "The 4 questions come from 2 games: those of one are counted as belonging together."
    ]


@pytest.mark.parametrize(
    ("share", "text"), [(0.023, "+2.3"), (-0.023, "-2.3"), (0.0, "0.0"), (-0.0001, "0.0")]
)
def test_points(share: float, text: str):
    assert points(share) == text
    assert points(abs(share), signed=False) == text.lstrip("+-")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("RWF?"), st.sampled_from("RWF?")), max_size=40))
def test_it_never_claims_more_than_test_and_interval(runs, pairs):
    sides = ["".join(pair[side] for pair in pairs) for side in (0, 1)]
    found = compare_runs(*(table_of_rows(runs.rows(side), "x") for side in sides))
    said = verdict(found)
    if " more of such questions" in said or " fewer of such questions" in said:
        assert found.overall.p <= 0.05
        assert found.overall.lower > 0 or found.overall.upper < 0
    else:
        assert "No difference was shown" in said or "Nothing can" in said or "same answer" in said
    if "2 points is excluded" in said:
        assert found.overall.lower > -0.02
