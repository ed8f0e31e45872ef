"""What games teach: each asked question is added to a question file, whole lines only.

A question is the same when its category, normalised stem and set of option
texts are.  The server's ids are not used, since pools are renumbered; the same
stem with other distractors is a question of its own.  The first serving's
option order stays, as :func:`~harness.question_file.load_questions` keeps the
first line and merges what later ones know.  A verdict that contradicts an
earlier one is written too, and reported: reading the file names its line and
keeps the older verdict.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import QuestionFileError
from harness.question_file import (
    MAX_LINE_BYTES,
    append_lines,
    dump_question,
    load_questions,
    parse_question,
)
from harness.quiz import Gold, Question

__all__ = ["LearnedQuestions", "Noted", "UnkeepableError", "question_name"]


class UnkeepableError(QuestionFileError):
    """A question that no line of a question file can hold: an empty option, nine options."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What became of one question: its line as written, and any contradiction in words."""

    question: Question
    contradiction: str | None = None


class LearnedQuestions:
    """A question file that games add to; one writer at a time.

    Raises :class:`~harness.errors.QuestionFileError` when the file that is
    there can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Question] = {}
        if path.exists() and path.stat().st_size:
            try:
                questions = load_questions(path).questions
            except QuestionFileError:
                if not _is_cut_line(path):
                    raise
                questions = ()
            for question in questions:
                self._known[question_name(question)] = question

    def as_known(self, question: Question) -> Question:
        """Return ``question`` as the file has it, id and order of options included.

        A replay asks it so; one that the file does not have comes back as it is.
        """
        return self._known.get(question_name(question), question)

    def note(self, question: Question, chosen: str | None, correct: bool | None) -> Noted:
        """Add ``question`` with the verdict on the option text ``chosen``.

        ``correct`` is ``None`` for a late answer, which teaches nothing.
        Nothing is written for what the file says already; else the line is on
        the disk when this returns.  Raises :class:`UnkeepableError` for a
        question that could not be read back, and
        :class:`~harness.errors.QuestionFileError` when it can't be written;
        the file is then what it was.
        """
        gold = Gold()
        if chosen is not None and correct is not None:
            gold = Gold(answer=chosen) if correct else Gold(refused=(chosen,))
        name = question_name(question)
        line = replace(question, id=name, gold=gold)
        known = self._known.get(name)
        old = known.gold if known else Gold()
        against = _contradiction(old, line)
        if known and against is None and old.united(gold) == old:
            return Noted(known)
        data = dump_question(line).encode("utf-8", "backslashreplace")
        try:
            parse_question(data)
        except QuestionFileError as error:
            raise UnkeepableError(
                f"'{question.text[:80]}' can't be kept: {error.message.rstrip('.')}."
            ) from None
        try:
            append_lines(self.path, data + b"\n")
        except OSError as error:
            raise QuestionFileError(
                f"Can't write {self.path}: {error.strerror or error}.",
                remedy="What was in it before is unchanged.",
            ) from None
        now = old if against else old.united(gold)
        self._known[name] = replace(known or line, gold=now)
        return Noted(line, against)


def question_name(question: Question) -> str:
    """Return a question's name in the file: of its key and its set of option texts."""
    texts = sorted(option.text for option in question.options)
    material = "\n".join([question.key, *(f"{len(text)}:{text}" for text in texts)])
    return f"g-{hashlib.sha256(material.encode()).hexdigest()[:16]}"


def _contradiction(old: Gold, line: Question) -> str | None:
    new = line.gold
    if new.answer is not None and old.answer not in (None, new.answer):
        return f"'{new.answer}' was judged right, and '{old.answer}' was before."
    if new.answer is not None and new.answer in old.refused:
        return f"'{new.answer}' was judged right, and wrong before."
    if old.answer is not None and old.answer in new.refused:
        return f"'{old.answer}' was judged wrong, and right before."
    if set(old.refused + new.refused) >= {option.text for option in line.options}:
        return "Every option has now been judged wrong."
    return None


def _is_cut_line(path: Path) -> bool:
    """Whether the file is only the start of a first line, as a crash leaves it."""
    with path.open("rb") as file:
        head = file.read(MAX_LINE_BYTES + 1)
    return len(head) <= MAX_LINE_BYTES and head.startswith(b"{") and b"\n" not in head
