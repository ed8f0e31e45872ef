"""What a database or a disk raises, as one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import diskcache

from harness.errors import CorpusDamagedError, CorpusError, DiskFullError, is_disk_full

__all__ = ["guarded", "is_full"]


@contextmanager
def guarded(folder: Path) -> Iterator[None]:
    """Turn what using the store in ``folder`` raises into an error of the family."""
    try:
        yield
    except diskcache.Timeout:
        raise _held(folder) from None
    except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError) as error:
        if is_full(error):
            raise DiskFullError(folder) from None
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise _held(folder) from None
        if "decode" in str(error):  # text that is none: of a kind with damage
            raise _damaged(folder, error) from None
        raise CorpusError(
            f"The store in {folder} can't be used: {error}.",
            remedy="Check the folder and the space on its disk.",
        ) from None
    except sqlite3.DatabaseError as error:
        raise _damaged(folder, error) from None


def _held(folder: Path) -> CorpusError:
    return CorpusError(
        f"The store in {folder} can't be written: another program holds it.",
        remedy="Try again when the other program has ended.",
    )


def _damaged(folder: Path, error: Exception) -> CorpusDamagedError:
    return CorpusDamagedError(
        f"The store in {folder} is damaged: {error}.",
        remedy="Restore it from an export; 'hotseat corpus verify' lists the damage.",
    )


def is_full(error: Exception) -> bool:
    """Return whether an error says that the disk, or the user's share of it, is full."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return is_disk_full(error)
