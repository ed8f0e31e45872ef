"""The lexical index: for each term the pages that hold it and how often, in segments.

An update writes one segment and touches nothing else; small segments are
merged now and then.  A page that is taken out stays in its postings, under a
number that is never used again, until they are merged: readers pass over
numbers without a page.  So how many pages hold a term is always counted over
the pages there are, and how the index grew can't be seen in any score.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.corpus_index._terms import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TABLES", "Writer", "lookup", "tidy_up"]

TABLES: Final = (
    "CREATE TABLE postings (term TEXT NOT NULL, segment INTEGER NOT NULL, data BLOB NOT NULL,"
    " PRIMARY KEY (term, segment)) WITHOUT ROWID",
    "CREATE TABLE segments (number INTEGER PRIMARY KEY, size INTEGER NOT NULL)",
)

_TITLE_WEIGHT: Final = 3
_MOST: Final = 2**16 - 1
_ITEM_BYTES: Final = 6  # a page's number in four bytes, a count in two
_SEGMENTS: Final = 8
_ROWS_AT_ONCE: Final = 20_000


class Writer:
    """Collects the terms of new pages and writes them as one segment."""

    def __init__(self) -> None:
        self._pages: defaultdict[str, list[int]] = defaultdict(list)
        self._counts: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, number: int, title: str, text: str) -> tuple[int, int]:
        """Take a page in; return its length in terms and its number of different ones.

        Numbers must come in ascending order.  A term in the title counts
        three times.
        """
        counts = Counter(terms(text))
        for term in terms(title):
            counts[term] += _TITLE_WEIGHT
        for term, count in counts.items():
            self._pages[term].append(number)
            self._counts[term].append(min(count, _MOST))
        return counts.total(), len(counts)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the segment; within a transaction of the caller's."""
        if self._pages:
            rows = (
                (term, _pack(np.array(pages), np.array(self._counts[term])))
                for term, pages in sorted(self._pages.items())
            )
            _write_segment(connection, rows, sum(map(len, self._pages.values())))


def _write_segment(
    connection: sqlite3.Connection, rows: Iterator[tuple[str, bytes]], size: int
) -> None:
    number = connection.execute("SELECT IFNULL(MAX(number), 0) + 1 FROM segments").fetchone()[0]
    connection.execute("INSERT INTO segments VALUES (?, ?)", (number, size))
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?, ?)", ((term, number, data) for term, data in rows)
    )


def lookup(
    connection: sqlite3.Connection, term: str
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the numbers of the pages that hold ``term``, gone ones too, and its counts.

    Raises ``ValueError`` for bytes that are no postings.
    """
    rows = connection.execute("SELECT data FROM postings WHERE term = ?", (term,)).fetchall()
    pairs = [_unpack(row[0]) for row in rows]
    if not pairs:
        return np.empty(0, np.intp), np.empty(0)
    numbers = np.concatenate([pair[0] for pair in pairs]).astype(np.intp)
    return numbers, np.concatenate([pair[1] for pair in pairs]).astype(np.float64)


def _pack(numbers: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    return numbers.astype("<i4").tobytes() + counts.astype("<u2").tobytes()


def _unpack(data: bytes) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    size, rest = divmod(len(data), _ITEM_BYTES)
    if rest:
        raise ValueError("bytes that are no postings")
    return np.frombuffer(data, "<i4", size), np.frombuffer(data, "<u2", size, 4 * size)


def tidy_up(connection: sqlite3.Connection) -> bool:
    """Merge segments where they are many, or mostly of pages that are gone; return if it did.

    The largest segment is left alone until the others make up half of it, so
    an update of a few pages stays cheap however large the index is.  Within a
    transaction of the caller's.
    """
    sizes = connection.execute("SELECT number, size FROM segments ORDER BY size, number").fetchall()
    alive = connection.execute("SELECT IFNULL(SUM(terms), 0) FROM pages").fetchone()[0]
    total = sum(size for _, size in sizes)
    if total > 2 * alive:
        _merge(connection, [number for number, _ in sizes])
        return True
    if len(sizes) <= _SEGMENTS:
        return False
    smaller = total - sizes[-1][1]
    kept = 1 if 2 * smaller < sizes[-1][1] else 0
    _merge(connection, [number for number, _ in sizes[: len(sizes) - kept]])
    return True


def _merge(connection: sqlite3.Connection, segments: Sequence[int]) -> None:
    numbers = [row[0] for row in connection.execute("SELECT id FROM pages")]
    alive = np.zeros(max(numbers, default=0) + 1, dtype=np.bool_)
    alive[numbers] = True
    target = connection.execute("SELECT MAX(number) + 1 FROM segments").fetchone()[0]
    marks = ", ".join(str(int(number)) for number in segments)
    size, after = 0, ""
    while True:
        query = (
            f"SELECT term, data FROM postings WHERE term > ? AND segment IN ({marks})"  # noqa: S608 - whole numbers of our own
            " ORDER BY term, segment LIMIT ?"
        )
        rows = connection.execute(query, (after, _ROWS_AT_ONCE)).fetchall()
        if not rows:
            break
        if len(rows) == _ROWS_AT_ONCE and rows[0][0] != rows[-1][0]:
            last = rows[-1][0]
            rows = [row for row in rows if row[0] != last]  # the rest of it comes next
        merged = []
        for term, group in groupby(rows, key=lambda row: row[0]):
            data, count = _joined([row[1] for row in group], alive)
            size += count
            if count:
                merged.append((term, target, data))
        first, after = rows[0][0], rows[-1][0]
        connection.execute(
            f"DELETE FROM postings WHERE term >= ? AND term <= ? AND segment IN ({marks})",  # noqa: S608 - as above
            (first, after),
        )
        connection.executemany("INSERT INTO postings VALUES (?, ?, ?)", merged)
    connection.execute(f"DELETE FROM segments WHERE number IN ({marks})")  # noqa: S608 - as above
    connection.execute("INSERT INTO segments VALUES (?, ?)", (target, size))


def _joined(parts: Sequence[bytes], alive: NDArray[np.bool_]) -> tuple[bytes, int]:
    pairs = [_unpack(part) for part in parts]
    numbers = np.concatenate([pair[0] for pair in pairs]).astype(np.int64)
    counts = np.concatenate([pair[1] for pair in pairs]).astype(np.int64)
    kept = (numbers < len(alive)) & alive[np.minimum(numbers, len(alive) - 1)]
    return _pack(numbers[kept], counts[kept]), int(kept.sum())
