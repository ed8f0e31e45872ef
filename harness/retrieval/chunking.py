"""Documents into chunks: plain windows, or whole sentences packed up to a size.

Both chunkers return slices of the text.  Together they cover, in order, every
character that is not white space; none is blank; none spans more than
``chunk_chars`` characters; neighbours share at most ``chunk_overlap`` ones and
never more than half a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.retrieval.sentences import Span, is_heading, units

__all__ = ["Chunk", "chunk_text", "one_line", "tidy"]

_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_BLANKS = re.compile(r"[^\S\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice ``[start, end)`` of a text, and that slice made tidy."""

    start: int
    end: int
    text: str


def chunk_text(
    text: str, *, chunker: Literal["sentences", "characters"], size: int, overlap: int
) -> list[Chunk]:
    """Cut ``text`` into chunks of at most ``size`` characters (at least 1).

    ``overlap`` is the number of characters neighbours may share; above half of
    ``size`` it counts as half of it.
    """
    if size < 1:
        raise ValueError("a chunk needs room for a character")
    overlap = min(max(overlap, 0), size // 2)
    spans = (_packed if chunker == "sentences" else _windows)(text, size, overlap)
    chunks = (Chunk(start, end, tidy(text[start:end])) for start, end in spans)
    return [chunk for chunk in chunks if chunk.text]


def tidy(text: str) -> str:
    """Return ``text`` with one blank for blanks, one line break for line breaks.

    Half a surrogate pair, which no encoder takes, becomes U+FFFD.
    """
    text = _SURROGATES.sub("\ufffd", text)
    return _BLANKS.sub(" ", _BREAKS.sub("\n", text)).strip()


def one_line(text: str, at_most: int = 120) -> str:
    """Return a title or a date on one line of at most ``at_most`` characters."""
    line = " ".join(tidy(text).split())
    return line if len(line) <= at_most else line[: at_most - 1].rstrip() + "…"


def _windows(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Yield fixed windows: the baseline, blind to what it cuts."""
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        yield start, end
        if end == len(text):
            return
        start = end - overlap


def _packed(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Yield units packed up to ``size``; the last ones of a chunk may also begin the next."""
    spans = units(text, size)
    first = 0
    while first < len(spans):
        floor, last = first, first
        while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= size:
            last += 1
        while last > first and is_heading(text, spans, last):
            last -= 1  # a heading belongs to what it announces
        yield spans[first][0], spans[last][1]
        if last + 1 == len(spans):
            return
        first = last + 1
        if not is_heading(text, spans, first):  # nothing is shared across a heading
            first = _with_overlap(spans, first, floor, size, overlap)


def _with_overlap(spans: list[Span], fresh: int, floor: int, size: int, overlap: int) -> int:
    """Return where to begin the chunk that must hold unit ``fresh``, after unit ``floor``."""
    first = fresh
    end, beyond = spans[fresh - 1][1], spans[fresh][1]
    while (
        first - 1 > floor
        and end - spans[first - 1][0] <= overlap
        and beyond - spans[first - 1][0] <= size
    ):
        first -= 1
    return first
