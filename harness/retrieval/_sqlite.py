"""SQLite files that come with a corpus, and so perhaps from somebody else.

What such a file brings along is not run, what is too large is not read, and a
schema that is not exactly ours is not used.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Final

__all__ = ["holds_exactly", "remove", "restrict"]

_MAX_VALUE_BYTES: Final = 64 * 2**20  # of a row too; ours are smaller by far


def restrict(connection: sqlite3.Connection) -> None:
    """Bound what a connection reads, and trust nothing that the file's schema would call."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")


def holds_exactly(connection: sqlite3.Connection, tables: Collection[str]) -> bool:
    """Whether the schema was made by these ``CREATE TABLE`` statements and nothing else.

    Indices that SQLite makes for their keys don't count.
    """
    # As bytes: text that is none could not be read.
    query = "SELECT CAST(sql AS BLOB) FROM sqlite_master WHERE sql IS NOT NULL"
    found = sorted(bytes(row[0]) for row in connection.execute(query))
    kinds = {row[0] for row in connection.execute("SELECT CAST(type AS BLOB) FROM sqlite_master")}
    return found == sorted(table.encode() for table in tables) and kinds <= {b"table", b"index"}


def remove(path: Path) -> None:
    """Delete a database and what SQLite keeps beside it; what is not there is no error."""
    for suffix in ("-wal", "-shm", ""):  # a log that outlived its file would be read into the next
        path.with_name(path.name + suffix).unlink(missing_ok=True)
