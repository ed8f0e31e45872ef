"""Question files: JSON Lines, one question a line.

A line is an object with these fields; unknown ones are tolerated, with a
warning where one is spelt like a field that is missing:

====================  ===================================================
``question``          the stem
``options``           2 to 8 texts, or objects ``{"id": 3, "text": "…"}``
``category``          one of the six, aliases of the server included
``answer``            optional: the text of the right option
``refused``           optional: texts that were judged wrong
``id``, ``level``     optional: a name (unique in the file), a whole number from 1
``tags``              optional: free labels
====================  ===================================================

One bad line never spoils the rest: it is reported with its number, and every
other line stays usable.  Files are append-only records of games as well, so
the same question may come twice; what the lines know of its answer is merged.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from harness._question_line import (
    bad,
    check_consistent,
    dump_question,
    identity,
    parse_line,
    parse_question,
    shown,
)
from harness.errors import QuestionFileError
from harness.quiz import Question

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "LineProblem",
    "LoadedQuestions",
    "append_lines",
    "dump_question",
    "load_questions",
    "parse_question",
    "questions_digest",
]

MAX_LINE_BYTES = 64 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineProblem:
    """Something wrong with one line of a question file.

    ``line`` counts from 1.  A ``warning`` concerns a line whose question was
    kept; any other problem means that the line gave no question.
    """

    path: str
    line: int
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class LoadedQuestions:
    """The usable questions of a file, in its order, and what was wrong with the rest.

    ``merged`` counts lines that repeated an earlier question and only added
    to what is known of its answer.
    """

    questions: tuple[Question, ...]
    problems: tuple[LineProblem, ...] = ()
    merged: int = 0


def load_questions(path: Path) -> LoadedQuestions:
    """Read a question file.

    Raises :class:`~harness.errors.QuestionFileError` when the file can't be
    read, is larger than ``MAX_FILE_BYTES`` or holds no usable question.
    """
    collector = _Collector(str(path))
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise QuestionFileError(
                f"{path} is larger than {MAX_FILE_BYTES // 2**20} MB.",
                remedy="A question file holds one question a line; is this one?",
            )
        with path.open("rb") as file:
            for number, line in _lines(file):
                collector.take(number, line)
    except OSError as error:
        raise QuestionFileError(
            f"Can't read the question file {path}: {error.strerror or error}.",
            remedy="Check the path.",
        ) from None
    return collector.finish()


def append_lines(path: Path, data: bytes) -> None:
    """Add whole lines to the end of a file: all of ``data`` on the disk, or nothing.

    A line that a crash left unended is ended first.  Raises ``OSError``, with
    the file as it was, and :class:`~harness.errors.QuestionFileError` when it
    would grow larger than a question file may be.
    """
    # Unbuffered: a buffer would be written again on closing, after the cut below.
    with path.open("a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            data = data if file.read(1) == b"\n" else b"\n" + data
        if size + len(data) > MAX_FILE_BYTES:
            raise QuestionFileError(
                f"{path} would become larger than {MAX_FILE_BYTES // 2**20} MB.",
                remedy="Use another file.",
            )
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        except BaseException:
            os.ftruncate(file.fileno(), size)
            raise


def questions_digest(questions: Iterable[Question]) -> str:
    """Return ``sha256:…`` over a set of questions.

    Key material: every field of every question, as :func:`dump_question`
    writes it.  Left out: the order of the questions, because results do not
    depend on it.
    """
    lines = sorted(dump_question(question) for question in questions)
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield (line number, bytes without line end); ``None`` for an over-long line."""
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 2):
        number += 1
        line: bytes | None = raw.rstrip(b"\r\n")
        while not raw.endswith(b"\n") and (raw := file.readline(MAX_LINE_BYTES)):
            line = None
        if line is not None and len(line) > MAX_LINE_BYTES:
            line = None
        yield number, line.removeprefix(_BOM) if line is not None and number == 1 else line


class _Collector:
    """Gathers lines into questions, merging repeats and noting problems."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[LineProblem] = []
        self.questions: list[Question] = []
        self.line_of: list[int] = []
        self.by_identity: dict[str, int] = {}
        self.by_id: dict[str, int] = {}
        self.merged = 0

    def take(self, number: int, line: bytes | None) -> None:
        if line is None:
            self._report(number, f"The line is longer than {MAX_LINE_BYTES // 1024} KB.")
            return
        if not line.strip():
            return
        try:
            question, doubts = parse_line(line)
            self._place(number, question)
        except QuestionFileError as error:
            self._report(number, error.message)
            return
        for doubt in doubts:
            self._report(number, doubt, warning=True)

    def finish(self) -> LoadedQuestions:
        if not self.questions:
            first = self.problems[0] if self.problems else None
            raise QuestionFileError(
                f"{self.path} holds no usable question."
                + (f" Line {first.line}: {first.message}" if first else ""),
                remedy='A line looks like {"category": "news", "question": "…", '
                '"options": ["…", "…"], "answer": "…"}.',
            )
        return LoadedQuestions(tuple(self.questions), tuple(self.problems), self.merged)

    def _report(self, number: int, message: str, *, warning: bool = False) -> None:
        self.problems.append(LineProblem(self.path, number, message, warning))

    def _place(self, number: int, question: Question) -> None:
        same = identity(question)
        if same in self.by_identity:
            self._merge(self.by_identity[same], question)
            return
        if question.id in self.by_id:
            first = self.line_of[self.by_id[question.id]]
            raise bad(f"the id {shown(question.id)} is already that of line {first}")
        place = len(self.questions)
        self.by_identity[same] = place
        self.by_id[question.id] = place
        self.questions.append(question)
        self.line_of.append(number)
        texts = [option.text for option in question.options]
        if len(set(texts)) < len(texts):
            twin = next(text for text in texts if texts.count(text) > 1)
            self._report(
                number, f"Two options are identical: {shown(twin)}; question kept.", warning=True
            )

    def _merge(self, place: int, later: Question) -> None:
        """Unite what two lines know of one question: known wins, refused add up."""
        kept = self.questions[place]
        gold = kept.gold.united(later.gold)
        if later.gold.answer not in (None, gold.answer):
            raise bad(
                f"the answer {shown(later.gold.answer)} contradicts {shown(kept.gold.answer)} "
                f"in line {self.line_of[place]}, for the same question"
            )
        try:
            check_consistent(gold.answer, gold.refused, [option.text for option in kept.options])
        except QuestionFileError as error:
            raise bad(
                f"together with line {self.line_of[place]}, for the same question, "
                f"{error.message[0].lower()}{error.message[1:-1]}"
            ) from None
        tags = tuple(dict.fromkeys(kept.tags + later.tags))
        self.questions[place] = replace(kept, gold=gold, tags=tags)
        self.merged += 1
