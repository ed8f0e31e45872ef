"""Bringing an index up to date: what is new is read, what changed replaced, what went dropped.

Work goes in batches, each one transaction: whoever is killed leaves a valid
index over what had been committed, and the next update goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from harness.corpus import Corpus, first_recordings
from harness.corpus_index._database import Database, DatabaseDamagedError, checksum
from harness.corpus_index._postings import Writer, tidy_up
from harness.corpus_index._recorded import Reader, load, read_pages, source_of
from harness.corpus_index._values import PageText, Updated
from harness.corpus_index._vectors import encode_pages, encoder_identity, pack

if TYPE_CHECKING:
    from harness.retrieval import Encoder

__all__ = ["Progress", "update"]

_T = TypeVar("_T")

Progress = Callable[[str, int, int], None]
"""Told what is done (``"reading"``, ``"encoding"``, ``"waiting"``), how far, and of how much."""

_READ_BATCH: Final = 256
_ENCODE_BATCH: Final = 32
_KEPT_ENCODERS: Final = 4


def update(
    database: Database, corpus: Corpus, encoder: Encoder | None, progress: Progress | None
) -> Updated:
    """Bring ``database`` up to date with ``corpus``; the caller keeps other writers away."""
    return _Update(database, corpus, encoder, progress or (lambda what, done, total: None)).run()


class _Update:
    def __init__(
        self, database: Database, corpus: Corpus, encoder: Encoder | None, progress: Progress
    ) -> None:
        self._database = database
        self._connection = database.connection
        self._corpus = corpus
        self._encoder = encoder
        self._progress = progress
        self._added = self._removed = self._encoded = 0
        self._read_s = self._index_s = self._encode_s = 0.0

    def run(self) -> Updated:
        started = time.perf_counter()
        stamps = first_recordings(self._corpus)
        rows = self._connection.execute("SELECT key, ordinal, stamp FROM seen")
        seen = {key: (ordinal, stamp) for key, ordinal, stamp in rows}
        changed = sorted(key for key, stamp in stamps.items() if seen.get(key) != stamp)
        gone = sorted(seen.keys() - stamps.keys())
        for batch in _batches(gone, _READ_BATCH):
            with self._writing():
                for key in batch:
                    self._removed += self._drop(key)
                    self._connection.execute("DELETE FROM seen WHERE key = ?", (key,))
        self._index_s += time.perf_counter() - started
        if changed:
            self._read_all(changed, stamps)
        if self._encoder is not None:
            self._encode_all(self._encoder)
        self._finish()
        count = "SELECT COUNT(*), COUNT(failure) FROM pages"
        total, unreadable = self._connection.execute(count).fetchone()
        return Updated(
            pages=total - unreadable,
            unreadable=unreadable,
            added=self._added,
            removed=self._removed,
            encoded=self._encoded,
            read_s=self._read_s,
            index_s=self._index_s,
            encode_s=self._encode_s,
        )

    def _read_all(self, changed: Sequence[str], stamps: dict[str, tuple[int, float]]) -> None:
        done = 0
        with read_pages(len(changed)) as reader:
            for batch in _batches(changed, _READ_BATCH):
                self._progress("reading", done, len(changed))
                self._read_batch(batch, stamps, reader)
                done += len(batch)
        self._progress("reading", done, len(changed))

    def _read_batch(
        self, keys: Sequence[str], stamps: dict[str, tuple[int, float]], reader: Reader
    ) -> None:
        started = time.perf_counter()
        fresh, kept = [], set()
        for key in keys:
            recording = load(self._corpus, key, stamps[key][0])
            if recording is None:
                continue
            if self._source(key) == source_of(recording[0]):
                kept.add(key)
            else:
                fresh.append(recording)
        texts = reader.read(fresh)
        between = time.perf_counter()
        self._read_s += between - started
        with self._writing():
            for key in keys:
                if key not in kept:
                    self._removed += self._drop(key)
            self._insert(texts)
            self._connection.executemany(
                "INSERT OR REPLACE INTO seen VALUES (?, ?, ?)",
                [(key, *stamps[key]) for key in keys],
            )
        self._index_s += time.perf_counter() - between

    def _source(self, key: str) -> str | None:
        query = "SELECT source FROM pages WHERE key = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else str(row[0])

    def _drop(self, key: str) -> int:
        """Take a page out; return how many that could be found it was."""
        query = "SELECT id, failure FROM pages WHERE key = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        if row is None:
            return 0
        number, failure = row
        self._connection.execute("DELETE FROM vectors WHERE page = ?", (number,))
        self._connection.execute("DELETE FROM pages WHERE id = ?", (number,))
        return int(failure is None)

    def _insert(self, pages: Sequence[PageText]) -> None:
        """Put pages in under numbers that were never used before."""
        writer, number = Writer(), int(self._database.meta("next") or 1)
        for page in pages:
            length, different = 0, 0
            if page.failure is None:
                length, different = writer.add(number, page.title, page.text)
                self._added += 1
            self._connection.execute(
                "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number,
                    page.key,
                    page.source,
                    page.url,
                    page.accept_language,
                    page.date,
                    page.failure,
                    checksum(number, page.key, page.url, page.accept_language, length),
                    checksum(page.title, page.text, page.date),
                    length,
                    different,
                    page.title,
                    page.text,
                ),
            )
            number += 1
        writer.write(self._connection)
        self._database.set_meta("next", str(number))

    def _encode_all(self, encoder: Encoder) -> None:
        identity = encoder_identity(encoder)
        where = (
            "FROM pages WHERE failure IS NULL AND id NOT IN (SELECT page FROM vectors JOIN"
            " encoders ON encoders.id = vectors.encoder WHERE encoders.identity = ?)"
        )
        missing = [row[0] for row in self._connection.execute(f"SELECT id {where}", (identity,))]
        started, done = time.perf_counter(), 0
        for batch in _batches(missing, _ENCODE_BATCH):
            self._progress("encoding", done, len(missing))
            pages = [self._text(number) for number in batch]
            vectors = encode_pages(encoder, pages)
            with self._writing(lexical=False):
                place = self._encoder_number(str(identity), vectors[0].rows.shape[1])
                for number, found in zip(batch, vectors, strict=True):
                    rows, factors = pack(found)
                    self._connection.execute(
                        "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
                        (place, number, rows, factors, checksum(number, rows, factors)),
                    )
            done += len(batch)
        if missing:
            self._progress("encoding", done, len(missing))
        self._encoded = done
        self._encode_s += time.perf_counter() - started

    def _text(self, number: int) -> tuple[str, str]:
        query = "SELECT title, text, text_checked, date FROM pages WHERE id = ?"
        title, text, checked, date = self._connection.execute(query, (number,)).fetchone()
        if checked != checksum(title, text, date):
            raise DatabaseDamagedError("the text of a page in it is damaged")
        return title, text

    def _encoder_number(self, identity: str, dimensions: int) -> int:
        """Return the number of an encoder, making room for it among those kept."""
        query = "SELECT id FROM encoders WHERE identity = ?"
        row = self._connection.execute(query, (identity,)).fetchone()
        if row is not None:
            return int(row[0])
        told = "SELECT id FROM encoders ORDER BY id DESC LIMIT -1 OFFSET ?"
        old = [row[0] for row in self._connection.execute(told, (_KEPT_ENCODERS - 1,))]
        for number in old:
            self._connection.execute("DELETE FROM vectors WHERE encoder = ?", (number,))
            self._connection.execute("DELETE FROM encoders WHERE id = ?", (number,))
        cursor = self._connection.execute(
            "INSERT INTO encoders (identity, dimensions) VALUES (?, ?)", (identity, dimensions)
        )
        return int(cursor.lastrowid or 0)

    @contextmanager
    def _writing(self, *, lexical: bool = True) -> Iterator[None]:
        """Write in one transaction, which gives the index a new generation."""
        with self._database.transaction():
            if lexical:
                self._database.set_meta("sealed", "")  # sealed again in the end
            generation = int(self._database.meta("generation") or 0)
            self._database.set_meta("generation", str(generation + 1))
            yield

    def _finish(self) -> None:
        """Note the checksum of the lexical part, unless that is there and nothing changed."""
        started = time.perf_counter()
        if not self._database.meta("sealed"):
            with self._writing():
                tidy_up(self._connection)
                self._database.seal_terms()
        self._index_s += time.perf_counter() - started


def _batches(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
