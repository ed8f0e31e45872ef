"""The quiz in values: questions, options, what is known of the truth, answers.

A live game tells only right, wrong or late, so gold has three kinds and the
options are identified by their *text*: the server shuffles positions at every
serving.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from harness.errors import BadInputError, nearest_name

__all__ = [
    "MAX_OPTIONS",
    "MIN_OPTIONS",
    "Answer",
    "Basis",
    "Category",
    "Gold",
    "GoldKind",
    "Option",
    "ParseStep",
    "Question",
    "normalise_text",
    "question_key",
]

MIN_OPTIONS = 2
MAX_OPTIONS = 8

_SPACE = re.compile(r"\s+")


def normalise_text(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with runs of white space as one blank.

    Two texts that a person would read as the same come out equal; digits,
    accents, signs and punctuation are kept because options differ in them.
    """
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


class Category(StrEnum):
    """The six competitions of the quiz."""

    ENTERTAINMENT = "entertainment"
    HISTORY = "history"
    SCIENCE = "science"
    MATHS = "maths"
    PHILOSOPHY = "philosophy"
    NEWS = "news"

    @classmethod
    def parse(cls, text: str) -> Category:
        """Return the category that ``text`` names, aliases of the server included.

        Raises :class:`~harness.errors.BadInputError`, naming the nearest
        category, for anything else.
        """
        name = normalise_text(text)
        name = _ALIASES.get(name, name)
        try:
            return cls(name)
        except ValueError:
            known = [member.value for member in cls]
            raise BadInputError(
                f"Unknown category '{text}'.{nearest_name(name, known)}",
                remedy=f"The categories are {', '.join(known)}.",
            ) from None


_ALIASES = {
    "ancient history and politics": "history",
    "history and politics": "history",
    "science and nature": "science",
    "math": "maths",
    "mathematics": "maths",
    "philosophy and psychology": "philosophy",
    "psychology": "philosophy",
}


class GoldKind(StrEnum):
    """How much is known of a question's right answer."""

    KNOWN = "known"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Gold:
    """What is known of the truth, by option text.

    ``answer`` is the accepted text when the kind is *known*; ``refused`` holds
    texts that the server judged wrong (kind *partial*, or beside an answer).
    """

    answer: str | None = None
    refused: tuple[str, ...] = ()

    @property
    def kind(self) -> GoldKind:
        """Known, partial or unknown."""
        if self.answer is not None:
            return GoldKind.KNOWN
        return GoldKind.PARTIAL if self.refused else GoldKind.UNKNOWN

    def united(self, other: Gold) -> Gold:
        """Return what both know of one question: an answer wins, refused texts add up.

        Of two answers ours stays; whether the two agree is for the caller to ask.
        """
        answer = other.answer if self.answer is None else self.answer
        return Gold(answer, tuple(dict.fromkeys(self.refused + other.refused)))


@dataclass(frozen=True, slots=True)
class Option:
    """One offered answer: the server's id and its text."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A multiple-choice question.

    ``id`` is unique inside a question file; ``tags`` are free labels, such as
    ``invented`` for facts that no model can know from its training.
    """

    id: str
    category: Category
    text: str
    options: tuple[Option, ...]
    gold: Gold = field(default_factory=Gold)
    level: int | None = None
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The question's identity across games: see :func:`question_key`."""
        return question_key(self.category, self.text)

    def judge(self, option_text: str | None) -> bool | None:
        """Return whether an answer's text is right, ``None`` where gold can't tell."""
        if option_text is None:
            return False if self.gold.kind is GoldKind.KNOWN else None
        if self.gold.answer is not None:
            return option_text == self.gold.answer
        return False if option_text in self.gold.refused else None


def question_key(category: Category, text: str) -> str:
    """Return the question's identity: SHA-256 of category and normalised text.

    Key material: category, :func:`normalise_text` of the stem.  Left out: the
    id and level (renumbered when pools are rebuilt) and the options (shuffled,
    and sometimes served with other distractors).
    """
    material = f"{category.value}\n{normalise_text(text)}"
    return hashlib.sha256(material.encode()).hexdigest()[:16]


class Basis(StrEnum):
    """What an answer rests on."""

    PASSAGES = "retrieved passages"
    SNIPPETS = "snippets only"
    MODEL = "model alone"
    SOLVER = "solver"
    DEADLINE = "deadline fallback"
    PARSER = "parser fallback"
    FAILED = "failed"


class ParseStep(StrEnum):
    """The step of the answer parser that found the option, strongest first."""

    TEXT = "text"
    ID = "id"
    QUOTED = "quoted"
    LOGPROB = "logprob"
    LOWEST_ID = "lowest id"

    @property
    def is_fallback(self) -> bool:
        """Whether the output itself named no option."""
        return self in (ParseStep.LOGPROB, ParseStep.LOWEST_ID)


@dataclass(frozen=True, slots=True)
class Answer:
    """The option that left for the server, and what it rests on."""

    option: Option
    basis: Basis
    parsed_by: ParseStep


def longest_options(options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options of the greatest text length (more than one on a tie)."""
    longest = max(len(option.text) for option in options)
    return tuple(option for option in options if len(option.text) == longest)
