"""A WARC file cut into plain records, bounded, and going on after damage.

Exporters compress each record by itself, so a damaged one can be left out and
reading can resume at the next.  The members are found here, with ``zlib`` held
to limits; only a plain record of a known size is handed on for parsing.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from harness.corpus._limits import (
    MAX_HEADER_BYTES,
    MAX_PROBLEMS,
    MAX_RATIO,
    MAX_RECORD_BYTES,
    MAX_RECORDS,
    RATIO_FREE_BYTES,
)

__all__ = ["DamagedPart", "PlainRecord", "split"]

_CHUNK_BYTES: Final = 64 * 2**10
_SALVAGE_STEP_BYTES: Final = 4
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
# A gzip header with a comment and a checksum, as exports have it.
_NAMED = re.compile(rb"(\x1f\x8b\x08\x12.{6}([^\0]{1,150})\0)(..)", re.DOTALL)
_MAX_NAME_BYTES: Final = 200
_WARC_MAGIC: Final = b"WARC/"
_NEXT_PLAIN: Final = b"\r\n\r\nWARC/1."
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """One uncompressed record, header and block, and where it (or its member) began."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """A place that could not be read.

    ``head`` is the beginning of what still could; ``name`` is what the gzip
    header calls the member.
    """

    offset: int
    reason: str
    head: bytes = b""
    name: str = ""


class _BrokenError(Exception):
    def __init__(self, reason: str, head: bytes = b"", resume: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.head = head[:MAX_HEADER_BYTES]
        self.resume = resume


def split(path: Path) -> Iterator[PlainRecord | DamagedPart]:
    """Yield the records of a ``.warc`` or ``.warc.gz`` file, and its damaged places.

    After ``MAX_RECORDS`` records or ``MAX_PROBLEMS`` damaged places a last
    :class:`DamagedPart` says that the rest was left unread.  Raises ``OSError``.
    """
    records = problems = 0
    for part in _parts(path):
        yield part
        records += isinstance(part, PlainRecord)
        problems += isinstance(part, DamagedPart)
        if records >= MAX_RECORDS or problems >= MAX_PROBLEMS:
            what = "records" if records >= MAX_RECORDS else "damaged places"
            yield DamagedPart(part.offset, f"too many {what}; the rest was left unread")
            return


def _parts(path: Path) -> Iterator[PlainRecord | DamagedPart]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(2) == _GZIP_MAGIC[:2] or path.name.endswith(".gz"):
            yield from _members(file, size)
        else:
            yield from _plain_records(file, size)


def _members(file: IO[bytes], size: int) -> Iterator[PlainRecord | DamagedPart]:
    offset = 0
    while offset < size:
        try:
            data, end = _read_member(file, offset)
        except _BrokenError as broken:
            resume = _next_member(file, offset + 1)
            cut = resume is None and broken.reason == _CUT
            reason = f"the file is cut off after {size} bytes" if cut else broken.reason
            yield DamagedPart(offset, reason, broken.head, _member_name(file, offset))
            if resume is None:
                return
            offset = resume
            continue
        for part in _plain_records(io.BytesIO(data), len(data)):
            if isinstance(part, PlainRecord):
                yield PlainRecord(offset, part.data)
            else:
                yield DamagedPart(offset, part.reason, part.head)
        offset = end


_CUT: Final = "its end is missing"


def _read_member(file: IO[bytes], offset: int) -> tuple[bytes, int]:
    """Return a gzip member's content and the offset behind it."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    content = bytearray()
    position = offset
    file.seek(offset)
    while not inflater.eof:
        packed = inflater.unconsumed_tail or file.read(_CHUNK_BYTES)
        if not inflater.unconsumed_tail:
            position += len(packed)
        try:
            # Without new input this asks for output that is still pending.
            piece = inflater.decompress(packed, _CHUNK_BYTES)
        except zlib.error as error:
            head = _salvage(file, offset)
            raise _BrokenError(f"it can't be decompressed ({error})", head) from None
        content += piece
        if not packed and not piece and not inflater.eof:
            raise _BrokenError(_CUT, bytes(content))
        if len(content) > MAX_RECORD_BYTES:
            raise _BrokenError(f"it is larger than {MAX_RECORD_BYTES} bytes", bytes(content))
        used = position - offset - len(inflater.unconsumed_tail)
        if len(content) > max(RATIO_FREE_BYTES, MAX_RATIO * used):
            raise _BrokenError(f"it unpacks to over {MAX_RATIO} times its size", bytes(content))
    return bytes(content), position - len(inflater.unused_data)


def _salvage(file: IO[bytes], offset: int) -> bytes:
    """Return what a damaged member holds before the damage, as far as a header goes."""
    file.seek(offset)
    packed = file.read(_CHUNK_BYTES)
    named = _NAMED.match(packed)
    # Behind a header that may itself be what is damaged, the data is raw.
    start, wbits = (named.end(), -zlib.MAX_WBITS) if named else (0, zlib.MAX_WBITS | 16)
    inflater = zlib.decompressobj(wbits)
    content = bytearray()
    # An error takes with it all that its call had unpacked, hence small steps.
    for place in range(start, len(packed), _SALVAGE_STEP_BYTES):
        try:
            content += inflater.decompress(packed[place : place + _SALVAGE_STEP_BYTES])
        except zlib.error:
            break
        if inflater.eof or len(content) >= MAX_HEADER_BYTES:
            break
    return bytes(content)


def _member_name(file: IO[bytes], offset: int) -> str:
    """Return the comment in a gzip header of the form that exports have, else nothing."""
    file.seek(offset)
    match = _NAMED.match(file.read(_MAX_NAME_BYTES))
    if match is None or zlib.crc32(match[1]) & 0xFFFF != int.from_bytes(match[3], "little"):
        return ""
    return match[2].decode("ascii", "replace")


def _next_member(file: IO[bytes], start: int) -> int | None:
    """Return where the next member that holds a WARC record begins."""
    position, overlap = start, b""
    while True:
        file.seek(position + len(overlap))
        chunk = file.read(_CHUNK_BYTES)
        if not chunk:
            return None
        window = overlap + chunk
        found = window.find(_GZIP_MAGIC)
        while found >= 0:
            if _begins_record(file, position + found):
                return position + found
            found = window.find(_GZIP_MAGIC, found + 1)
        overlap = window[-(len(_GZIP_MAGIC) - 1) :]
        position += len(window) - len(overlap)


def _begins_record(file: IO[bytes], offset: int) -> bool:
    file.seek(offset)
    try:
        head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(file.read(1024), 5)
    except zlib.error:
        return False
    return head == _WARC_MAGIC


def _plain_records(file: IO[bytes], size: int) -> Iterator[PlainRecord | DamagedPart]:
    offset = 0
    while offset < size:
        try:
            data, end = _read_plain(file, offset, size)
        except _BrokenError as broken:
            yield DamagedPart(offset, broken.reason, broken.head)
            resume = broken.resume or _next_plain(file, offset + 1)
            if resume is None:
                return
            offset = resume
            continue
        yield PlainRecord(offset, data)
        offset = end


def _read_plain(file: IO[bytes], offset: int, size: int) -> tuple[bytes, int]:
    """Return an uncompressed record without its closing lines, and the offset behind them."""
    file.seek(offset)
    head = file.read(MAX_HEADER_BYTES)
    if not head.startswith(_WARC_MAGIC):
        raise _BrokenError("no WARC record begins here")
    border = head.find(b"\r\n\r\n")
    if border < 0:
        short = len(head) < MAX_HEADER_BYTES
        raise _BrokenError(_CUT if short else "its header is too long", head)
    header_bytes = border + 4
    match = _LENGTH.search(head, 0, border + 2)
    if match is None:
        raise _BrokenError("its header states no length", head[:header_bytes])
    length = header_bytes + int(match[1])
    if offset + length > size:
        raise _BrokenError(f"the file is cut off after {size} bytes", head[:header_bytes])
    if length > MAX_RECORD_BYTES:
        raise _BrokenError(
            f"it is larger than {MAX_RECORD_BYTES} bytes",
            head[:header_bytes],
            resume=offset + length + 4,
        )
    file.seek(offset)
    data = file.read(length)
    closing = file.read(4)
    if closing not in (b"\r\n\r\n", b""):
        end = offset + length + len(closing)
        resume = end if file.read(len(_WARC_MAGIC)) == _WARC_MAGIC else None
        raise _BrokenError("its length is wrong", head[:header_bytes], resume)
    return data, offset + length + len(closing)


def _next_plain(file: IO[bytes], start: int) -> int | None:
    """Return where the next uncompressed record begins: after an empty line."""
    position, overlap = start, b""
    while True:
        file.seek(position + len(overlap))
        chunk = file.read(_CHUNK_BYTES)
        if not chunk:
            return None
        window = overlap + chunk
        found = window.find(_NEXT_PLAIN)
        if found >= 0:
            return position + found + 4
        overlap = window[-(len(_NEXT_PLAIN) - 1) :]
        position += len(window) - len(overlap)
