"""Passages ranked by the words they share with the query: BM25.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond" (2009), with an inverse document frequency that is never negative.  A
question meets a few hundred passages once, so building an index of them would
cost more than the question's few words do; this counts those words alone.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

__all__ = ["Bm25", "cut_runs", "words"]

_K1 = 1.5  # how soon further mentions of a word stop to count
_B = 0.75  # how far a long passage is held against its words

# Letters, digits, and the vowel signs that `\w` leaves out in scripts of India and beyond.
_WORD = re.compile(
    r"(?:[^\W_]|[\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0fff"
    r"\u1000-\u109f\u1780-\u17d3])+"
)
# Scripts that part no words: Thai to Lao, Myanmar, Khmer, kana, Han.
_UNPARTED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+"
)
_ACCENT = re.compile(r"[\u0300-\u036f]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, made equal where they mean the same.

    Case, width and accents don't count, nor does a plural's ``s``.  A script
    without blanks gives its pairs of neighbouring characters.
    """
    if text.isascii():  # most passages, at a fifth of the cost
        return [_singular(word) for word in _ASCII_WORD.findall(text.lower())]
    text = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    text = unicodedata.normalize("NFC", text).casefold()
    return [
        _singular(part)  # which leaves pairs as they are
        for match in _WORD.finditer(text)
        for part in cut_runs(match.group(), _UNPARTED)
    ]


def cut_runs(word: str, unparted: re.Pattern[str]) -> Iterator[str]:
    """Yield ``word`` with its runs of ``unparted`` scripts cut into pairs of neighbours.

    A run of one character stays one; what stands between runs is kept whole.
    """
    if word.isascii():
        yield word
        return
    end = 0
    for match in unparted.finditer(word):
        if match.start() > end:
            yield word[end : match.start()]
        run, end = match.group(), match.end()
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    if end < len(word):
        yield word[end:]


def _singular(word: str) -> str:
    """Return ``word`` without a plural's ending, by the two rules that err least."""
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "su":
        return word[:-1]
    return word


class Bm25:
    """Some texts, each ready to be scored by the words of a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(words(text)) for text in texts]
        lengths = [counts.total() for counts in self._counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        self._damping = [_K1 * (1 - _B + _B * length / mean) for length in lengths]

    def scores(self, query: str) -> list[float]:
        """Return one score per text, at least 0; 0 says that no word is shared.

        A word counts once, however often the query says it.  The sums are
        exactly rounded, so neither the order of words nor that of texts
        matters.
        """
        terms: list[list[float]] = [[] for _ in self._counts]
        for word in set(words(query)):
            holders = [row for row, counts in enumerate(self._counts) if word in counts]
            if not holders:
                continue
            absent = len(self._counts) - len(holders)
            rarity = math.log1p((absent + 0.5) / (len(holders) + 0.5))
            for row in holders:
                count = self._counts[row][word]
                terms[row].append(rarity * count / (count + self._damping[row]))
        return [math.fsum(found) for found in terms]
