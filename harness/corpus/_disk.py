"""Values on disk: plain bytes in rows or in files, and nothing else.

The half of ``diskcache`` that turns values into columns, without pickle, and
with the names of files checked before they are believed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW

from harness.corpus._limits import MAX_STORED_BYTES
from harness.errors import CorpusDamagedError

__all__ = ["FILE_NAME", "BytesDisk", "refusal"]

FILE_NAME: Final = re.compile(r"[0-9a-f]{2}[\\/][0-9a-f]{2}[\\/][0-9a-f]{28}\.val")
"""The form of the names that the library gives to files of values."""

_BINARY: Final[int] = getattr(os, "O_BINARY", 0)


def refusal(what: str) -> CorpusDamagedError:
    """Return the error for what no version of Hotseat can have stored."""
    return CorpusDamagedError(
        f"The store holds {what}, which Hotseat never writes; it was not read.",
        remedy="Don't use this corpus unless you know who changed it.",
    )


class BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are ``str``, values ``bytes``; whatever else a row holds is refused."""

    def put(self, key: object) -> tuple[str, bool]:
        """Return the database form of a key; ``TypeError`` unless it is ``str``."""
        if type(key) is not str:
            raise TypeError(f"a key must be str, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        """Return a key read from the database."""
        if type(key) is not str or not raw:
            raise refusal("a key that is no text")
        return key

    def store(
        self, value: object, read: bool, key: object = None
    ) -> tuple[int, int, str | None, Any]:
        """Return the columns for a value; ``TypeError`` unless it is ``bytes``."""
        if type(value) is not bytes or read:
            raise TypeError(f"a value must be bytes, not {type(value).__name__}")
        columns: tuple[int, int, str | None, Any] = super().store(value, False, key=key)
        return columns

    def _write(
        self, full_path: str, iterator: Iterable[bytes], mode: str, encoding: str | None = None
    ) -> int:
        """Write a value's file; half of one, as on a full disk, is taken away again."""
        try:
            size: int = super()._write(full_path, iterator, mode, encoding)
        except FileExistsError:  # somebody else's
            raise
        except BaseException:
            Path(full_path).unlink(missing_ok=True)
            raise
        return size

    def fetch(self, mode: object, filename: object, value: object, read: object) -> bytes:
        """Return the value of a row, from the database or from its file."""
        if mode == MODE_RAW and filename is None and type(value) is bytes:
            return value
        if mode != MODE_BINARY or value is not None or type(filename) is not str:
            raise refusal("a value that is not plain bytes")
        if not FILE_NAME.fullmatch(filename):
            raise refusal("the name of a file outside it")
        return _read_file(os.path.join(self._directory, filename))  # noqa: PTH118 - fast

    def remove(self, file_path: str) -> None:
        """Delete a value's file; a name that is not one of ours is left alone."""
        if FILE_NAME.fullmatch(file_path):
            super().remove(file_path)


def _read_file(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _BINARY)
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_STORED_BYTES:
            raise refusal("a value that is no regular file of a sensible size")
        # Not by way of a file object, which would set aside the most that may come.
        pieces = [os.read(descriptor, found.st_size + 1)]
        while len(pieces[-1]) and sum(map(len, pieces)) < found.st_size:
            pieces.append(os.read(descriptor, found.st_size + 1))
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(descriptor)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unreadable(path: str, error: OSError) -> CorpusDamagedError:
    return CorpusDamagedError(
        f"The stored file {path} can't be read: {error.strerror}.",
        remedy="Restore it, or record the page again.",
    )
