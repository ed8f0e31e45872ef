"""Which rows belong together, which do not, and who knows the truth."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest

from harness.scoring.pairing import Pairing, pair_runs
from harness.scoring.run_table import table_of_rows


@pytest.fixture
def paired(runs: ModuleType) -> Any:
    def pair(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Pairing:
        return pair_runs(table_of_rows(a, "A"), table_of_rows(b, "B"))

    return pair


def ids(pairing: Pairing) -> list[tuple[str, str]]:
    return pairing.pairs.select("question_id_a", "question_id_b").rows()


def reasons(frame: Any) -> dict[str, str]:
    return dict(frame.select("question_id", "reason").rows())


def test_the_same_questions_pair_by_text_whatever_order_they_come_in(paired, runs):
    a = runs.rows("RWF?")
    b = [{**row, "options": row["options"][::-1]} for row in runs.rows("WWRR")]
    random.Random(3).shuffle(b)
    found = paired(a, b)
    assert ids(found) == [(f"q00{n}", f"q00{n}") for n in range(4)]
    assert found.only_a.height == found.only_b.height == 0
    assert found.clustered == ""


def test_renumbered_questions_still_pair(paired, runs):
    b = [{**row, "question_id": f"new-{row['question_id']}"} for row in runs.rows("RW")]
    assert ids(paired(runs.rows("RW"), b)) == [("q000", "new-q000"), ("q001", "new-q001")]


def test_an_id_that_names_another_question_is_no_pair(paired, runs):
    b = [runs.row(0), runs.row(1, question_key="another text")]
    found = paired(runs.rows("RR"), b)
    assert ids(found) == [("q000", "q000")]
    told = {"q001": "another question has this id there"}
    assert reasons(found.only_a) == reasons(found.only_b) == told


def test_other_options_make_another_question(paired, runs):
    b = [runs.row(0), runs.row(1, options=["red", "blue", "green", "pink"])]
    found = paired(runs.rows("RR"), b)
    assert ids(found) == [("q000", "q000")]
    assert reasons(found.only_a) == {"q001": "asked there with other options"}


def test_what_only_one_run_has_is_listed(paired, runs):
    found = paired(runs.rows("RR-R"), runs.rows("R-RR"))
    assert ids(found) == [("q000", "q000"), ("q003", "q003")]
    assert reasons(found.only_a) == {"q001": "not in the other run"}
    assert reasons(found.only_b) == {"q002": "not in the other run"}


def test_a_question_asked_twice_pairs_by_id_and_makes_a_cluster(paired, runs):
    twice = [runs.row(0), runs.row(1, question_key="key-000"), runs.row(2)]
    found = paired(twice, twice)
    assert ids(found) == [("q000", "q000"), ("q001", "q001"), ("q002", "q002")]
    assert found.clustered == "repeated question"
    assert found.pairs["cluster"].n_unique() == 2


def test_of_several_alike_none_is_guessed_at(paired, runs):
    a = [runs.row(0), runs.row(1, question_key="key-000")]
    b = [{**row, "question_id": f"new-{row['question_id']}"} for row in a]
    found = paired(a, b)
    assert found.pairs.height == 0
    assert set(reasons(found.only_a).values()) == {"asked more than once, under other ids"}


def test_games_are_clusters_where_rows_name_them(paired, runs):
    a = [{**runs.row(n), "game": "g1" if n < 2 else None} for n in range(4)]
    found = paired(a, runs.rows("RRRR"))
    assert found.clustered == "game"
    assert found.pairs["cluster"].n_unique() == 3  # one game, and two questions of their own


def verdicts(pairing: Pairing) -> list[tuple[Any, ...]]:
    return pairing.pairs.select("truth", "right_a", "right_b").rows()


def known(runs: ModuleType, gold: str | None, answer: str | None, *refused: str) -> dict[str, Any]:
    kind = "known" if gold else "partial" if refused else "unknown"
    return runs.row(
        0, gold_kind=kind, gold_text=gold, answer_text=answer, refused=list(refused), correct=None
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # What either run knows judges both answers.
        (("red", "red"), (None, "red"), ("known", True, True)),
        ((None, "blue"), ("red", "red"), ("known", False, True)),
        (("red", None), ("red", "red"), ("known", False, True)),
        # Truth that is not known: refused answers and no answer are wrong, the rest is open.
        ((None, "red"), (None, "blue", "blue"), ("open", None, False)),
        ((None, "blue"), (None, "red", "blue"), ("open", False, None)),
        ((None, None), (None, "red"), ("open", False, None)),
        # Truths that contradict each other judge nothing.
        (("red", "red"), ("blue", "blue"), ("two truths", None, None)),
        (("red", "red"), (None, "green", "red"), ("two truths", None, None)),
        ((None, "green", "red"), ("red", "red"), ("two truths", None, None)),
        (("red", None), ("blue", "blue"), ("two truths", False, None)),
    ],
)
def test_truth(paired, runs, a, b, expected):
    assert verdicts(paired([known(runs, *a)], [known(runs, *b)])) == [expected]


def test_runs_without_a_row_pair_to_nothing(paired, runs):
    found = paired([], runs.rows("RW"))
    assert found.pairs.height == 0
    assert found.only_b.height == 2
    assert paired([], []).pairs.height == 0


def test_option_texts_are_not_run_together(paired, runs):
    a = [runs.row(0, options=["red", "a", "b c", "d"])]
    b = [runs.row(0, options=["red", "a b", "c", "d"])]
    assert paired(a, b).pairs.height == 0
