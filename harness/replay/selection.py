"""Which questions of a file are replayed, and in what order."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from harness.errors import BadInputError
from harness.quiz import Category, Question

__all__ = ["choose", "shuffled"]


def choose(
    questions: Sequence[Question],
    *,
    limit: int | None = None,
    categories: Collection[Category] = (),
) -> tuple[Question, ...]:
    """Return the questions to play, in file order.

    ``categories`` keeps only those (empty keeps all).  ``limit`` takes that
    many, spread evenly: the first of each category, then the second of each,
    and so on.  Raises :class:`~harness.errors.BadInputError` when nothing is
    left.
    """
    kept = [question for question in questions if not categories or question.category in categories]
    if not kept:
        names = ", ".join(sorted(category.value for category in categories))
        raise BadInputError(
            f"The question file holds no question of category {names}.",
            remedy="Leave out --category, or choose another.",
        )
    if limit is None or limit >= len(kept):
        return tuple(kept)
    turn_of: dict[Category, int] = {}
    turns: list[tuple[int, int]] = []  # (turn within the category, place in the file)
    first_place: dict[Category, int] = {}
    for place, question in enumerate(kept):
        first_place.setdefault(question.category, place)
        turn = turn_of.get(question.category, 0)
        turn_of[question.category] = turn + 1
        turns.append((turn, place))
    turns.sort(key=lambda item: (item[0], first_place[kept[item[1]].category]))
    return tuple(kept[place] for place in sorted(place for _, place in turns[:limit]))


def shuffled(questions: Sequence[Question], seed: int) -> tuple[Question, ...]:
    """Return the same questions in an order that depends on ``seed`` only."""
    order = list(questions)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order of play, not a secret
    return tuple(order)
