"""Reading numbers and names from a stranger's file without believing its lengths."""

from __future__ import annotations

from typing import BinaryIO

__all__ = ["Bounded", "Cut"]

_MAX_NAME_BYTES = 1 << 12


class Cut(Exception):  # noqa: N818 - a signal to the caller, who knows the file's name
    """The file ends early, or says something that can't be."""


class Bounded:
    """A reader of little-endian values that never leaves the file."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        self._file = file
        self._size = size_bytes

    def tell(self) -> int:
        """Return the position in the file."""
        return self._file.tell()

    def skip(self, size_bytes: int) -> None:
        """Move on; raises :class:`Cut` beyond the end."""
        if size_bytes < 0 or self._file.tell() + size_bytes > self._size:
            raise Cut
        self._file.seek(size_bytes, 1)

    def take(self, size_bytes: int) -> bytes:
        """Read so many bytes; raises :class:`Cut` beyond the end."""
        data = self._file.read(size_bytes)
        if len(data) != size_bytes:
            raise Cut
        return data

    def u32(self) -> int:
        """Read an unsigned number of four bytes."""
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        """Read an unsigned number of eight bytes."""
        return int.from_bytes(self.take(8), "little")

    def text(self, size_bytes: int) -> str:
        """Read a name of a few bytes; raises :class:`Cut` for a long or odd one."""
        if size_bytes > _MAX_NAME_BYTES:
            raise Cut
        try:
            return self.take(size_bytes).decode("utf-8")
        except UnicodeDecodeError:
            raise Cut from None
