"""The SQLite file that holds accounts, games and leaderboards.

One connection, one transaction after the other: SQLite orders everything that
happens to a game.  WAL with ``synchronous=NORMAL``: a process
killed at any instant loses nothing that was committed; only a power cut can
take the last moments, never the file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from harness.errors import BadInputError

__all__ = ["Database"]

P = ParamSpec("P")
T = TypeVar("T")

# "HSPS": tells our files from other programs' databases.
_APPLICATION_ID = 0x48535053
_VERSION = 1
_SCHEMA = """
CREATE TABLE account (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    password TEXT NOT NULL,
    created_wall_s REAL NOT NULL
);
CREATE TABLE login (
    token_hash TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    expires_wall_s REAL NOT NULL
);
CREATE TABLE game (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES account (id),
    competition_id INTEGER NOT NULL,
    mode TEXT NOT NULL,
    max_levels INTEGER NOT NULL,
    status TEXT NOT NULL,
    level INTEGER NOT NULL,
    reached INTEGER NOT NULL,
    clips INTEGER NOT NULL,
    earned INTEGER NOT NULL,
    expiry_monotonic_s REAL,
    expiry_wall_s REAL,
    expiry_boot TEXT,
    expiry_set_wall_s REAL,
    started_wall_s REAL NOT NULL,
    finished_wall_s REAL
);
CREATE INDEX game_by_player ON game (competition_id, mode, account_id);
CREATE INDEX game_running ON game (competition_id, mode) WHERE status = 'in_progress';
CREATE TABLE serving (
    game_id INTEGER NOT NULL REFERENCES game (id),
    level INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    options TEXT NOT NULL,
    right INTEGER NOT NULL,
    answered INTEGER,
    answered_wall_s REAL,
    PRIMARY KEY (game_id, level)
) WITHOUT ROWID;
"""


def _make(path: Path) -> None:
    """Make the file where there is none; password hashes lie in it: nobody else's to read.

    A file that is there is not opened: closing it would drop the locks that
    SQLite holds on it for this process (POSIX), if the server runs already.
    """
    with contextlib.suppress(FileExistsError):
        new = os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.close(new)


class Database:
    """A practice server's file; made where there is none.

    Raises :class:`~harness.errors.BadInputError` when the file can't be opened
    or is not one of ours.  Close it at the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make(path)
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=5.0
            )
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInputError(
                f"Can't open the practice server's file {path}: {reason}.",
                remedy="Name another with --db.",
            ) from None
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise BadInputError(
                f"{path} can't be used as a practice server's file: {error}.",
                remedy="Name another with --db, or move this one away.",
            ) from None
        except BadInputError:
            self._connection.close()
            raise
        self._lock = threading.Lock()

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        (application,) = execute("PRAGMA application_id").fetchone()
        (version,) = execute("PRAGMA user_version").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not application:
            for statement in _SCHEMA.split(";"):
                execute(statement)
            execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            execute(f"PRAGMA user_version = {_VERSION}")
        elif application != _APPLICATION_ID:
            raise BadInputError(
                f"{self.path} is another program's database.", remedy="Name another with --db."
            )
        elif version != _VERSION:
            raise BadInputError(
                f"{self.path} was written by another version of Hotseat (format {version}; "
                f"this one reads {_VERSION}).",
                remedy="Update Hotseat, or name another file with --db.",
            )
        execute("COMMIT")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("PRAGMA foreign_keys = ON")

    def transact(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``work(connection, …)`` in one transaction, undone if it raises.

        Called on the event loop on purpose: a transaction takes well under a
        millisecond, and in a thread of its own each of its statements would
        wait for the interpreter's lock while the loop is busy, which made
        answers ten times slower with 200 players.
        """
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(self._connection, *args, **kwargs)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            return result

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
