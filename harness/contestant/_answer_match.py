"""Which option a piece of text names: by its own text first, then by an id or letter.

The rungs, strongest first: equal (on every level of
:mod:`harness.contestant._answer_fold`), begins with an option, is the start
or a part of one option, clearly nearest to one, mentions one, names an id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness.contestant._answer_fold import (
    bare,
    exact,
    numbers,
    peel,
    plain,
    tight,
    unlabelled,
    unlatex,
)
from harness.contestant._answer_ids import Named, OptionIds, says_more
from harness.contestant._answer_quotes import find_words, joins, quoted_options
from harness.quiz import Option, ParseStep

__all__ = ["OptionTexts", "Reading"]

_NEAREST = 0.80  # similarity that a misspelt option must reach …
_NEAREST_WITH_ID = 0.70  # … when the id agrees
_LEAD = 1.6  # and how many times farther the next option must be
_SPACED_DASH = re.compile(r"\s*[−–-]\s+(\d.*)", re.DOTALL)
_RESULT = re.compile(r"(?<![<>!=])=([^=]*)$")
_NEGATIONS = frozenset({"not", "no", "never", "without", "except", "neither", "nor", "isn't"})
_Key = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text names: one option, or several that it fits alike.

    ``also`` is the option whose id the same characters are.
    """

    options: tuple[Option, ...]
    step: ParseStep
    how: str
    also: Option | None = None


class OptionTexts:
    """The options of one question, ready to be looked for in text.

    Options of identical text stand for the one of lowest id.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        first: dict[str, Option] = {}
        for option in sorted(options, key=lambda option: option.id):
            first.setdefault(option.text, option)
        self.options = tuple(first.values())
        self._ids = OptionIds(options, first)
        self._keys: dict[_Key, dict[Option, str]] = {
            key: {option: key(option.text) for option in self.options}
            for key in (exact, plain, tight, bare, _without_label)
        }
        self.longest = max(len(option.text) for option in options)

    def by_id(self, number: int) -> Option | None:
        """Return the option of that id (of identical ones the lowest)."""
        return self._ids.by_id(number)

    def read(self, text: str) -> Reading | None:
        """Return what ``text``, the part after ``ANSWER:``, names, if anything."""
        text = self._clip(text)
        found = self._equal_finely(text) or self._cut_short(text) or self._equal_coarsely(text)
        if found is None and "\\" in text:
            text = unlatex(text)
            found = self.equal(text)
        if found is None and (result := _RESULT.search(text)):
            found = self.equal(result[1])  # a sum before its result
        if found is not None:
            return found
        named = self._ids.at_start(text)
        rests = [named.rest] if named else []
        for rung in (self._begins, self._part, self._nearest):
            for part in (*rests, text):
                found = rung(part, named, named is not None and part is text)
                if found is not None:
                    return found
        if named and named.firm:
            return Reading((named.option,), ParseStep.ID, f"only the {named.label}")
        found = self.mentions(named.rest if named else text)
        return found if found is not None and len(found.options) == 1 else None

    def equal(self, text: str) -> Reading | None:
        """Return the option whose text ``text`` is, with or without an id before it."""
        text = self._clip(text)
        return self._equal_finely(text) or self._equal_coarsely(text)

    def _equal_finely(self, text: str) -> Reading | None:
        named = self._ids.at_start(text)
        if named and self._agrees_on_sign(named):
            return Reading((named.option,), ParseStep.TEXT, "text and id agree")
        wholes = peel(text)
        rests = peel(named.rest) if named else iter(())
        for whole, rest in zip_longest(wholes, rests):
            for key in (exact, plain):
                found = self._same_key(key, named, whole, rest)
                if found:
                    return found
        return None

    def _equal_coarsely(self, text: str) -> Reading | None:
        named = self._ids.at_start(text)
        for key in (tight, bare, _without_label):
            found = self._same_key(key, named, text, named.rest if named else None)
            if found:
                return found
        hits = self._ids.own_letter(text)
        return Reading(hits, ParseStep.TEXT, "the text's own letter") if hits else None

    def _cut_short(self, text: str) -> Reading | None:
        """Read an id and the start of its own text, as a token limit leaves it."""
        named = self._ids.at_start(text)
        if named is None:
            return None
        part = plain(named.rest).rstrip(" .…\"'*_")
        if not says_more(part) or not self._keys[plain][named.option].startswith(part):
            return None
        return Reading((named.option,), ParseStep.TEXT, "start of the text, id agrees")

    def lone_id(self, text: str) -> Reading | None:
        """Return the option whose id or letter is all that ``text`` holds."""
        named = self._ids.at_start(self._clip(text))
        if named and named.firm and not says_more(named.rest):
            return Reading((named.option,), ParseStep.ID, f"only the {named.label}")
        return None

    def mentions(self, text: str, *, shortest: int = 1) -> Reading | None:
        """Return the options quoted in ``text``; one inside a longer one does not count.

        Options of fewer than ``shortest`` characters, or then without a
        letter, are not looked for.
        """
        for key in (tight,) if "\\" in text else (exact, plain, tight):
            hay = key(text)
            keys = self._keys[key]
            hits = quoted_options(hay, {o: k for o, k in keys.items() if _fits(k, shortest)})
            if hits:
                return Reading(hits, ParseStep.TEXT, "quoted")
        return None

    def _clip(self, text: str) -> str:
        # Longer than this, a text is not an option with decoration around it.
        return text[: 2 * self.longest + 400]

    def _agrees_on_sign(self, named: Named) -> bool:
        """Whether ``1 - 5`` is the text of option 1, the dash read as a sign or not."""
        found = _SPACED_DASH.match(named.rest)
        own = self._keys[tight][named.option]
        return found is not None and own in (tight(found[0]), tight(found[1]))

    def _same_key(
        self, key: _Key, named: Named | None, whole: str | None, rest: str | None
    ) -> Reading | None:
        keys = self._keys[key]
        if named and rest is not None:
            rest_key = key(rest)
            if rest_key and rest_key == keys[named.option]:
                return Reading((named.option,), ParseStep.TEXT, "text and id agree")
        for text in (whole, rest):
            text_key = key(text) if text is not None else ""
            if not text_key:
                continue
            hits = tuple(option for option, other in keys.items() if other == text_key)
            if hits:
                return self._narrow(hits, named)
        return None

    def _narrow(self, hits: tuple[Option, ...], named: Named | None, how: str = "text") -> Reading:
        if named is None:
            return Reading(hits, ParseStep.TEXT, how)
        if named.option in hits:
            alike = len(hits) > 1
            decided = "text of several, id decides" if alike else how
            return Reading((named.option,), ParseStep.TEXT, decided)
        if says_more(named.rest):
            return Reading(hits, ParseStep.TEXT, f"{how} over another id")
        return Reading(hits, ParseStep.TEXT, f"{how}, though it is an id too", named.option)

    def _begins(self, text: str, named: Named | None, whole: bool) -> Reading | None:
        # "2 (Rome is wrong)" is not for Rome.
        aside = named if not whole and text.lstrip().startswith("(") else None
        least = len(text) - len(named.rest.lstrip()) if whole and named else 0
        for key in (tight,) if "\\" in text else (plain, tight):
            for start in peel(text) if key is plain else (text,):
                text_key = key(start)
                hits = [
                    (len(other), option)
                    for option, other in self._keys[key].items()
                    if other and len(other) > least and _starts(text_key, other)
                    if not aside or option == aside.option or option.text.startswith("(")
                ]
                if hits:
                    longest = max(length for length, _ in hits)
                    best = tuple(option for length, option in hits if length == longest)
                    return self._narrow(best, named, "begins with the text")
        return None

    def _part(self, text: str, named: Named | None, whole: bool) -> Reading | None:
        for key in (plain, tight):
            part = key(text).rstrip(" .…\"'*_")
            letters = sum(char.isalnum() for char in part)
            if not part or not letters:
                continue
            keys = self._keys[key]
            if named and not whole and keys[named.option].startswith(part):
                return Reading((named.option,), ParseStep.TEXT, "start of the text, id agrees")
            if letters < (3 if part.isascii() else 2):
                continue
            starts = tuple(o for o, other in keys.items() if _cut_of(other, part))
            inside = tuple(o for o, other in keys.items() if find_words(other, part, 0) >= 0)
            for hits, how in ((starts, "start of one text"), (inside, "part of one text")):
                if len(hits) == 1:
                    return Reading(hits, ParseStep.TEXT, how)
        return None

    def _nearest(self, text: str, named: Named | None, whole: bool) -> Reading | None:
        from rapidfuzz import fuzz

        for form in (plain, tight):
            keys = self._keys[form]
            key = form(text)
            if not says_more(key):
                return None
            scores = {
                option: fuzz.ratio(key, other) / 100
                for option, other in keys.items()
                if _same_facts(key, other)
            }
            if not scores:
                continue
            option = max(scores, key=lambda option: scores[option])
            best = scores.pop(option)
            second = max(scores.values(), default=0.0)
            agrees = named is not None and named.option == option and not whole
            if not agrees and sum(char.isalpha() for char in key) < 4:
                continue
            enough = _NEAREST_WITH_ID if agrees else _NEAREST
            if best >= enough and 1 - second >= _LEAD * (1 - best):
                return Reading((option,), ParseStep.TEXT, "nearest text")
        return None


def _without_label(text: str) -> str:
    return tight(unlabelled(next(peel(text)))[1])


def _same_facts(one: str, other: str) -> bool:
    """Whether two near texts hold the same numbers and negations."""
    nots = [{word for word in key.split() if word in _NEGATIONS} for key in (one, other)]
    return numbers(one) == numbers(other) and nots[0] == nots[1]


def _cut_of(key: str, part: str) -> bool:
    """Whether ``part`` is ``key`` cut short; a number may not be cut."""
    if not key.startswith(part):
        return False
    return not (part[-1:].isdecimal() and joins(key, len(part)))


def _starts(text: str, key: str) -> bool:
    if not text.startswith(key) or joins(text, len(key)):
        return False
    if len(key) == 1 and key.isalpha():
        # "a" before a word is an article, not the option "a".
        return not text[1:].lstrip()[:1].isalnum()
    return True


def _fits(key: str, shortest: int) -> bool:
    if shortest <= 1:
        return bool(key)
    return len(key) >= shortest and any(char.isalpha() for char in key)
