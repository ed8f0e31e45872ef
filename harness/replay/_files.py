"""Files of a run: written whole or not at all, read within a bound."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["read_bounded", "sweep", "write_atomic"]

_SUFFIX = ".hotseat-tmp"


def write_atomic(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Replace ``path`` by ``content``: bytes, or a function that writes to a file.

    The bytes reach the disk before the name does, so after a crash the file
    is the old one or the new one; a temporary file may be left (:func:`sweep`).
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_SUFFIX}")
    try:
        with temporary.open("xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove temporary files that a killed :func:`write_atomic` left in ``folder``."""
    for left in folder.glob(f".*{_SUFFIX}"):
        left.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_bounded(path: Path, limit_bytes: int) -> bytes:
    """Return a file's bytes; raises :class:`ValueError` when they are more than the limit."""
    with path.open("rb") as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise ValueError(f"it is larger than {limit_bytes} bytes")
    return data
