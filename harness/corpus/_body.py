"""Bodies on disk: a checksum, then one zstd frame; every byte of it is covered.

Format: CRC-32 of the frame (4 bytes, little-endian), then the frame, which
states its content's size.  The CRC covers what the content's hash can't see,
such as bits of the frame's header that decoders ignore; the SHA-256 by which
a body is addressed covers the content.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from typing import Final

import zstandard

from harness.corpus._limits import MAX_BODY_BYTES

__all__ = ["UnreadableError", "body_sha256", "pack", "unpack"]

_CRC_BYTES: Final = 4
_LEVEL: Final = 3

_local = threading.local()


class UnreadableError(Exception):
    """Stored bytes that are not what was written; the text says why."""


def body_sha256(body: bytes) -> str:
    """Return the hex hash by which a body is addressed."""
    return hashlib.sha256(body).hexdigest()


def _decompressor() -> zstandard.ZstdDecompressor:
    """Return the thread's own: making one takes as long as unpacking a page."""
    found: zstandard.ZstdDecompressor | None = getattr(_local, "decompressor", None)
    if found is None:
        found = _local.decompressor = zstandard.ZstdDecompressor()
    return found


def pack(body: bytes, *, level: int = _LEVEL) -> bytes:
    """Return a body as it is stored, packed the tighter the higher ``level``.

    Raises ``ValueError`` over 64 MiB.
    """
    if len(body) > MAX_BODY_BYTES:
        raise ValueError(f"a body may have {MAX_BODY_BYTES} bytes, not {len(body)}")
    frame = zstandard.ZstdCompressor(level=level, write_content_size=True).compress(body)
    return zlib.crc32(frame).to_bytes(_CRC_BYTES, "little") + frame


def unpack(stored: bytes, sha256: str) -> bytes:
    """Return the body that was stored under its hash.

    Never allocates more than the largest body allowed, whatever the frame
    claims.  Raises :class:`UnreadableError` for any difference.
    """
    checksum, frame = stored[:_CRC_BYTES], memoryview(stored)[_CRC_BYTES:]
    if zlib.crc32(frame).to_bytes(_CRC_BYTES, "little") != checksum:
        raise UnreadableError("its checksum does not fit")
    try:
        size = zstandard.get_frame_parameters(frame).content_size
        if size > MAX_BODY_BYTES:  # an unstated size reads as the largest number
            raise UnreadableError("it claims to be larger than any body")
        body = _decompressor().decompress(frame, allow_extra_data=False) if size else b""
    except zstandard.ZstdError as error:
        raise UnreadableError(f"it can't be decompressed ({error})") from None
    if body_sha256(body) != sha256:
        raise UnreadableError("its content does not fit its hash")
    return body
