"""What games teach, in a question file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import QuestionFileError
from harness.games.learned import LearnedQuestions
from harness.question_file import load_questions
from harness.quiz import Category, Gold, Option, Question


def asked(*texts: str, id: str = "7") -> Question:
    options = tuple(Option(place, text) for place, text in enumerate(texts))
    return Question(id, Category.NEWS, "Which colour?", options)


def test_verdicts_of_several_games_add_up_whatever_the_id_and_order(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    LearnedQuestions(path).note(asked("red", "blue", "green"), "red", False)
    LearnedQuestions(path).note(asked("green", "red", "blue", id="91"), "blue", True)
    LearnedQuestions(path).note(asked("green", "red", "blue", id="92"), "green", None)
    loaded = load_questions(path)
    assert loaded.problems == ()
    assert [q.gold for q in loaded.questions] == [Gold("blue", ("red",))]
    assert [o.text for o in loaded.questions[0].options] == ["red", "blue", "green"]


def test_other_distractors_under_a_reused_id_are_another_question(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    book = LearnedQuestions(path)
    book.note(asked("red", "blue"), "red", True)
    book.note(asked("red", "pink"), "pink", False)
    loaded = load_questions(path)
    assert loaded.problems == ()
    assert [q.gold for q in loaded.questions] == [Gold("red"), Gold(None, ("pink",))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("red", True), ("blue", True)),
        (("red", True), ("red", False)),
        (("red", False), ("red", True)),
        (("red", False), ("blue", False)),
    ],
)
def test_contradictions_are_reported_by_writer_and_reader(
    tmp_path: Path, first: tuple[str, bool], second: tuple[str, bool]
) -> None:
    path = tmp_path / "questions.jsonl"
    assert LearnedQuestions(path).note(asked("red", "blue"), *first).contradiction is None
    assert LearnedQuestions(path).note(asked("red", "blue"), *second).contradiction
    loaded = load_questions(path)
    assert [problem.line for problem in loaded.problems] == [2]
    assert loaded.questions[0].judge(first[0]) is first[1]


def test_a_line_cut_by_a_crash_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    LearnedQuestions(path).note(asked("red", "blue"), "red", True)
    with path.open("ab") as file:
        file.write(b'{"question": "Wh')
    LearnedQuestions(path).note(asked("red", "pink"), "red", True)
    loaded = load_questions(path)
    assert len(loaded.questions) == 2
    assert [problem.line for problem in loaded.problems] == [2]


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "questions.jsonl"
    book = LearnedQuestions(path)
    book.note(asked("red", "blue"), "red", True)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(QuestionFileError, match="No space left"):
        book.note(asked("red", "pink"), "red", True)
    assert path.read_bytes() == before


def test_a_crash_in_the_first_line_does_not_stop_later_games(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'{"question": "Wh')
    LearnedQuestions(path).note(asked("red", "blue"), "red", True)
    assert [q.gold for q in load_questions(path).questions] == [Gold("red")]
