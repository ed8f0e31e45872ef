"""From raw items to questions that can be stored: cleaned, checked, no repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness._question_line import check_consistent, dump_question, identity, shown
from harness.errors import QuestionFileError
from harness.importers._items import Item, Note, Reason, Refused
from harness.importers._text import clean_text
from harness.question_file import MAX_LINE_BYTES
from harness.quiz import MAX_OPTIONS, MIN_OPTIONS, Category, Gold, Option, Question, normalise_text

__all__ = ["Collector", "Problem"]

_MAX_TAGS = 20
_MAX_TAG_CHARS = 100
_EXAMPLES = 5  # kept of each reason


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was not taken: where, why, and a few words more."""

    line: int
    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}{': ' if self.detail else ''}{self.detail}"


class _NotTakenError(Exception):
    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason


class Collector:
    """Gathers questions; ``category`` is for those whose own topic is none of ours."""

    def __init__(self, category: Category | None = None, known: Iterable[Question] = ()) -> None:
        self._fallback = category
        self.questions: list[Question] = []
        self.refused: Counter[Reason] = Counter()
        self.examples: list[Problem] = []
        self.notes: Counter[str] = Counter()
        self.read = 0
        self.unknown_topics: Counter[str] = Counter()
        self._by_key: dict[str, list[Question]] = {}
        self._ids: dict[str, str] = {}
        for question in known:
            self._remember(question)

    def take(self, item: Item | Refused | Note) -> None:
        """Take in what a reader yields; never raises for what a file holds."""
        if isinstance(item, Note):
            self.notes[item.text] += 1
            return
        self.read += 1
        if isinstance(item, Refused):
            self._refuse(item.line, item.reason, item.detail)
            return
        try:
            question = self._question(item)
            question = self._placed(question)
        except _NotTakenError as error:
            if error.reason is Reason.NO_CATEGORY:
                self.unknown_topics[clean_text(item.topic)[:60] or "none"] += 1
            self._refuse(item.line, error.reason, str(error))
            return
        self._remember(question)
        self.questions.append(question)

    def _refuse(self, line: int, reason: Reason, detail: str) -> None:
        self.refused[reason] += 1
        if self.refused[reason] <= _EXAMPLES:
            self.examples.append(Problem(line, reason, clean_text(detail)[:200]))

    def _question(self, item: Item) -> Question:
        category = item.category or self._fallback
        if category is None:
            raise _NotTakenError(Reason.NO_CATEGORY, f"topic {shown(item.topic)}")
        text, options = clean_text(item.text), [clean_text(option) for option in item.options]
        if not text or not all(options):
            raise _NotTakenError(Reason.EMPTY, shown(text))
        if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
            raise _NotTakenError(Reason.OPTION_COUNT, f"{len(options)} in {shown(text)}")
        if len(set(options)) < len(options):
            twin = next(option for option in options if options.count(option) > 1)
            raise _NotTakenError(Reason.SAME_OPTIONS, f"{shown(twin)} in {shown(text)}")
        gold = self._gold(item, text, options)
        ids = item.option_ids or range(len(options))
        tags = [clean_text(tag)[:_MAX_TAG_CHARS] for tag in item.tags[:_MAX_TAGS]]
        question = Question(
            id="",
            category=category,
            text=text,
            options=tuple(Option(*pair) for pair in zip(ids, options, strict=True)),
            gold=gold,
            level=item.level if item.level else None,
            tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        )
        question = replace(question, id=self._id(item.id, question))
        if len(dump_question(question).encode()) > MAX_LINE_BYTES:
            raise _NotTakenError(Reason.TOO_LONG, shown(text))
        return question

    def _gold(self, item: Item, text: str, options: list[str]) -> Gold:
        answer = None if item.answer is None else clean_text(item.answer)
        if answer is not None and answer not in options:
            alike = [o for o in options if normalise_text(o) == normalise_text(answer)]
            if len(alike) != 1:  # written a little differently is fine, if it is only one
                raise _NotTakenError(Reason.ANSWER_MISSING, f"{shown(answer)} in {shown(text)}")
            answer = alike[0]
        refused = tuple(dict.fromkeys(clean_text(entry) for entry in item.refused))
        try:
            check_consistent(answer, refused, options)
        except QuestionFileError as error:
            raise _NotTakenError(Reason.CONTRADICTION, error.message) from None
        return Gold(answer, refused)

    def _id(self, wanted: str | None, question: Question) -> str:
        same = identity(question)
        name = clean_text(wanted or "")[:200]
        if name and name.isprintable() and self._ids.get(name, same) == same:
            return name
        length = 10
        while self._ids.get(f"q-{same[:length]}", same) != same:
            length += 4
        return f"q-{same[:length]}"

    def _placed(self, question: Question) -> Question:
        """Return the question if it is new or tells more; raise if it repeats or contradicts."""
        for other in self._by_key.get(question.key, ()):
            if identity(other) == identity(question):
                return self._told_more(other, question)
            relation = _relation(other, question)
            if relation is not None:
                raise _NotTakenError(relation, f"with other options: {shown(question.text)}")
        return question

    def _told_more(self, other: Question, question: Question) -> Question:
        ours, theirs = other.gold, question.gold
        where = shown(question.text)
        if ours.answer is not None and theirs.answer not in (None, ours.answer):
            detail = f"{shown(theirs.answer)}, not {shown(ours.answer)}, in {where}"
            raise _NotTakenError(Reason.CONTRADICTION, detail)
        gold = ours.united(theirs)
        try:
            check_consistent(
                gold.answer, gold.refused, [option.text for option in question.options]
            )
        except QuestionFileError as error:
            raise _NotTakenError(Reason.CONTRADICTION, f"{error.message} {where}") from None
        if gold == ours:
            raise _NotTakenError(Reason.DUPLICATE, where)
        return question

    def _remember(self, question: Question) -> None:
        same = identity(question)
        known = self._by_key.setdefault(question.key, [])
        for place, other in enumerate(known):
            if identity(other) == same:
                known[place] = replace(other, gold=other.gold.united(question.gold))
                return
        known.append(question)
        self._ids.setdefault(question.id, same)


def _relation(one: Question, other: Question) -> Reason | None:
    """Return what two questions with one stem but other options are to each other.

    The same answer: a repeat.  One's answer offered as wrong by the other: a
    contradiction.  Otherwise a stem such as "Which of these is a mammal?" was
    used for two different questions.
    """
    first, second = one.gold.answer, other.gold.answer
    if first is None or second is None:
        return None
    if normalise_text(first) == normalise_text(second):
        return Reason.DUPLICATE
    offered = {normalise_text(option.text) for option in one.options}
    also = {normalise_text(option.text) for option in other.options}
    if normalise_text(second) in offered or normalise_text(first) in also:
        return Reason.CONTRADICTION
    return None
