"""``diskcache`` without the parts that endanger a recording.

The library pickles, evicts and trusts its own database.  Here only ``str``
keys and ``bytes`` values go in and come out, nothing is ever evicted, file
names from the database are checked, and every connection is closed, whichever
thread opened it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import diskcache
from diskcache.core import DBNAME, DEFAULT_SETTINGS, METADATA

from harness.corpus._cache_queries import Queries
from harness.corpus._disk import BytesDisk, refusal
from harness.corpus._limits import MAX_STORED_BYTES

__all__ = ["DATABASE", "ReadCache", "WriteCache"]

DATABASE: Final[str] = DBNAME

_SETTINGS: Final[dict[str, Any]] = {
    "statistics": 0,
    "tag_index": 0,
    "eviction_policy": "none",
    "size_limit": 2**62,
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 2**13,
    # Memory-mapped reading ends in a signal, not an error, when the file shrinks.
    "sqlite_mmap_size": 0,
    "sqlite_synchronous": 1,
    "disk_min_file_size": 2**15,
    "disk_pickle_protocol": 0,
}

# What the library makes in a new database; the last of them comes last.
_PARTS: Final = (
    {"Settings", "Cache", "Cache_key_raw", "Cache_expire_time"}
    | {f"Settings_{what}" for what in ("count_insert", "count_delete")}
    | {f"Settings_size_{what}" for what in ("insert", "update", "delete")}
)

_BUSY_TIMEOUT_S: Final = 30.0
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class _Connections:
    """The connections of one cache, one per thread, closable from any."""

    def __init__(self, database: Path, query: str) -> None:
        self._uri = f"{database.resolve().as_uri()}{query}"
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        with self._lock:
            self._open.append(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_STORED_BYTES)
        # The pragmas are ours, never the ones that the database asks for.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA cache_size = {_SETTINGS['sqlite_cache_size']}")
        connection.execute(f"PRAGMA synchronous = {_SETTINGS['sqlite_synchronous']}")
        return connection

    def close(self, connection: sqlite3.Connection | None = None) -> None:
        """Close one connection, or all."""
        with self._lock:
            closing = self._open if connection is None else [connection]
            self._open = [kept for kept in self._open if kept not in closing]
        for item in closing:
            item.close()


class _Cache(Queries, diskcache.Cache):  # type: ignore[misc]
    _connections: _Connections

    @property
    def _con(self) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.pid = os.getpid()
            self._local.con = None
        if self._local.con is None:
            self._local.con = self._connections.connect()
        connection: sqlite3.Connection = self._local.con
        return connection

    def _adopt(self, folder: Path) -> None:
        """Do what the library's constructor does, but for its writing."""
        self._directory = str(folder)
        self._timeout = _BUSY_TIMEOUT_S
        self._local = threading.local()
        self._txn_id = None
        for name, value in _SETTINGS.items():
            if not name.startswith(("disk_", "sqlite_")):
                setattr(self, name, value)
        self._disk = BytesDisk(
            str(folder),
            min_file_size=_SETTINGS["disk_min_file_size"],
            pickle_protocol=_SETTINGS["disk_pickle_protocol"],
        )

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's connection."""
        return self._con

    def close(self) -> None:
        """Close the calling thread's connection."""
        connection = getattr(self._local, "con", None)
        if connection is not None:
            self._connections.close(connection)
            self._local.con = None

    def close_all(self) -> None:
        """Close the connections of all threads."""
        self.close()
        self._connections.close()


@dataclass(slots=True)
class _Files:
    """The files of values that a transaction wrote, and those that it replaced."""

    written: list[str | None]
    replaced: list[str | None]


class WriteCache(_Cache):
    """A cache for reading and writing; made when it is not there."""

    def __init__(self, folder: Path) -> None:
        database = folder / DATABASE
        self._connections = _Connections(database, "")
        if database.exists() and _is_prepared(database):
            # Opening then writes nothing, so nobody has to be waited for.
            self._adopt(folder)
            return
        try:
            super().__init__(
                str(folder),
                timeout=_BUSY_TIMEOUT_S,
                disk=BytesDisk,
                sqlite_journal_mode="wal",
                **_SETTINGS,
            )
        except BaseException:
            self._connections.close()
            raise

    @contextlib.contextmanager
    def _transact(self, retry: bool = False, filename: str | None = None) -> Iterator[Any]:
        """Run a block as one transaction, or as part of the one that the thread is in.

        The library's own deletes replaced files before an outer transaction is
        committed, keeps files of one that failed, takes any failure to begin
        for a time-out, and leaves a failed commit open.
        """
        sql, outer = self._sql, getattr(self._local, "files", None)
        if outer is not None:
            outer.written.append(filename)
            yield sql, outer.replaced.append
            return
        try:
            sql("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self._remove([filename])
            if error.sqlite_errorcode & 0xFF in _BUSY:
                raise diskcache.Timeout from None
            raise
        files = self._local.files = _Files([filename], [])
        try:
            yield sql, files.replaced.append
            sql("COMMIT")
        except BaseException as error:
            undone = isinstance(error, sqlite3.Error)  # SQLite may have done it by itself
            if self._con.in_transaction:
                sql("ROLLBACK")
                undone = True
            if undone:  # else it was committed, and only then interrupted
                self._remove(files.written)
            raise
        finally:
            self._local.files = None
        self._remove(files.replaced)

    def _remove(self, names: list[str | None]) -> None:
        for name in filter(None, names):
            self._disk.remove(name)

    def seal(self) -> None:
        """Do without a write-ahead log until the next writer: readers then need no rights."""
        self.reset("sqlite_journal_mode", "delete")


class ReadCache(_Cache):
    """A cache that is only read: nothing in its folder changes.

    ``query`` is the part of SQLite's URI that says how the file is opened.
    """

    def __init__(self, folder: Path, database: Path, query: str) -> None:
        # The base class prepares its tables by writing, so it is not asked.
        self._adopt(folder)
        self._connections = _Connections(database, query)


def _is_prepared(database: Path) -> bool:
    """Return whether a database has all tables, and the settings that are ours.

    Refuses one whose settings would steer the library: it copies every row of
    that table into attributes and pragmas.
    """
    uri = database.resolve().as_uri()
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)
    try:
        try:
            settings = dict(connection.execute("SELECT key, value FROM Settings"))
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return False  # made a moment ago, by a process that is still at it
        strange = set(settings) - DEFAULT_SETTINGS.keys() - METADATA.keys()
        if strange:
            raise refusal(f"the setting {min(map(str, strange))!r}")
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    finally:
        connection.close()
    wanted = {**DEFAULT_SETTINGS, **_SETTINGS, "sqlite_journal_mode": "wal"}
    return there >= _PARTS and all(settings.get(name) == wanted[name] for name in wanted)
