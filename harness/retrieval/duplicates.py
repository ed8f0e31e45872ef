"""Texts that say again what another one says: copies, mirrors, snippets of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.evidence import Passage
from harness.quiz import normalise_text

__all__ = ["distinct", "repeats", "shingles"]

_SHINGLE_CHARS = 8


def shingles(text: str) -> frozenset[str]:
    """Return the runs of eight letters of ``text``, normalised and without blanks.

    Characters rather than words, so that it works where no blanks part words.
    """
    letters = "".join(normalise_text(text).split())
    last = max(len(letters) - _SHINGLE_CHARS, 0)
    return frozenset(letters[at : at + _SHINGLE_CHARS] for at in range(last + 1))


def repeats(new: frozenset[str], known: frozenset[str], share: float) -> bool:
    """Whether at least ``share`` of ``new`` stands in ``known`` already.

    Neighbouring chunks share at most half, so with a share above that they
    don't count as repeats.
    """
    return len(new & known) >= share * len(new)


def distinct(
    passages: Iterable[Passage], *, at_most: int, repeated: float, per_source: int
) -> list[Passage]:
    """Return the first ``at_most`` passages that bring something of their own.

    Left out is one of which a share of ``repeated`` stands in a better one,
    and one whose page already gave ``per_source`` (0: no limit).  A page is
    known by its address.
    """
    chosen: list[Passage] = []
    known: list[frozenset[str]] = []
    given: Counter[str] = Counter()
    for passage in passages:
        if len(chosen) == at_most:
            break
        if per_source and given[passage.url] == per_source:
            continue
        own = shingles(passage.text)
        if not any(repeats(own, other, repeated) for other in known):
            chosen.append(passage)
            known.append(own)
            given[passage.url] += 1
    return chosen
