"""What a reader of a foreign file hands on: raw items, and lines that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from harness.quiz import Category

__all__ = ["Item", "Items", "Note", "Reason", "Refused"]


class Reason(StrEnum):
    """Why something was not taken."""

    UNREADABLE = "can't be read"
    TOO_LONG = "too long"
    NO_CATEGORY = "no category known for it"
    EMPTY = "an empty question or option"
    OPTION_COUNT = "too few or too many options"
    SAME_OPTIONS = "two options are the same"
    NO_ANSWER = "no right answer given"
    ANSWER_MISSING = "the answer is not among the options"
    ANSWER_UNCLEAR = "the answer can be read in two ways"
    CONTRADICTION = "contradicts what is known of the same question"
    DUPLICATE = "a repeat"


@dataclass(frozen=True, slots=True)
class Item:
    """One question as a file gives it, texts not yet cleaned.

    ``line`` counts from 1, or is the item's number in a JSON file.
    ``category`` is ``None`` where the file's own (``topic``) is none of ours.
    """

    line: int
    text: str
    options: tuple[str, ...]
    answer: str | None
    category: Category | None = None
    topic: str = ""
    refused: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    level: int | None = None
    id: str | None = None
    option_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that gives no question."""

    line: int
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth telling about a file as a whole; equal ones are counted."""

    text: str = field(default="")


Items: TypeAlias = Iterator[Item | Refused | Note]
