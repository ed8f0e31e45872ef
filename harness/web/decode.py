"""From a page's bytes to text: by header, then byte-order mark and meta, then a guess.

Labels on the real web are often wrong, so each is only a proposal: the bytes
have to fit.  Pure functions; the caller bounds the number of bytes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Decoded", "charset_label", "decode"]

_META_BYTES = 4_096
_GUESS_BYTES = 64_000
# A label is believed when at most one character in this many does not fit.
_TOLERANCE = 200

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w:.\-]+)", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w:.\-]+)", re.IGNORECASE)

# Text encodings of the web (WHATWG Encoding), by Python's name.  Python knows
# others that must not be reachable from a page: "unicode_escape", "utf-7", "zlib".
_LATIN = frozenset({"cp1252", "iso8859-15", "iso8859-9", "cp1254"})
_MORE = """
    utf-8 utf-16-le utf-16-be
    cp866 koi8-r koi8-u mac-roman mac-cyrillic
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7
    iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-16
    cp874 cp1250 cp1251 cp1253 cp1255 cp1256 cp1257 cp1258
    gb18030 big5hkscs euc_jp cp932 iso2022_jp cp949
"""
_WEB = _LATIN | frozenset(_MORE.split())
# What unlabelled pages are guessed among; rarer charsets only attract mistakes.
_COMMON = "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 koi8_r gb18030 big5 cp932 euc_jp cp949"
_LIKELY = tuple(_COMMON.split())
_WESTERN = frozenset(
    "àâäáãåæçèéêëìíîïñòóôöõøœùúûüßÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÖÕØŒÙÚÛÜ¿¡«»“”‘’–—€£§°…·©®\xa0"
)
_ALIASES = {
    # As browsers do: what calls itself Latin-1 or ASCII is windows-1252.
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "utf-16": "utf-16-le",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}
_ODD_LABELS = {"x-sjis": "cp932", "x-gbk": "gb18030", "unicode": "utf-8", "utf8mb4": "utf-8"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A page's text, the charset (Python's name) and what it was chosen by."""

    text: str
    charset: str
    chosen_by: Literal["header", "mark", "meta", "content", "guess", "last resort"]


def charset_label(label: str) -> str | None:
    """Return Python's name for a web charset label, ``None`` if there is none."""
    cleaned = label.strip().strip("\"'").lower()
    cleaned = _ODD_LABELS.get(cleaned, cleaned)
    try:
        name = codecs.lookup(cleaned).name
    except (LookupError, ValueError, UnicodeError):  # ValueError: a NUL in the label
        return None
    name = _ALIASES.get(name, name)
    return name if name in _WEB else None


def decode(body: bytes, content_type: str = "") -> Decoded:
    """Return the text of ``body``; never fails.

    Tried in this order, and left where the bytes don't fit: the header's
    charset, a byte-order mark, the page's own ``meta`` or XML declaration,
    UTF-8, a statistical guess, and last windows-1252 with replacements.  A
    Latin label loses against bytes that are well-formed UTF-8 with accented
    letters, which is no accident.  An incomplete character at the end (a page
    that was cut) is left out; NULs are removed.
    """
    proposals = list(_proposals(body, content_type))
    for charset, chosen_by in proposals:
        if charset in _LATIN and chosen_by != "mark" and _is_accented_utf8(body):
            return Decoded(_strip(_try(body, "utf-8") or ""), "utf-8", "content")
        text = _try(body, charset)
        if text is not None:
            return Decoded(_strip(text), charset, chosen_by)
    guessed = _guess(body)
    text = _try(body, guessed) if guessed else None
    if guessed and text is not None:
        return Decoded(_strip(text), guessed, "guess")
    return Decoded(_strip(body.decode("cp1252", "replace")), "cp1252", "last resort")


_ChosenBy = Literal["header", "mark", "meta", "content"]


def _proposals(body: bytes, content_type: str) -> Iterator[tuple[str, _ChosenBy]]:
    header = _HEADER.search(content_type)
    named = charset_label(header.group(1)) if header else None
    if named:
        yield named, "header"
    for mark, charset in _BOMS:
        if body.startswith(mark):
            yield charset, "mark"
    head = body[:_META_BYTES]
    for pattern in (_META, _XML):
        found = pattern.search(head)
        named = charset_label(found.group(1).decode("ascii", "replace")) if found else None
        if named:
            # A declaration that could be read as ASCII is not in UTF-16.
            yield ("utf-8" if named.startswith("utf-16") else named), "meta"
    yield "utf-8", "content"


def _try(body: bytes, charset: str) -> str | None:
    """Decode, tolerating a few broken characters; ``None`` when the charset does not fit."""
    decoder = codecs.getincrementaldecoder(charset)
    try:
        return decoder("strict").decode(body, final=False)
    except UnicodeError:
        text = decoder("replace").decode(body, final=False)
    broken = text.count("\ufffd")
    letters = sum(char > "\x7f" for char in text) if charset == "utf-8" else len(text)
    # In UTF-8 most accented letters must be sound, or it is another charset.
    return text if broken * _TOLERANCE <= len(text) and broken * 4 <= letters else None


def _is_accented_utf8(body: bytes) -> bool:
    if body.isascii():
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")("strict").decode(body, final=False)
    except UnicodeError:
        return False
    return not text.isascii()


def _guess(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(body[:_GUESS_BYTES], cp_isolation=list(_LIKELY)).best()
    if best is None:
        return None
    # Where several give the same text, the commonest is the one to name.
    names = sorted({best.encoding, *best.could_be_from_charset}, key=_LIKELY.index)
    if names[0] in ("cp1250", "cp1254"):
        # "città" and "cittŕ" look alike to statistics.  Central European text
        # read as windows-1252 shows signs that no Western text has.
        western = body[:_GUESS_BYTES].decode("cp1252", "replace")
        if all(char.isascii() or char in _WESTERN for char in western):
            return "cp1252"
    return charset_label(names[0])


def _strip(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\x00", "")
