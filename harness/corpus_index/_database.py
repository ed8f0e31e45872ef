"""The index on disk: one SQLite file beside the corpus, checked before it is believed.

Whoever made a corpus may have put an index into its folder too.  So the schema
must be exactly ours, the pragmas are ours, rows carry checksums and the
lexical index one of its own; whatever does not fit is thrown away and built
anew, since nothing here can't be computed again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.corpus_index._postings import TABLES
from harness.corpus_index._recorded import text_identity
from harness.errors import CorpusError
from harness.retrieval._sqlite import holds_exactly, restrict

__all__ = ["FILE", "Database", "DatabaseDamagedError", "checksum", "telling"]

FILE: Final = "index.sqlite3"
_BUSY_S: Final = 60.0
_APPLICATION_ID: Final = 0x486F7453  # "HotS"

_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE seen (key TEXT PRIMARY KEY, ordinal INTEGER NOT NULL, stamp REAL NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, source TEXT NOT NULL,"
    " url TEXT NOT NULL, accept_language TEXT NOT NULL, date TEXT, failure TEXT,"
    " checked INTEGER NOT NULL, text_checked INTEGER NOT NULL,"
    " length INTEGER NOT NULL, terms INTEGER NOT NULL,"
    " title TEXT NOT NULL, text TEXT NOT NULL)",  # the long one last: others are read without it
    "CREATE TABLE encoders (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE,"
    " dimensions INTEGER NOT NULL)",
    "CREATE TABLE vectors (encoder INTEGER NOT NULL, page INTEGER NOT NULL,"
    " rows BLOB NOT NULL, factors BLOB NOT NULL, checked INTEGER NOT NULL,"
    " PRIMARY KEY (encoder, page)) WITHOUT ROWID",
    *TABLES,
)


class DatabaseDamagedError(Exception):
    """The file is no index of ours, or no longer: to be thrown away."""


def checksum(*values: object) -> int:
    """Return the CRC-32 of values and their borders."""
    crc = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        crc = zlib.crc32(data, zlib.crc32(b"\x1f%d;" % len(data), crc))
    return crc


class Database:
    """One connection to an index; ``path`` ``None`` keeps it in memory.

    May be used from any thread, by one at a time.
    """

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Open the index, making it where there is none.

        Raises :class:`DatabaseDamagedError` when what is there can't be used,
        and :class:`~harness.errors.CorpusError` when the file can't be opened.
        """
        self.path = path
        self.read_only = read_only
        self._place: tuple[int, int] | None = None
        if path is not None and path.is_symlink():  # it could lead SQLite to any file
            raise DatabaseDamagedError("it is a link")
        try:
            self.connection = _connect(path, read_only)
        except sqlite3.Error as error:
            raise CorpusError(
                f"The search index {path} can't be opened: {error}.",
                remedy="Check the folder and the space on its disk; it may be deleted.",
            ) from None
        try:
            with telling():
                self._prepare()
                if path is not None:
                    found = path.stat()
                    self._place = (found.st_dev, found.st_ino)
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        new = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0
        if new and self.read_only:
            raise DatabaseDamagedError("it is empty")
        if not self.read_only:
            self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        if new:
            with self.transaction():
                for table in _TABLES:
                    self.connection.execute(table)
                self.connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self.set_meta("text", text_identity())
                self.set_meta("generation", "0")
                self.set_meta("next", "1")
            return
        self._check()

    def _check(self) -> None:
        """Raise unless the file is an index of ours, of this format, and undamaged."""
        if not holds_exactly(self.connection, _TABLES):
            raise DatabaseDamagedError("it is no index of this version")
        if self.meta("text") != text_identity():
            raise DatabaseDamagedError("it was made by another version")
        self.refuse_damaged()
        with self.snapshot():  # the parts that are compared must be of one moment
            found = self.connection.execute("PRAGMA quick_check(1)").fetchone()
            if found is None or found[0] != "ok":
                raise DatabaseDamagedError(f"its file is damaged ({found[0] if found else '?'})")
            told = self.meta("sealed")
            if told and told != self._terms_checksum():
                raise DatabaseDamagedError("its lexical part is damaged")

    def refuse_damaged(self) -> None:
        """Raise :class:`DatabaseDamagedError` if :meth:`note_damage` was called."""
        if self.meta("damaged") is not None:
            raise DatabaseDamagedError("a search found something in it damaged")

    def note_damage(self) -> None:
        """Keep for whoever opens the index next that only a search came upon damage."""
        # A file too damaged for a note is found so when it is opened.
        with contextlib.suppress(sqlite3.Error):
            self.set_meta("damaged", "yes")

    def seal_terms(self) -> None:
        """Note the checksum of the lexical part, to be compared when it is next opened."""
        self.set_meta("sealed", self._terms_checksum())

    def _terms_checksum(self) -> str:
        crc = 0
        query = "SELECT term, data FROM postings ORDER BY term, segment"
        for term, data in self.connection.execute(query):
            crc = zlib.crc32(data, zlib.crc32(term.encode(), crc))
        return f"{crc:08x}"

    def meta(self, name: str) -> str | None:
        """Return a value noted under a name."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        """Note a value under a name."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything inside the block happen at once, or not at all."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # a full disk may have ended it already
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let everything inside the block be read as of one moment."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")

    def is_replaced(self) -> bool:
        """Whether the file under the name is another one by now."""
        if self.path is None or self._place is None:
            return False
        try:
            found = self.path.stat()
        except OSError:
            return True
        return (found.st_dev, found.st_ino) != self._place

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(sqlite3.Error):  # a damaged file, which is left as it is
            self.connection.close()


@contextmanager
def telling() -> Iterator[None]:
    """Turn what SQLite says of a damaged file into :class:`DatabaseDamagedError`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if _is_damage(error):
            raise DatabaseDamagedError(f"its file is damaged ({error})") from None
        raise CorpusError(
            f"The search index can't be used: {error}.",
            remedy="Check the folder 'derived' of the corpus and the space on its disk.",
        ) from None
    except sqlite3.DatabaseError as error:
        raise DatabaseDamagedError(f"its file is damaged ({error})") from None


def _is_damage(error: sqlite3.OperationalError) -> bool:
    # Text that is none comes without a code; missing tables are a foreign file.
    code = getattr(error, "sqlite_errorcode", None)
    return code in (None, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _connect(path: Path | None, read_only: bool) -> sqlite3.Connection:
    if path is None:
        name = ":memory:"
    else:
        mode = "?mode=ro" if read_only and os.access(path.parent, os.W_OK) else ""
        mode = "?mode=ro&immutable=1" if read_only and not mode else mode
        name = f"{path.resolve().as_uri()}{mode}"
    connection = sqlite3.connect(
        name, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    restrict(connection)
    return connection
