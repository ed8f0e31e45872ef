"""Giving back the room that a working corpus no longer needs; what is recorded stays as it is.

Nothing here needs other programs to be away: all that is dropped is dropped
in one transaction, which waits for writers as they wait for it, and a body
and its entry are stored in one transaction too.  A kill leaves the store
before or after each step, and the next compaction goes on.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.corpus._body import UnreadableError, pack, unpack
from harness.corpus._cache import WriteCache
from harness.corpus._disk import FILE_NAME
from harness.corpus._entry import Entry
from harness.corpus._guard import is_full
from harness.corpus._manifest import MANIFEST, QUESTIONS
from harness.corpus._store import Store
from harness.errors import CorpusDamagedError

__all__ = ["IMPORTING", "Compacted", "compact"]

IMPORTING: Final = ".import."
"""How the names of folders begin in which an import unpacks its source."""

# What an interrupted step leaves; younger ones may be another program's.
_LEFTOVER: Final = re.compile(
    rf"\.(?:{re.escape(MANIFEST)}|{re.escape(QUESTIONS)})\..+|{re.escape(IMPORTING)}.+"
)
_STALE_S: Final = 3600.0

_REPACK_LEVEL: Final = 15
_WORTHWHILE: Final = 0.95  # of a value's size, or of the database's pages


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did, and the bytes that the corpus takes before and after it.

    ``bodies`` counts those dropped because no entry points to them, ``files``
    the files and folders dropped because no row names them, ``repacked`` the
    bodies that were packed tighter.  ``notes`` says what was left undone.
    """

    before_bytes: int
    after_bytes: int
    bodies: int
    files: int
    repacked: int
    notes: tuple[str, ...] = ()


def compact(store: Store, folder: Path, *, repack: bool) -> Compacted:
    """Compact the working corpus in ``folder``, whose store is ``store``.

    Raises :class:`~harness.errors.CorpusError` when nothing may be written, or
    when another program holds the store for longer than half a minute.
    """
    before = _folder_bytes(folder)
    notes: list[str] = []
    with store.writer() as cache:
        bodies, files = _drop(store, cache, notes)
        repacked = _repack(cache) if repack else 0
        _vacuum(cache, notes)
    files += _drop_leftovers(folder)
    return Compacted(before, _folder_bytes(folder), bodies, files, repacked, tuple(notes))


def _drop(store: Store, cache: WriteCache, notes: list[str]) -> tuple[int, int]:
    """Drop bodies that no entry points to, and files that no row names."""
    dropped = 0
    with cache.transact():
        named = cache.file_names()  # also those of rows that go now, until they are gone
        used: set[str] = set()
        damaged = 0
        for _, entry in store.entries():
            if isinstance(entry, Entry):
                used.add(entry.body_sha256 or "")
            else:
                damaged += 1
        if damaged:
            notes.append(
                f"No body was dropped: {damaged} damaged "
                f"{'entry' if damaged == 1 else 'entries'} may point to any of them."
            )
        else:
            for sha256 in store.bodies():
                if sha256 not in used:
                    cache.delete(f"body:{sha256}")
                    dropped += 1
        # Whoever stores a file does so in a transaction, so none is under way.
        files = _drop_files(store.folder, named)
    return dropped, files


def _drop_files(folder: Path, named: set[str]) -> int:
    dropped = 0
    for path in folder.glob("*/*/*.val"):
        name = path.relative_to(folder).as_posix()
        if FILE_NAME.fullmatch(name) and name not in named:
            path.unlink(missing_ok=True)
            dropped += 1
    for pattern in ("*/*/", "*/"):
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()
    return dropped


def _repack(cache: WriteCache) -> int:
    repacked = 0
    for name in cache.keys("body:"):
        try:
            stored = cache.get(name)
            body = unpack(stored, name.removeprefix("body:")) if stored else b""
        except (CorpusDamagedError, UnreadableError):
            continue  # ``verify`` tells
        packed = pack(body, level=_REPACK_LEVEL)
        if stored and len(packed) < _WORTHWHILE * len(stored):
            with cache.transact():
                if name in cache:  # another compaction may have dropped it
                    cache.set(name, packed)
                    repacked += 1
    return repacked


def _vacuum(cache: WriteCache, notes: list[str]) -> None:
    pages = cache.connection.execute("PRAGMA page_count").fetchone()[0]
    free = cache.connection.execute("PRAGMA freelist_count").fetchone()[0]
    if pages - free < _WORTHWHILE * pages:
        try:
            cache.connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
            notes.append("The database was not rewritten: the disk has no room for its copy.")
    try:
        # Not a failure while somebody reads: the log is then emptied later.
        cache.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        if not is_full(error):
            raise
        notes.append("The write-ahead log was not emptied: the disk has no room for it.")


def _drop_leftovers(folder: Path) -> int:
    dropped = 0
    for path in folder.iterdir():
        if not _LEFTOVER.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):  # somebody else was faster
            if time.time() - path.lstat().st_mtime < _STALE_S:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            dropped += 1
    return dropped


def _folder_bytes(folder: Path) -> int:
    return sum(_file_bytes(folder))


def _file_bytes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # it came and went
                yield os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - fast
