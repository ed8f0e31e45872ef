"""Looking at many rows of a store's database at once, which the library does not offer."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from harness.corpus._disk import BytesDisk
from harness.errors import CorpusDamagedError

__all__ = ["Queries"]

_BATCH: Final = 256
# Longer ones are read one at a time, so that a batch stays small.
_COLUMNS: Final = f"key, mode, filename, CASE WHEN LENGTH(value) <= {2**15} THEN value END"


class Queries:
    """The questions; whoever inherits them has the connection."""

    _disk: BytesDisk

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's connection."""
        raise NotImplementedError

    def _ask(self, query: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self.connection.execute(query, values)

    def keys(self, prefix: str) -> list[str]:
        """Return all keys that begin with ``prefix``, sorted by code point."""
        query = "SELECT key FROM Cache WHERE raw = 1 AND key >= ? AND key < ? ORDER BY key"
        return [row[0] for row in self._ask(query, (prefix, _after(prefix)))]

    def stamps(self, one: str, other: str) -> list[tuple[str, float]]:
        """Return all keys that begin with one of two prefixes, and when each was stored."""
        query = (
            "SELECT key, store_time FROM Cache WHERE raw = 1 "
            "AND (key >= ? AND key < ? OR key >= ? AND key < ?)"
        )
        rows = self._ask(query, (one, _after(one), other, _after(other)))
        return [(str(key), float(stamp)) for key, stamp in rows]

    def get(self, key: str) -> bytes | None:
        """Return a value, ``None`` when there is none; nothing here ever expires."""
        query = "SELECT mode, filename, value FROM Cache WHERE key = ? AND raw = 1"
        row = self._ask(query, (key,)).fetchone()
        return None if row is None else self._disk.fetch(row[0], row[1], row[2], False)

    def scan(self, prefix: str) -> Iterator[list[tuple[str, bytes | CorpusDamagedError | None]]]:
        """Yield keys that begin with ``prefix`` and their values, sorted by key, in batches.

        ``None`` is a value to be asked for by itself: a long one, or any in a
        batch that can't be read as a whole.  Nothing is held between batches,
        so that writers go on; keys stored meanwhile may or may not come.
        """
        after, end = prefix, _after(prefix)
        where = "FROM Cache WHERE raw = 1 AND key > ? AND key < ? ORDER BY key LIMIT ?"
        while True:
            asked = (after, end, _BATCH)
            try:
                rows = self._ask(f"SELECT {_COLUMNS} {where}", asked).fetchall()
            except sqlite3.DatabaseError:
                rows = [(key, *[None] * 3) for (key,) in self._ask(f"SELECT key {where}", asked)]
            yield [(key, self._short(*columns)) for key, *columns in rows]
            if len(rows) < _BATCH:
                return
            after = rows[-1][0]

    def rows(
        self, prefix: str, first: int, last: int
    ) -> list[tuple[str, bytes | CorpusDamagedError | None]]:
        """Return keys that begin with ``prefix`` and values, as :meth:`scan`, of some rows.

        These are the ones after ``first`` up to ``last``, none where they can't be read.
        """
        where = "FROM Cache WHERE rowid > ? AND rowid <= ? AND raw = 1 ORDER BY rowid"
        try:
            found = self._ask(f"SELECT {_COLUMNS} {where}", (first, last)).fetchall()
        except sqlite3.DatabaseError:
            return []
        own = (row for row in found if type(row[0]) is str and row[0].startswith(prefix))
        return [(key, self._short(*columns)) for key, *columns in own]

    def last_row(self) -> int:
        """Return the highest number of a row, 0 when there is none."""
        return int(self._ask("SELECT MAX(rowid) FROM Cache").fetchone()[0] or 0)

    def count_keys(self, prefix: str) -> int:
        """Return how many keys begin with ``prefix``."""
        query = "SELECT COUNT(*) FROM Cache WHERE raw = 1 AND key >= ? AND key < ?"
        return int(self._ask(query, (prefix, _after(prefix))).fetchone()[0])

    def _short(self, mode: object, filename: object, value: object) -> Any:
        if filename is None and value is None:
            return None
        try:
            return self._disk.fetch(mode, filename, value, False)
        except CorpusDamagedError as error:
            return error

    def strange_rows(self, known: re.Pattern[str]) -> Iterator[str]:
        """Yield a description of each row whose key is not like ``known``."""
        for rowid, key, raw in self._ask("SELECT rowid, key, raw FROM Cache"):
            if not raw or type(key) is not str or not known.fullmatch(key):
                yield f"row {rowid}"

    def other_rows(self, prefixes: tuple[str, ...]) -> int:
        """Return the number of rows whose key is no text that begins with one of ``prefixes``."""
        rows = self._ask("SELECT key, raw FROM Cache")
        return sum(not (raw and str(key).startswith(prefixes)) for key, raw in rows)

    def integrity(self) -> list[str]:
        """Return what SQLite finds wrong with its own file, nothing if all is well."""
        found = [str(row[0]) for row in self._ask("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def expected_rows(self) -> int:
        """Return how many rows there ought to be: as counted on their way in, or in the table."""
        told = 0
        for query in (
            "SELECT value FROM Settings WHERE key = 'count'",
            "SELECT COUNT(*) FROM Cache NOT INDEXED",
        ):
            with contextlib.suppress(sqlite3.DatabaseError):  # the other may still know
                row = self._ask(query).fetchone()
                told = max(told, row[0] if row and type(row[0]) is int else 0)
        return told

    def file_names(self) -> set[str]:
        """Return the names of all files that rows point to, with ``/`` between their parts."""
        query = "SELECT filename FROM Cache WHERE filename IS NOT NULL"
        return {str(row[0]).replace("\\", "/") for row in self._ask(query)}

    def volume_bytes(self) -> int:
        """Return the bytes that values take on disk."""
        query = "SELECT SUM(CASE WHEN filename IS NULL THEN LENGTH(value) ELSE size END) FROM Cache"
        return int(self._ask(query).fetchone()[0] or 0)


def _after(prefix: str) -> str:
    """Return the first text after all that begin with ``prefix``."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
