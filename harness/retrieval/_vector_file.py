"""Packed vectors in one SQLite file that several processes may use at once.

The file only saves time, so whatever is wrong with it is said once and played
on without: a damaged row is left out, a damaged file is made anew, a file that
can't be opened is done without, a full disk ends the writing.  A transaction
per batch in a write-ahead log makes a killed process harmless.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Literal

from harness.retrieval import _sqlite

__all__ = ["MAX_ROW_BYTES", "VectorFile"]

Kind = Literal["pooled", "tokens"]

MAX_ROW_BYTES = 8 * 2**20  # larger ones are neither written nor read

_BUSY_S = 5.0
_WAITS, _WAIT_S = 40, 0.05  # for the moment in which the file is made
_AT_ONCE = 400  # keys per query; SQLite takes 999 everywhere
_SUM_BYTES = 8
_TABLES = (
    "CREATE TABLE pooled (key BLOB PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE tokens (key BLOB PRIMARY KEY, body BLOB NOT NULL)",
)
_SELECT = "SELECT key, body FROM {} WHERE key IN ({}) AND length(body) <= ?"
_INSERT = "INSERT OR REPLACE INTO {} VALUES (?, ?)"


class _ForeignError(sqlite3.DatabaseError):
    """The file is a database of somebody else's making."""

    sqlite_errorcode = sqlite3.SQLITE_NOTADB


class VectorFile:
    """Bytes by key and kind, each with a checksum over key, kind and bytes."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is opened when first needed, its folder made if it isn't there."""
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = self._writable = True
        self._renewed = False
        self._problems: list[str] = []

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong with the file so far, one sentence each."""
        return tuple(self._problems)

    def read(self, kind: Kind, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return what is there and whole."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        with self._lock:
            for first in range(0, len(wanted), _AT_ONCE):
                some = wanted[first : first + _AT_ONCE]
                query = _SELECT.format(kind, ", ".join("?" * len(some)))
                for key, body in self._ask(query, [*some, MAX_ROW_BYTES + _SUM_BYTES]):
                    if (whole := _checked(kind, key, body)) is not None:
                        found[key] = whole
                    else:
                        self._tell(f"A stored vector in {self._path} is damaged; it is made anew.")
        return found

    def write(self, kind: Kind, bodies: Mapping[bytes, bytes]) -> None:
        """Keep ``bodies`` for later: all of them, or none."""
        rows = [
            (key, _checksum(kind, key, body) + body)
            for key, body in bodies.items()
            if len(body) <= MAX_ROW_BYTES
        ]
        with self._lock:
            connection = self._open() if rows and self._writable else None
            if connection is None:
                return
            try:
                with connection:
                    connection.executemany(_INSERT.format(kind), rows)
            except sqlite3.Error as error:
                self._failed(error, writing=True)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._close()

    def _ask(self, query: str, values: list[object]) -> list[tuple[bytes, bytes]]:
        connection = self._open()
        if connection is None:
            return []
        try:
            return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._failed(error, writing=False)
            return []

    def _open(self) -> sqlite3.Connection | None:
        waits = _WAITS
        while self._usable and self._connection is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                if self._path.is_symlink():  # it could lead SQLite to any file
                    self._path.unlink()
                # The lock above keeps threads apart.
                self._connection = sqlite3.connect(
                    self._path, timeout=_BUSY_S, check_same_thread=False
                )
                self._connection.text_factory = bytes  # a damaged type must not be decoded
                _sqlite.restrict(self._connection)
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                _prepare(self._connection)
            except (sqlite3.Error, OSError) as error:
                self._close()
                # Two that make the file at once: one is refused without waiting its turn.
                if _code(error) == sqlite3.SQLITE_BUSY and waits:
                    waits -= 1
                    time.sleep(_WAIT_S)
                else:
                    self._failed(error, writing=False)
        return self._connection

    def _failed(self, error: Exception, *, writing: bool) -> None:
        """Decide what an error ends: nothing, the writing, or all use of the file."""
        code = _code(error)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and not self._renewed:
            self._tell(f"{self._path} is damaged ({error}); it is made anew.")
            self._renewed = True
            self._close()
            self._usable = self._remove()
        elif code == sqlite3.SQLITE_BUSY and self._connection is not None:
            self._tell(f"{self._path} is in use by another process; some vectors are not kept.")
        elif writing:
            self._tell(f"Vectors can't be kept in {self._path} ({error}).")
            self._writable = False
        else:
            self._tell(f"Stored vectors can't be used: {self._path} ({error}).")
            self._usable = False
            self._close()

    def _remove(self) -> bool:
        """Remove the file and its companions; nothing in it can't be computed again."""
        try:
            _sqlite.remove(self._path)
        except OSError as error:
            self._tell(f"{self._path} can't be removed ({error}).")
            return False
        return True

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _tell(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.append(problem)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in a new file; raise :class:`_ForeignError` if they are others."""
    if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,):
        with connection:
            connection.execute("BEGIN IMMEDIATE")  # no other process sees a part of them
            for table in _TABLES:
                connection.execute(table.replace("TABLE", "TABLE IF NOT EXISTS", 1))
    if not _sqlite.holds_exactly(connection, _TABLES):
        raise _ForeignError("it holds other tables than ours")


def _code(error: Exception) -> int:
    """Return SQLite's primary code of an error, 0 for an error of another kind."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _checksum(kind: Kind, key: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=_SUM_BYTES, person=kind.encode())
    digest.update(len(key).to_bytes(2, "big") + key)
    digest.update(body)
    return digest.digest()


def _checked(kind: Kind, key: object, body: object) -> bytes | None:
    if not isinstance(key, bytes) or not isinstance(body, bytes):
        return None  # a value of another type, put there by a damage
    whole = body[_SUM_BYTES:]
    return whole if body[:_SUM_BYTES] == _checksum(kind, key, whole) else None
