"""The six competitions and what can be played in them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.games.practice._rules import LEVELS, OPTIONS
from harness.quiz import Category, Question

__all__ = ["COMPETITIONS", "Competition", "Pool", "PoolQuestion", "Serving"]

_NAMES = {
    Category.ENTERTAINMENT: ("Entertainment", "Films, music, games, sport and television."),
    Category.HISTORY: ("Ancient History and Politics", "From the first cities to parliaments."),
    Category.SCIENCE: ("Science and Nature", "Living things, matter, machines and the sky."),
    Category.MATHS: ("Maths", "Numbers, shapes and proofs."),
    Category.PHILOSOPHY: ("Philosophy and Psychology", "Thought, and those who thought about it."),
    Category.NEWS: ("News", "What happened lately."),
}
COMPETITIONS = {
    number: (name, category) for number, (category, (name, _)) in enumerate(_NAMES.items())
}
"""Names and categories by the competitions' ids."""

_NO_ANSWER = "without a known answer"
_FEW_OPTIONS = f"with fewer than {OPTIONS} different options"
_REPEATED = "asked twice"


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """A question that can be served; ``id`` is its number in this pool, nothing more."""

    id: int
    text: str
    right: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Serving:
    """A question as one game asks it, its options in the order served."""

    level: int
    question_id: int
    text: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Competition:
    """One of the six, with its questions."""

    id: int
    name: str
    description: str
    questions: tuple[PoolQuestion, ...]

    @property
    def max_levels(self) -> int:
        """Fifteen, or as many as there are questions."""
        return min(LEVELS, len(self.questions))

    def draw(self, material: str) -> tuple[Serving, ...]:
        """Return a game's questions, one a level, none twice, options shuffled.

        The same ``material`` gives the same draw from the same pool.  A
        question with more than four options is asked with the right one and
        three of the others.
        """
        chance = random.Random(material)  # noqa: S311 - a game must be repeatable, not secret
        chosen = chance.sample(self.questions, self.max_levels)
        servings = []
        for level, question in enumerate(chosen, start=1):
            options = [question.right, *chance.sample(question.wrong, OPTIONS - 1)]
            chance.shuffle(options)
            servings.append(
                Serving(
                    level,
                    question.id,
                    question.text,
                    tuple(options),
                    options.index(question.right),
                )
            )
        return tuple(servings)


@dataclass(frozen=True, slots=True)
class Pool:
    """All competitions that have questions, by id, and how many questions were left out why."""

    competitions: Mapping[int, Competition]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def named(self, competition_id: int) -> Competition:
        """Return a competition also where this pool has no questions for it (any more)."""
        found = self.competitions.get(competition_id)
        if found is not None:
            return found
        return Competition(competition_id, *_NAMES[list(Category)[competition_id]], ())

    @classmethod
    def of(cls, questions: Iterable[Question]) -> Pool:
        """Return the competitions that these questions fill.

        A question can be played when its right option is known, or all others
        were refused, and when it has at least four different options.  A stem
        that comes twice counts once per category.  A competition's id is its
        category's place among the six; those without questions are left out.
        """
        playable: dict[Category, list[PoolQuestion]] = {category: [] for category in Category}
        seen: set[str] = set()
        left_out: Counter[str] = Counter()
        number = 0
        for question in questions:
            options = tuple(dict.fromkeys(option.text for option in question.options))
            right = _right(question, options)
            if question.key in seen:
                left_out[_REPEATED] += 1
            elif right is None:
                left_out[_NO_ANSWER] += 1
            elif len(options) < OPTIONS:
                left_out[_FEW_OPTIONS] += 1
            else:
                seen.add(question.key)
                number += 1
                wrong = tuple(text for text in options if text != right)
                playable[question.category].append(
                    PoolQuestion(number, question.text, right, wrong)
                )
        competitions = {
            place: Competition(place, *_NAMES[category], tuple(playable[category]))
            for place, category in enumerate(Category)
            if playable[category]
        }
        return cls(competitions, dict(left_out))


def _right(question: Question, options: tuple[str, ...]) -> str | None:
    if question.gold.answer is not None:
        return question.gold.answer
    left = [text for text in options if text not in question.gold.refused]
    return left[0] if len(left) == 1 else None
