"""How a served question is put to a contestant, and its answer back to the server.

The server shuffles the options at every serving.  A contestant is shown them
in one order whatever the serving: sorted by text, or as the question file has
them, if it knows the question.  So the same question gets the same answer at
every serving, and a replay, which asks from the file, gives it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.games.learned import LearnedQuestions, question_name
from harness.quiz import Answer, Category, Option, Question, longest_options, normalise_text

__all__ = ["Presented", "present"]


@dataclass(frozen=True, slots=True)
class Presented:
    """A question as it is put to the contestant.

    ``served_ids`` are the server's option ids by the place of the option in
    ``question.options``; ``served_texts`` the texts as served, by position.
    """

    question: Question
    served_ids: tuple[int, ...]
    served_texts: tuple[str, ...]

    def served_id(self, option: Option) -> int:
        """Return the server's id of an option of ``question``."""
        places = [one.id for one in self.question.options]
        return self.served_ids[places.index(option.id)]

    def fallback(self) -> Option:
        """Return what is answered when no answer is there in time: the longest text.

        In the quiz's own pool it is right far more often than one option in
        four, and never less (measured by others); of several the first.
        """
        return longest_options(self.question.options)[0]

    def check(self, answer: Answer) -> Option:
        """Return the option of an answer; raises :class:`ValueError` for one not offered."""
        for option in self.question.options:
            if option == answer.option:
                return option
        raise ValueError(f"the answer {answer.option.text!r} is not among the options")


def present(
    category: Category,
    text: str,
    options: tuple[tuple[int, str], ...],
    *,
    level: int | None,
    known: LearnedQuestions | None = None,
    tags: tuple[str, ...] = (),
) -> Presented:
    """Return a served question, ``options`` by position with the server's ids, as it is put.

    Its id is the one that a question file gives it.
    """
    ordered = sorted(options, key=lambda one: (normalise_text(one[1]), one[1], one[0]))
    question = Question(
        id="",
        category=category,
        text=text,
        options=tuple(Option(place, one[1]) for place, one in enumerate(ordered)),
        level=level,
        tags=tags,
    )
    question = replace(question, id=question_name(question))
    if known is not None:
        question = replace(known.as_known(question), level=level)
    left = list(options)
    ids: list[int] = []
    for option in question.options:
        found = next(one for one in left if one[1] == option.text)
        left.remove(found)
        ids.append(found[0])
    return Presented(question, tuple(ids), tuple(text for _, text in options))
