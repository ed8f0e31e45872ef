"""The formats, how one is recognised, and the reading of a whole file."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.errors import BadInputError, nearest_name
from harness.importers._collect import Collector, Problem
from harness.importers._csv import find_columns, find_delimiter, read_bank, read_mmlu
from harness.importers._items import Items
from harness.importers._jsonl import read_jsonl
from harness.importers._opentdb import read_opentdb
from harness.importers._opentriviaqa import read_opentriviaqa
from harness.importers._text import clean_text, decode
from harness.quiz import Category, Question

__all__ = ["FORMATS", "ImportedQuestions", "guess_format", "read_questions"]

MAX_INPUT_BYTES = 256 * 2**20
_HEAD_BYTES = 64 * 1024

Reader = Callable[[BinaryIO, str], Items]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file."""

    title: str
    read: Reader


FORMATS: dict[str, Format] = {
    "opentdb": Format("Open Trivia DB JSON", read_opentdb),
    "opentriviaqa": Format("OpenTriviaQA text", read_opentriviaqa),
    "mmlu": Format("MMLU-style CSV without a header", read_mmlu),
    "bank": Format("question-bank CSV with a header", read_bank),
    "hotseat": Format("Hotseat's JSON Lines", read_jsonl),
}


@dataclass(frozen=True, slots=True)
class ImportedQuestions:
    """What a file gave: the questions to store, and what was not taken.

    ``read`` counts everything that looked like a question; ``refused`` counts
    by reason; ``examples`` are the first few of each; ``notes`` and
    ``unknown_topics`` count.
    """

    format: str
    questions: tuple[Question, ...]
    read: int
    refused: dict[str, int]
    examples: tuple[Problem, ...]
    notes: dict[str, int]
    unknown_topics: dict[str, int]


def guess_format(head: bytes, name: str) -> str:
    """Return the format that a file's first bytes look like.

    Raises :class:`~harness.errors.BadInputError` when they look like none.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:1024]:
        raise BadInputError(
            f"{name} is no text in UTF-8 or a one-byte encoding.", remedy="Convert it to UTF-8."
        )
    text = decode(head.removeprefix(b"\xef\xbb\xbf"))[0].lstrip()
    if re.search(r"^#Q", text, re.MULTILINE):
        return "opentriviaqa"
    if text.startswith(("{", "[")):
        start = text[:4096]
        if '"results"' in start or '"correct_answer"' in start or text.startswith("["):
            return "opentdb"
        return "hotseat"
    rows = _first_rows(text)
    if rows and _is_header(rows[0]):
        return "bank"
    if rows and len(rows[0]) == 6 and rows[0][5].strip().upper() in ("A", "B", "C", "D"):
        return "mmlu"
    raise BadInputError(
        f"{name} looks like none of the known formats.",
        remedy=f"Name it with --format: {', '.join(FORMATS)}.",
    )


def _first_rows(text: str) -> list[list[str]]:
    try:
        delimiter = find_delimiter(text.partition("\n")[0])
        return [row for row in csv.reader(text.splitlines()[:20], delimiter=delimiter) if row][:1]
    except csv.Error:
        return []


def _is_header(row: list[str]) -> bool:
    try:
        find_columns(row)
    except BadInputError:
        return any(clean_text(cell).casefold() == "question" for cell in row)
    return True


def read_questions(
    path: Path,
    *,
    format_name: str = "auto",
    category: Category | None = None,
    known: Iterable[Question] = (),
) -> ImportedQuestions:
    """Read a file of questions; nothing is written.

    ``category`` is for questions whose topic is none of ours; ``known`` are
    questions that need not be taken again.

    Raises :class:`~harness.errors.BadInputError` for a file that can't be read,
    is larger than 256 MB or is of no known format.
    """
    if format_name != "auto" and format_name not in FORMATS:
        raise BadInputError(
            f"Unknown format '{format_name}'.{nearest_name(format_name, [*FORMATS, 'auto'])}",
            remedy=f"The formats are auto, {', '.join(FORMATS)}.",
        )
    try:
        if not path.is_file():  # a pipe would make us wait
            raise BadInputError(f"There is no file {path}.", remedy="Check the path.")
        if path.stat().st_size > MAX_INPUT_BYTES:
            raise BadInputError(f"{path} is larger than {MAX_INPUT_BYTES // 2**20} MB.")
        with path.open("rb") as file:
            chosen = format_name
            if chosen == "auto":
                chosen = guess_format(file.read(_HEAD_BYTES), str(path))
                file.seek(0)
            collector = Collector(category, known)
            for item in FORMATS[chosen].read(file, path.name):
                collector.take(item)
    except OSError as error:
        raise BadInputError(f"Can't read {path}: {error.strerror or error}.") from None
    except ValueError as error:  # a path that holds a null character
        raise BadInputError(f"Can't read the file: {error}.") from None
    return ImportedQuestions(
        format=chosen,
        questions=tuple(collector.questions),
        read=collector.read,
        refused={reason.value: number for reason, number in collector.refused.most_common()},
        examples=tuple(collector.examples),
        notes=dict(collector.notes.most_common(20)),
        unknown_topics=dict(collector.unknown_topics.most_common(20)),
    )
