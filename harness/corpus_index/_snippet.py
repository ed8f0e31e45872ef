"""The part of a page that is shown for a query: where its words stand closest."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from harness.corpus_index._terms import fold_in_place

__all__ = ["SNIPPET_CHARS", "snippet"]

SNIPPET_CHARS: Final = 300
_BEFORE: Final = 120
_MAX_PLACES: Final = 200  # of each word
_ELLIPSIS: Final = "…"


def snippet(text: str, terms: Sequence[str], limit: int = SNIPPET_CHARS) -> str:
    """Return at most ``limit`` characters of ``text``, on one line.

    The window that holds the most different terms, rare ones counting more;
    of equal ones the first, and the beginning where none occurs.  It starts
    with a sentence where one starts nearby.
    """
    window = limit - _BEFORE
    start = _best_place(text, terms, window)
    if start is None:
        return _cut(text, 0, limit)
    return _cut(text, _sentence_start(text, start), limit)


def _best_place(text: str, terms: Sequence[str], window: int) -> int | None:
    folded = fold_in_place(text)
    found = {term: list(islice(_places(folded, term), _MAX_PLACES)) for term in sorted(set(terms))}
    # In 1/1,000,000: sums of whole numbers don't depend on their order.
    worth = {term: round(1e6 / (1 + math.log(len(at)))) for term, at in found.items() if at}
    places = sorted((place, term) for term, at in found.items() for place in at)
    best, best_worth = None, 0
    inside: Counter[str] = Counter()
    total = first = 0
    for place, term in places:
        if not inside[term]:
            total += worth[term]
        inside[term] += 1
        while places[first][0] < place - window:
            left = places[first][1]
            inside[left] -= 1
            if not inside[left]:
                total -= worth[left]
            first += 1
        if total > best_worth:
            best, best_worth = places[first][0], total
    return best


def _places(folded: str, term: str) -> Iterator[int]:
    """Yield where ``term`` stands in a folded text, as a word of its own."""
    # Scripts without blanks have no borders to look for.
    spaced = term.isascii()
    place = folded.find(term)
    while place >= 0:
        end = place + len(term)
        before, after = folded[place - 1 : place], folded[end : end + 1]
        if not spaced or not (before.isalnum() or after.isalnum()):
            yield place
        place = folded.find(term, end)


_STOP = re.compile(r"[.!?…。！？]['\"”’»)\]]*\s+|\n+")


def _sentence_start(text: str, place: int) -> int:
    """Return where the sentence around ``place`` starts, or a word shortly before it."""
    low = max(0, place - _BEFORE)
    starts = [match.end() for match in _STOP.finditer(text, low, place)]
    if starts:
        return starts[-1]
    if low == 0:
        return 0
    blank = text.find(" ", low, place)
    return blank + 1 if blank >= 0 else place


def _cut(text: str, start: int, limit: int) -> str:
    """Return one line of ``text`` from ``start``, cut at a blank where it goes on."""
    line = " ".join(text[start : start + 2 * limit].split())
    head = _ELLIPSIS if start and not _follows_stop(text, start) else ""
    if len(head) + len(line) <= limit and start + 2 * limit >= len(text):
        return head + line
    room = limit - len(head) - len(_ELLIPSIS)
    kept = line[:room]
    blank = kept.rfind(" ", room // 2)
    return head + (kept[:blank] if blank > 0 else kept).rstrip() + _ELLIPSIS


def _follows_stop(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start]
    return "\n" in before or any(stop in before for stop in ".!?…。！？")
