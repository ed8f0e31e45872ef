"""Tables of questions: MMLU's bare six columns, and question banks with a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO

from harness.errors import BadInputError
from harness.importers._categories import MMLU, own_category, topic_category
from harness.importers._items import Item, Items, Note, Reason, Refused
from harness.importers._text import NOT_UTF8, OVERLONG, clean_text, decode, read_lines
from harness.quiz import MAX_OPTIONS, MIN_OPTIONS

__all__ = ["Columns", "find_columns", "find_delimiter", "read_bank", "read_mmlu"]

_MMLU_SPLIT = re.compile(r"_(dev|val|test|train)$")
_LETTERS = "ABCDEFGH"
_DELIMITERS = ",;\t"
_HEADER_BYTES = 64 * 1024
_MAX_ROWS = 1_000_000
_ROW_CHARS = 256 * 1024
_LONG_ROW = f"the row is longer than {_ROW_CHARS // 1024} KB"

_QUESTION = ("question", "question_text", "stem", "prompt", "text")
_GOLD_ID = (
    *("gold_id", "answer_id", "correct_id", "correct_option", "correct_index", "answer_index"),
    *("gold_index", "answer_letter", "correct_letter", "label"),
)
_GOLD_TEXT = ("answer_text", "correct_text", "gold_text")
_GOLD = ("answer", "correct_answer", "correct", "gold", "solution", "right_answer", "target")
_CATEGORY = ("category", "topic", "subject", "competition")
_OPTION = re.compile(r"(?:(?:option|opt|choice|answer|distractor)s?_?)?([a-h]|[0-8])")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table keeps what; ``labels`` are the options' own ids, in their order."""

    question: int
    options: tuple[int, ...]
    labels: tuple[str, ...]
    gold: int
    gold_kind: str  # id, text or either
    category: int | None = None
    difficulty: int | None = None
    level: int | None = None
    id: int | None = None


def read_mmlu(file: BinaryIO, name: str) -> Items:
    """Yield rows of question, A, B, C, D and the right letter; there is no header.

    The file's name without ``_test`` and the like is the topic.
    """
    topic = _MMLU_SPLIT.sub("", PurePath(name).stem)
    notes: list[Note] = []
    for line, row in _rows(file, ",", notes):
        if isinstance(row, Refused):
            yield row
        elif len(row) != 6:
            yield Refused(line, Reason.UNREADABLE, f"{len(row)} columns instead of 6")
        else:
            letter = row[5].strip().upper()
            place = _LETTERS.find(letter) if len(letter) == 1 else -1
            if not 0 <= place < 4:
                yield Refused(
                    line, Reason.ANSWER_MISSING, f"'{clean_text(letter)[:20]}' is no letter"
                )
                continue
            options = tuple(row[1:5])
            category = topic_category(MMLU, topic)
            tags = ("mmlu",)
            yield Item(line, row[0], options, options[place], category, topic=topic, tags=tags)
    yield from notes


def read_bank(file: BinaryIO, name: str) -> Items:
    """Yield the rows of a table with a header; see :func:`find_columns`.

    Raises :class:`~harness.errors.BadInputError` when the header lacks what is
    needed.
    """
    first = file.readline(_HEADER_BYTES)
    delimiter = find_delimiter(decode(first)[0])
    file.seek(0)
    notes: list[Note] = []
    rows = _rows(file, delimiter, notes)
    columns = None
    for _, header in rows:
        if isinstance(header, list):
            columns = find_columns(header, name)
            break
    if columns is None:
        raise BadInputError(f"{name} has no header.")
    columns, base, kept = _settle_numbers(columns, rows)
    for line, row in kept:
        yield row if isinstance(row, Refused) else _bank_item(line, row, columns, base)
    yield from notes


def find_delimiter(header: str) -> str:
    """Return what separates the cells of a table, judged by its first line."""
    return max(_DELIMITERS, key=header.count)


def find_columns(header: Sequence[str], name: str = "The file") -> Columns:
    """Return where a header says that things are.

    Raises :class:`~harness.errors.BadInputError` naming what it lacks.
    """
    names = [re.sub(r"[\s-]+", "_", clean_text(cell).casefold()) for cell in header]

    def find(known: Sequence[str]) -> int | None:
        return next((names.index(word) for word in known if word in names), None)

    question = find(_QUESTION)
    options = {
        match[1]: place
        for place, cell in enumerate(names)
        if (match := _OPTION.fullmatch(cell)) is not None
    }
    letters = [label for label in options if label.isalpha()]
    digits = [label for label in options if label.isdigit()]
    labels = sorted(letters if len(letters) >= len(digits) else digits)
    by_id, by_text, either = find(_GOLD_ID), find(_GOLD_TEXT), find(_GOLD)
    gold = next((place for place in (by_id, by_text, either) if place is not None), None)
    lacking = [
        what
        for what, there in (
            ("a question", question is not None),
            (f"{MIN_OPTIONS} to {MAX_OPTIONS} options", MIN_OPTIONS <= len(labels) <= MAX_OPTIONS),
            ("the right answer", gold is not None),
        )
        if not there
    ]
    if lacking or question is None or gold is None:
        raise BadInputError(
            f"{name} has no column for {' and '.join(lacking)}.",
            remedy="Name the columns like: category, question, option_a, option_b, …, answer.",
        )
    return Columns(
        question,
        tuple(options[label] for label in labels),
        tuple(labels),
        gold,
        "id" if gold == by_id else "text" if gold == by_text else "either",
        category=find(_CATEGORY),
        difficulty=find(("difficulty",)),
        level=find(("level",)),
        id=find(("id", "question_id")),
    )


def _settle_numbers(
    columns: Columns, rows: Iterator[tuple[int, list[str] | Refused]]
) -> tuple[Columns, int | None, list[tuple[int, list[str] | Refused]]]:
    """Return what numbers among the answers mean, and all rows.

    The second value is the number of the first option, ``None`` where that
    can't be told.  Columns with numbers of their own settle it.  Otherwise the
    whole file has to say: a 0 somewhere, or the number of options somewhere.
    A larger number means that the answers are texts.
    """
    kept: list[tuple[int, list[str] | Refused]] = []
    numbers: set[int] = set()
    for line, row in rows:
        if len(kept) >= _MAX_ROWS:
            kept.append((line, Refused(line, Reason.TOO_LONG, f"only {_MAX_ROWS} rows are read")))
            break
        kept.append((line, row))
        if isinstance(row, list) and len(row) > columns.gold:
            value = row[columns.gold].strip()
            if value.isascii() and value.isdigit() and len(value) < 10:
                numbers.add(int(value))
    last = len(columns.labels)
    if columns.labels[0].isdigit():
        return columns, None, kept
    if columns.gold_kind == "either" and any(number > last for number in numbers):
        return replace(columns, gold_kind="text"), None, kept
    if (0 in numbers) == (last in numbers):
        return columns, None, kept
    return columns, (0 if 0 in numbers else 1), kept


def _bank_item(line: int, row: list[str], columns: Columns, base: int | None) -> Item | Refused:
    def cell(place: int | None) -> str:
        return row[place].strip() if place is not None and place < len(row) else ""

    if len(row) <= max(columns.question, columns.gold, *columns.options):
        return Refused(line, Reason.UNREADABLE, f"only {len(row)} columns")
    # Trailing options may be left empty: a two-option item in a four-option table.
    options = [clean_text(cell(place)) for place in columns.options]
    while options and not options[-1]:
        options.pop()
    found = _answer(clean_text(cell(columns.gold)), options, columns, base)
    if isinstance(found, Reason):
        return Refused(line, found, f"answer '{clean_text(cell(columns.gold))[:60]}'")
    topic = cell(columns.category)
    level, difficulty = cell(columns.level), cell(columns.difficulty).casefold()
    known = difficulty.isascii() and difficulty.isalpha() and len(difficulty) <= 20
    return Item(
        line,
        cell(columns.question),
        tuple(options),
        found,
        own_category(topic) if topic else None,
        topic=topic,
        tags=("bank", f"difficulty-{difficulty}") if known else ("bank",),
        level=int(level) if level.isascii() and level.isdigit() and 0 < len(level) < 10 else None,
        id=cell(columns.id) or None,
    )


def _answer(gold: str, options: list[str], columns: Columns, base: int | None) -> str | Reason:
    """Return the right option's text; two readings that differ are no answer."""
    if not gold:
        return Reason.NO_ANSWER
    by_text = gold if gold in options else None
    if columns.gold_kind == "text":
        return by_text or Reason.ANSWER_MISSING
    place = _place(gold.casefold(), columns, base)
    if place is None:
        return Reason.ANSWER_UNCLEAR
    by_id = options[place] if 0 <= place < len(options) else None
    if columns.gold_kind == "id":
        return by_id or Reason.ANSWER_MISSING
    if by_text is not None and by_id is not None and by_text != by_id:
        return Reason.ANSWER_UNCLEAR
    return by_text or by_id or Reason.ANSWER_MISSING


def _place(gold: str, columns: Columns, base: int | None) -> int | None:
    """Return which option an id means: -1 for none, ``None`` where it can't be told."""
    if gold in columns.labels:
        return columns.labels.index(gold)
    if columns.labels[0].isdigit():
        return _LETTERS.casefold().find(gold) if len(gold) == 1 else -1
    if not (gold.isascii() and gold.isdigit() and len(gold) < 10):
        return -1
    return None if base is None else int(gold) - base


def _rows(
    file: BinaryIO, delimiter: str, notes: list[Note]
) -> Iterator[tuple[int, list[str] | Refused]]:
    """Yield (number of its first line, row); what can't be read is refused, the rest goes on."""
    overlong: list[int] = []

    def lines() -> Iterator[str]:
        for number, raw in read_lines(file):
            if raw is None:
                overlong.append(number)
                yield "\n"
                continue
            line, is_utf8 = decode(raw)
            if not is_utf8:
                notes.append(Note(NOT_UTF8))
            yield line + "\n"

    reader = csv.reader(lines(), delimiter=delimiter, strict=False)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield start, Refused(start, Reason.UNREADABLE, f"{error}")
            continue
        if any(cell.strip() for cell in row):
            if sum(map(len, row)) > _ROW_CHARS:
                yield start, Refused(start, Reason.TOO_LONG, _LONG_ROW)
            else:
                yield start, row
    for number in overlong:
        yield number, Refused(number, Reason.TOO_LONG, OVERLONG)
