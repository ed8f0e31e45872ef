"""Opening a store's database: for writing, for reading, and where nothing may be written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from harness.corpus._cache import DATABASE, ReadCache, WriteCache
from harness.corpus._migrate import check_not_newer, latest, migrate, schema_of, stored_schema
from harness.errors import CorpusDamagedError

__all__ = ["check_there", "is_writable", "open_for_reading", "open_for_writing"]


def check_there(folder: Path) -> None:
    """Raise :class:`~harness.errors.CorpusDamagedError` unless a store's database is there.

    Opening for writing would make an empty one, in silence, where one was lost.
    """
    database = folder / DATABASE
    if not database.is_file():
        raise CorpusDamagedError(f"{folder} has no {DATABASE}: it is no corpus's store.")
    if database.stat().st_size == 0:
        raise CorpusDamagedError(
            f"{database} is empty: what was recorded is no longer there.",
            remedy="Restore it from an export, or record into another folder.",
        )


def open_for_writing(folder: Path) -> WriteCache:
    """Open a store, making it if there is none, and bring its layout up to date."""
    database = folder / DATABASE
    if database.is_file():
        check_not_newer(stored_schema(database), folder)  # before anything can be changed
    cache = WriteCache(folder)
    try:
        check_not_newer(schema_of(cache.connection), folder)
        migrate(cache.connection)
    except BaseException:
        cache.close_all()
        raise
    return cache


def open_for_reading(folder: Path) -> tuple[ReadCache, str | None]:
    """Open a store that stays as it is.

    Returns also the temporary folder with a copy of the database, if one had
    to be made; the caller deletes it.
    """
    database = folder / DATABASE
    check_there(folder)
    check_not_newer(stored_schema(database), folder)
    cache, copy = _open_as_it_is(folder, database)
    try:
        schema = schema_of(cache.connection)
        check_not_newer(schema, folder)
        if schema == latest():
            return cache, copy
        older, cache, copy = (cache, copy), *_migrated_copy(folder, cache)
    except BaseException:
        close_reading(cache, copy)
        raise
    close_reading(*older)
    return cache, copy


def close_reading(cache: ReadCache, copy: str | None) -> None:
    """Close a cache and delete the copy of its database."""
    cache.close_all()
    if copy:
        shutil.rmtree(copy, ignore_errors=True)


def _open_as_it_is(folder: Path, database: Path) -> tuple[ReadCache, str | None]:
    if is_writable(folder):
        return ReadCache(folder, database, "?mode=ro"), None
    # SQLite can't coordinate with others in a folder that it may not
    # write, so nobody may be writing: the file is taken as unchanging.
    log = database.with_name(f"{DATABASE}-wal")
    if not log.exists() or log.stat().st_size == 0:
        return ReadCache(folder, database, "?mode=ro&immutable=1"), None
    # What a killed writer had committed is still in its log, which
    # "immutable" would ignore; a private copy can be recovered.
    copy = tempfile.mkdtemp(prefix="hotseat-")
    try:
        # By their bytes: where nothing may be written nobody here holds a lock to lose.
        for path in (database, log):
            shutil.copyfile(path, Path(copy, path.name))
        return ReadCache(folder, Path(copy, DATABASE), ""), copy
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise


def _migrated_copy(folder: Path, cache: ReadCache) -> tuple[ReadCache, str]:
    """Return a cache over a copy of an older database, brought up to date."""
    copy = tempfile.mkdtemp(prefix="hotseat-")
    try:
        target = Path(copy, DATABASE)
        with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as connection:
            cache.connection.backup(connection)
            connection.execute("PRAGMA trusted_schema = OFF")
            migrate(connection)
        return ReadCache(folder, target, "?mode=ro"), copy
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise


def is_writable(folder: Path) -> bool:
    """Return whether a store's folder and database may be written."""
    effective = os.access in os.supports_effective_ids
    database = folder / DATABASE
    return all(
        os.access(path, os.W_OK, effective_ids=effective)
        for path in (folder, database)
        if path.exists()
    )
