"""Files that appear whole or not at all, also when the program is killed while writing them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

__all__ = ["atomic_file", "write_atomic"]

_PREFIX_CHARS: Final = 32
"""Of a file's name in that of the temporary one, which would be too long for a long name's."""


@contextmanager
def atomic_file(path: Path, *, exclusive: bool = False, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all.

    It is written beside its place, flushed to the disk and moved over.  A kill
    leaves the old file, and at worst a hidden temporary one, ``.<the beginning
    of the name>.…``.  ``exclusive`` raises ``FileExistsError`` rather than
    replacing a file; ``mode`` says who may read and write it.  Raises
    ``OSError``, with the old file as it was.
    """
    prefix = f".{path.name[:_PREFIX_CHARS]}."
    handle, temporary = tempfile.mkstemp(prefix=prefix, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)  # mkstemp keeps it from everybody else
        if exclusive:
            _move_to_new(Path(temporary), path)
        else:
            Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _move_to_new(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: no better than looking first
        if target.exists():
            raise FileExistsError(target) from None
        source.replace(target)
    else:
        source.unlink()


def write_atomic(path: Path, data: bytes, *, exclusive: bool = False, mode: int = 0o644) -> None:
    """Write ``data`` to ``path``, whole or not at all; see :func:`atomic_file`."""
    with atomic_file(path, exclusive=exclusive, mode=mode) as file:
        file.write(data)
