"""Undoing a body's content-encoding in small steps, so that no bomb goes off."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["ACCEPT_ENCODING", "ContentDecoder", "UndecodableError"]

ACCEPT_ENCODING: Final = "gzip, deflate"
"""What requests offer: the encodings that can be undone within bounds."""

_STEP_BYTES: Final = 64 * 2**10
_MAX_LAYERS: Final = 3
_GZIP: Final = zlib.MAX_WBITS | 16


class UndecodableError(Exception):
    """A body that is not in the encoding that its header names."""


class _Inflater:
    """One layer of gzip (any number of members) or deflate (with or without its wrapper)."""

    def __init__(self, encoding: str) -> None:
        self._gzip = encoding != "deflate"
        self._head = b""
        self._inflater = zlib.decompressobj(_GZIP) if self._gzip else None

    @property
    def complete(self) -> bool:
        """Whether the data so far ends where the encoding says it ends."""
        return not self._head if self._inflater is None else self._inflater.eof or not self._head

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what ``data`` adds, in pieces of at most 64 KiB."""
        if self._inflater is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return
            self._inflater = zlib.decompressobj(_deflate_wbits(data))
        self._head = self._head or data[:1]
        pending = bool(data)
        while pending:
            if self._inflater.eof:
                if not (self._gzip and data[:2] in (b"\x1f\x8b", b"\x1f")):
                    return  # padding after the end, which every client ignores
                self._inflater = zlib.decompressobj(_GZIP)
            try:
                piece = self._inflater.decompress(data, _STEP_BYTES)
            except zlib.error as error:
                raise UndecodableError(str(error)) from None
            if piece:
                yield piece
            data = self._inflater.unconsumed_tail or self._inflater.unused_data
            # A full step may leave output behind although all input is taken.
            pending = bool(data) or (len(piece) == _STEP_BYTES and not self._inflater.eof)


def _deflate_wbits(data: bytes) -> int:
    """Return how to read a deflate body: half of all servers leave its wrapper out."""
    wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    return zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS


class ContentDecoder:
    """Undoes the encodings of one ``Content-Encoding`` header, piece by piece.

    Raises :class:`UndecodableError` for an encoding that was not offered, and
    from :meth:`feed` for data that is not in the encoding it claims.
    """

    def __init__(self, encodings: Iterable[str]) -> None:
        names = [name.strip().lower() for name in encodings]
        names = [name for name in names if name not in ("", "identity")]
        for name in names:
            if name not in ("gzip", "x-gzip", "deflate"):
                raise UndecodableError(f"the server sent the encoding {name[:40]!r}")
        if len(names) > _MAX_LAYERS:
            raise UndecodableError(f"the body is encoded {len(names)} times over")
        # Encodings are listed in the order in which they were applied.
        self._layers = [_Inflater(name) for name in reversed(names)]

    @property
    def complete(self) -> bool:
        """Whether every layer has ended, so that nothing is missing."""
        return all(layer.complete for layer in self._layers)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded pieces that ``data`` adds; stop asking to stop the work."""
        return self._through(0, data)

    def _through(self, depth: int, data: bytes) -> Iterator[bytes]:
        if depth == len(self._layers):
            if data:
                yield data
            return
        for piece in self._layers[depth].feed(data):
            yield from self._through(depth + 1, piece)
