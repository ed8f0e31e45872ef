"""Text into units: sentences, and lines where a line is a row or an item.

A unit is a span ``(start, end)`` of the text.  Units come in order, do not
overlap, neither begin nor end with white space, and together cover every
character that is not white space.

The splitter is small on purpose and leans one way: where a full stop might
belong to an abbreviation, an initial or an ordinal, it does not split.  A unit
too long costs a little room, a sentence cut in two loses its meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

__all__ = ["Span", "is_heading", "units"]

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HEADING_CHARS = 80
_ROW = re.compile(
    r".*(?:\t|\s\|\s)"  # a table's row
    r"|\s*(?:[-*+•‣▪◦·–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))\s",  # an item of a list
    re.DOTALL,
)

_CLOSERS = "\"'”’»›)\\]}」』】〉》）］｝"
_OPENERS = frozenset("\"'“‘«‹„‚([{「『【〈《（［｛¿¡")
_END = re.compile(
    rf"(?P<soft>[.!?…]+)[{_CLOSERS}]*(?=\s)"  # ends a sentence when what follows looks like a start
    rf"|(?P<hard>[。！？｡؟۔।॥։።၊။។]+)[{_CLOSERS}]*"  # ends one always, no blank needed
)
_NO_BREAK = frozenset("\u00a0\u202f")  # a blank that says: do not part here
_WORD_CHARS = 24  # how far back a word before a stop is looked for
_CLAUSE = re.compile(r"[;:,—–]\s+|[、，；：]")
_BLANK = re.compile(r"\s+")
_WORD_BEFORE = re.compile(r"\w(?:[\w.’'-]*\w)?$")
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_]{1,2})+")  # U.S, e.g, z.B, Ph.D

# Words that take a full stop and rarely end a sentence, in the languages most
# pages come in; below, those that take one only before a number.  Case-folded.
# Written as text because a hundred quotation marks would hide the words.
_ABBREVIATIONS = frozenset(
    """
    adj approx apr asst aug ave bd bldg blvd bros ca capt cf cmdr co col corp cpl dec dept dir
    dist dr ed eds esq est etc ext feb fr ft gen gov hon inc jan jr jul jun lt ltd maj mar
    messrs mlle mme mr mrs ms msgr mt mts nov oct orig ph pl pres prof pt rep rev rt sec sen
    sep sept sgt sr st ste supt tel treas univ viz vs
    abb abs aufl bzgl bzw evtl geb gest ggf hl hrsg inkl jh mio mrd std str usw vgl zzgl
    avv dott ecc ing pag prov rag sig sigg
    av chap env éd pp rééd
    aprox avda cía dña dra excmo gral pág págs sra sres srta ud uds
    """.split()  # noqa: SIM905
)
_BEFORE_NUMBERS = frozenset(
    "art ch fig figs kap nn no nos nr num núm op par sec tab vol vols".split()  # noqa: SIM905
)


def units(text: str, limit: int) -> list[Span]:
    """Return the units of ``text``, each at most ``limit`` characters long (at least 1).

    A row of a table or an item of a list stays whole while it fits; a sentence
    longer than ``limit`` is parted after a clause, else at a blank, else
    anywhere but inside a combined character.
    """
    if limit < 1:
        raise ValueError("a unit needs room for a character")
    found: list[Span] = []
    for line in _LINE.finditer(text):
        span = _trim(text, line.start(), line.end())
        if span is None:
            continue
        keep_whole = span[1] - span[0] <= limit and _ROW.match(text, *span) is not None
        for start, end in [span] if keep_whole else _sentences(text, *span):
            found.extend(_pieces(text, start, end, limit))
    return found


def is_heading(text: str, spans: Sequence[Span], index: int) -> bool:
    """Whether unit ``index`` is a short line of its own that announces the longer unit below."""
    if index + 1 >= len(spans):
        return False
    start, end = spans[index]
    below_start, below_end = spans[index + 1]
    before = text[spans[index - 1][1] : start] if index else "\n"
    return (
        end - start <= _HEADING_CHARS
        and below_end - below_start > end - start
        and text[end - 1].isalnum()
        and _BREAK.search(before) is not None
        and _BREAK.search(text, end, below_start) is not None
    )


def _trim(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _END.finditer(text, start, end):
        if match["hard"] or _starts_anew(text, match, start, end):
            span = _trim(text, start, match.end())
            if span is not None:
                yield span
            start = match.end()
    span = _trim(text, start, end)
    if span is not None:
        yield span


def _starts_anew(text: str, match: re.Match[str], start: int, end: int) -> bool:
    """Whether the stop that ``match`` found ends a sentence, by what stands around it."""
    if text[match.end()] in _NO_BREAK:
        return False
    at = match.end()
    while at < end and (text[at].isspace() or text[at] in _OPENERS):
        at += 1
    if at == end:
        return True
    following = text[at]
    if following.islower() or following in ",;:.!?…":
        return False
    if match.group() != ".":  # a question, an exclamation, an ellipsis, a closed quotation
        return True
    word = _WORD_BEFORE.search(text, max(start, match.start() - _WORD_CHARS), match.start())
    return word is None or not _keeps_stop(word.group().casefold(), following)


def _keeps_stop(word: str, following: str) -> bool:
    """Whether a full stop after ``word`` belongs to the word."""
    if len(word) == 1 and word.upper() != word:  # an initial
        return True
    if word.isdecimal() and len(word) <= 2:  # an ordinal, "am 3. Oktober", or an item's number
        return True
    if _DOTTED.fullmatch(word) or word in _ABBREVIATIONS:
        return True
    return word in _BEFORE_NUMBERS and following.isdigit()


def _pieces(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    """Part a span that is longer than ``limit``."""
    while end - start > limit:
        cut = _cut(text, start, limit)
        span = _trim(text, start, cut)
        if span is not None:
            yield span
        start = cut
    span = _trim(text, start, end)
    if span is not None:
        yield span


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to part, in the second half of ``text[start : start + limit]``."""
    low, high = start + limit // 2, start + limit
    for pattern in (_CLAUSE, _BLANK):
        cuts = [match.end() for match in pattern.finditer(text, low, high)]
        if cuts:
            return cuts[-1]
    cut = high
    while cut > max(low, start + 1) and _joined(text[cut - 1], text[cut]):
        cut -= 1
    return cut if cut > max(low, start + 1) else high


def _joined(left: str, right: str) -> bool:
    """Whether two characters make one: an accent, a variation, a joined emoji."""
    return (
        unicodedata.combining(right) != 0
        or right in "\u200d\ufe0e\ufe0f"
        or left == "\u200d"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )
