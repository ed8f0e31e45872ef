"""Hotseat's own JSON Lines."""

from __future__ import annotations

from typing import BinaryIO

from harness._question_line import parse_line
from harness.errors import QuestionFileError
from harness.importers._items import Item, Items, Note, Reason, Refused
from harness.importers._text import OVERLONG, read_lines

__all__ = ["read_jsonl"]


def read_jsonl(file: BinaryIO, name: str) -> Items:
    """Yield the questions of a file; ids, levels, tags and refused texts are kept."""
    for number, raw in read_lines(file):
        if raw is None:
            yield Refused(number, Reason.TOO_LONG, OVERLONG)
            continue
        if not raw.strip():
            continue
        try:
            question, doubts = parse_line(raw)
        except QuestionFileError as error:
            yield Refused(number, Reason.UNREADABLE, error.message.rstrip("."))
            continue
        for doubt in doubts:
            yield Note(doubt)
        yield Item(
            number,
            question.text,
            tuple(option.text for option in question.options),
            question.gold.answer,
            question.category,
            topic=question.category.value,
            refused=question.gold.refused,
            tags=question.tags,
            level=question.level,
            id=question.id,
            option_ids=tuple(option.id for option in question.options),
        )
