"""Numbered changes to the layout of a store's database, applied when it is opened for writing.

The number stands in the database itself (``PRAGMA user_version``; 0, which is
what the first version wrote, counts as 1).  All pending steps run in one
transaction that also writes the new number: a kill leaves the old layout or
the new one, so that no backup is needed.  Steps may change rows, never the
files of bodies, which no transaction covers.

A store that may only be read is not changed: a private copy of its database
is brought up to date instead.

Where a store may be written, only SQLite opens its file.  POSIX drops all locks
that a process has on a file as soon as it closes any handle of it; SQLite
knows that and keeps such handles open, ``open`` does not.  The next program
to close a store whose locks are gone deletes the write-ahead log that another
connection goes on writing to, and nobody ever sees what that one commits.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from harness.errors import CorpusError

__all__ = ["STEPS", "Step", "check_not_newer", "latest", "migrate", "schema_of", "stored_schema"]

Step = Callable[[sqlite3.Connection], None]
"""Brings a database from one layout to the next; runs inside a transaction."""

STEPS: Final[list[Step]] = []
"""The n-th step leads from schema n to n + 1.  Never change one that was released."""


def latest() -> int:
    """Return the number of the layout that this version writes."""
    return 1 + len(STEPS)


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the number of a database's layout."""
    return max(1, int(connection.execute("PRAGMA user_version").fetchone()[0]))


def stored_schema(database: Path) -> int:
    """Return the number of the layout in a database's file, leaving the file as it is.

    Where there is a write-ahead log, it is read too; SQLite may add its index
    to it (``-shm``), which holds nothing that is recorded.  Where there is
    none, all that was committed is in the file itself, which is then taken as
    unchanging: nothing is left beside it.  A file that can't be read so counts
    as 1, since whoever opens it will say what is wrong.
    """
    log = database.with_name(f"{database.name}-wal")
    query = "?mode=ro" if log.exists() else "?mode=ro&immutable=1"
    uri = f"{database.resolve().as_uri()}{query}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return schema_of(connection)
    except sqlite3.Error:
        return 1


def check_not_newer(schema: int, folder: Path) -> None:
    """Raise :class:`~harness.errors.CorpusError` for a layout that is not known yet."""
    if schema > latest():
        raise CorpusError(
            f"The store in {folder} has schema {schema}, made by a newer Hotseat; "
            f"this one reads up to schema {latest()}.",
            remedy="Upgrade Hotseat.",
        )


def migrate(connection: sqlite3.Connection) -> int:
    """Bring a database up to date; return the number of steps that this took.

    The connection must not be in a transaction.  Of several processes one
    does the work and the others find it done.
    """
    if schema_of(connection) >= latest():
        return 0
    connection.execute("BEGIN IMMEDIATE")
    try:
        before = schema_of(connection)
        for step in STEPS[before - 1 :]:
            step(connection)
        connection.execute(f"PRAGMA user_version = {latest()}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return latest() - before
