"""Ids and letters at the start of an answer: ``2``, ``_3``, ``(B)``, ``Option 1:``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.contestant._answer_fold import unlabelled
from harness.quiz import Option

__all__ = ["Named", "OptionIds", "says_more"]

_DECORATION = r"(?:[\s*_`~\"'“‘«(\[{<#$\\:=•]|-(?!\d))"
_WORD = r"(?:option|choice|id|answer|number|no\.|nr\.)(?![a-z])[\"']?\s{0,9}[:=#]?\s{0,9}"
_ID = re.compile(
    rf"{_DECORATION}{{0,40}}(?:{_WORD})?{_DECORATION}{{0,9}}?(?P<id>[+−-]?\d{{1,19}})"
    r"(?![^\W_]|[.,:/^'−-]\d|[%°]|\s?[+×÷/^·]\s?\d)"  # not a year, a decimal, a sum
    r"(?:[\"'\s,;:]{1,9}text\b[\"'\s:=]{1,9})?",  # {"id": 2, "text": "…
    re.IGNORECASE,
)
_LETTER = re.compile(
    rf"{_DECORATION}{{0,40}}(?P<word>{_WORD})?{_DECORATION}{{0,9}}?(?P<letter>[A-H])"
    r"(?P<end>[).:\]*_`\"'}$,;]|(?=\s)|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Named:
    """An id or letter at the start of a text, and what follows it.

    ``firm`` tells whether it may decide alone.
    """

    option: Option
    rest: str
    firm: bool
    label: str


class OptionIds:
    """The ids, places and own letters of a question's options.

    ``first`` gives, by text, the option that stands for all of that text.
    """

    def __init__(self, options: Sequence[Option], first: Mapping[str, Option]) -> None:
        self._by_id = {option.id: first[option.text] for option in reversed(options)}
        self._by_place = tuple(first[option.text] for option in options)
        self._labels: dict[str, list[Option]] = {}
        for option in first.values():
            self._labels.setdefault(unlabelled(option.text)[0], []).append(option)

    def by_id(self, number: int) -> Option | None:
        """Return the option of that id."""
        return self._by_id.get(number)

    def at_start(self, text: str) -> Named | None:
        """Return the id or, A being the first option, the letter that ``text`` begins with."""
        found = _ID.match(text)
        if found:
            number = int(found["id"].replace("−", "-"))
            option = self._by_id.get(number)
            if option:
                return Named(option, text[found.end() :], True, f"id {number}")
        found = _LETTER.match(text)
        if not found:
            return None
        letter = found["letter"].upper()
        place = ord(letter) - ord("A")
        if letter in self._labels or place >= len(self._by_place):
            return None  # the options' own letters are read as text
        rest = text[found.end() :]
        capital = found["letter"].isupper()
        if found["end"] in (",", ";") or not found["end"]:
            # A small letter before a word, or "a" at the start, may be an article.
            firm = not says_more(rest) or (capital and (letter != "A" or bool(found["word"])))
        else:
            firm = True
        return Named(self._by_place[place], rest, firm, f"letter {letter}")

    def own_letter(self, text: str) -> tuple[Option, ...]:
        """Return the options that carry, in their own text, the lone letter ``text``."""
        found = _LETTER.match(text)
        if not found or says_more(text[found.end() :]):
            return ()
        return tuple(self._labels.get(found["letter"].upper(), ()))


def says_more(rest: str) -> bool:
    """Whether ``rest`` holds anything beyond decoration."""
    return any(char.isalnum() for char in rest)
