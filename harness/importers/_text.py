"""Bytes of unsure encoding to clean text.  No I/O but the reading of lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import BinaryIO, Final

from harness.question_file import MAX_LINE_BYTES

__all__ = ["NOT_UTF8", "OVERLONG", "clean_text", "decode", "read_lines"]

OVERLONG: Final = f"the line is longer than {MAX_LINE_BYTES // 1024} KB"
NOT_UTF8: Final = "a line is not UTF-8; its odd bytes were read as Windows-1252"

_CHUNK_BYTES = 2**16
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
# A right quotation mark whose last byte a former conversion replaced by "?".
_BROKEN_QUOTE = re.compile(rb"\xe2\x80\?")
_SPACE = re.compile(r"\s+")
# Joins emoji and letters of some scripts; every other invisible character goes.
_KEPT_FORMAT = frozenset("\u200c\u200d")


def decode(raw: bytes) -> tuple[str, bool]:
    """Return text and whether it was plain UTF-8.

    What is valid UTF-8 is read as that; every other byte as Windows-1252, or
    as Latin-1 where that has no character for it.  So one line may mix them,
    as files do that were put together from several.
    """
    try:
        return raw.decode("utf-8"), True
    except UnicodeDecodeError:
        mended = _BROKEN_QUOTE.sub("\u201d".encode(), raw)
    parts: list[str] = []
    while mended:
        try:
            parts.append(mended.decode("utf-8"))
            break
        except UnicodeDecodeError as error:
            parts.append(mended[: error.start].decode("utf-8"))
            parts.append(_single(mended[error.start]))
            mended = mended[error.start + 1 :]
    return "".join(parts), False


def _single(byte: int) -> str:
    raw = bytes([byte])
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def clean_text(text: str) -> str:
    """Return a text in NFC, on one line, without control and invisible characters.

    Half surrogate pairs, which can't be stored, become replacement characters.
    """
    kept: list[str] = []
    for char in text:
        kind = unicodedata.category(char)
        if kind == "Cs":
            kept.append("\ufffd")
        elif char.isspace() or kind == "Cc":
            kept.append(" ")
        elif kind != "Cf" or char in _KEPT_FORMAT:
            kept.append(char)
    # Composed last: what an invisible character kept apart may combine now.
    return _SPACE.sub(" ", unicodedata.normalize("NFC", "".join(kept))).strip()


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield (line number, bytes without line end); ``None`` for an over-long line.

    Lines end with CR LF, LF or a lone CR, also mixed; memory stays bounded.
    """
    number, rest, overlong = 0, b"", False
    while chunk := file.read(_CHUNK_BYTES):
        # A CR at the very end may be the first half of a CR LF.
        held = rest + chunk
        tail = b""
        if held.endswith(b"\r"):
            held, tail = held[:-1], b"\r"
        *lines, rest = _LINE_END.split(held)
        for line in lines:
            number += 1
            yield number, _whole(line, number, overlong=overlong)
            overlong = False
        rest += tail
        if len(rest) > MAX_LINE_BYTES + 1:
            rest, overlong = rest[-1:] if tail else b"", True
    if rest or overlong:
        yield number + 1, _whole(rest.removesuffix(b"\r"), number + 1, overlong=overlong)


def _whole(line: bytes, number: int, *, overlong: bool) -> bytes | None:
    if overlong or len(line) > MAX_LINE_BYTES:
        return None
    return line.removeprefix(_BOM) if number == 1 else line
