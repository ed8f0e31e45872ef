"""Search over the pages of a corpus."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from harness.corpus import Corpus
from harness.corpus_index._database import (
    FILE,
    Database,
    DatabaseDamagedError,
    checksum,
    telling,
)
from harness.corpus_index._ranking import LEAST_COSINE, Pages, Ranked, rank
from harness.corpus_index._snippet import snippet
from harness.corpus_index._terms import query_terms, split_sites
from harness.corpus_index._update import Progress, update
from harness.corpus_index._values import FORMAT, CorpusHit, Updated
from harness.corpus_index._vectors import encode_query, encoder_identity
from harness.errors import CorpusDamagedError, CorpusError, MissingError
from harness.retrieval._sqlite import remove

if TYPE_CHECKING:
    from harness.retrieval import Encoder

__all__ = ["CorpusIndex"]

_FOLDER: Final = "search"
_LOCK_S: Final = 1_800.0


class CorpusIndex:
    """An index over the recorded pages of one corpus.  Use it as a context manager.

    It lies beside the corpus (``Corpus.derived``), or in memory where that
    can't be written.  What is found depends on the recorded pages, the query
    and the encoder, never on how the index came about.  ``notes`` tells, one
    sentence each, what a user should know of how it was opened.  Safe to use
    from several threads; several processes may have one index open.
    """

    def __init__(self, corpus: Corpus, encoder: Encoder | None, *, read_only: bool) -> None:
        """Use :meth:`open` instead."""
        self.notes: list[str] = []
        self._corpus = corpus
        self._encoder = encoder
        self._identity = encoder_identity(encoder)
        self._read_only = read_only
        self._lock = threading.RLock()
        self._pages: Pages | None = None
        self._path = self._find_place()
        self._database = self._open()

    @classmethod
    def open(
        cls, corpus: Corpus, encoder: Encoder | None = None, *, read_only: bool = False
    ) -> CorpusIndex:
        """Open the index of ``corpus``; without ``encoder`` it searches by words alone.

        An index that is damaged or of another version is built anew, and
        ``notes`` says so.  With ``read_only`` it is used as it is.  Raises
        :class:`~harness.errors.MissingError` when there is none to read and
        :class:`~harness.errors.CorpusError` when it can't be used.
        """
        return cls(corpus, encoder, read_only=read_only)

    def describe(self) -> dict[str, Any]:
        """Return what decides what is found, besides the corpus, as JSON values."""
        return {"format": FORMAT, "encoder": self._identity}

    def _find_place(self) -> Path | None:
        folder = self._corpus.derived / _FOLDER
        if self._read_only:
            if not (folder / FILE).is_file():
                raise MissingError(
                    f"The corpus {self._corpus.path} has no search index yet.",
                    remedy="'hotseat corpus search' builds it.",
                )
            return folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder / FILE
            reason = os.strerror(errno.EACCES)
        except OSError as error:
            reason = str(error.strerror)
        self.notes.append(
            f"The search index can't be kept in {folder} ({reason}); "
            "it is built in memory, for this time only."
        )
        return None

    def _open(self) -> Database:
        try:
            return Database(self._path, read_only=self._read_only)
        except DatabaseDamagedError as error:
            if self._read_only:
                raise _damaged(error) from None
            return self._replace(error)

    def _replace(self, error: DatabaseDamagedError) -> Database:
        """Throw a damaged index away, unless another process just did."""
        assert self._path is not None, "what is in memory was made a moment ago"
        with self._locked(self._path.parent):
            try:
                return Database(self._path)
            except DatabaseDamagedError:
                remove(self._path)
                self.notes.append(f"The search index is built anew: {error}.")
                return Database(self._path)

    @contextmanager
    def _locked(self, folder: Path | None, progress: Progress | None = None) -> Iterator[None]:
        """Keep other processes from changing the index; tell ``progress`` of a wait."""
        if folder is None:
            yield
            return
        from filelock import FileLock, Timeout

        lock = FileLock(str(folder / "index.lock"))
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if progress is not None:
                    progress("waiting", 0, 1)
                lock.acquire(timeout=_LOCK_S)
        except Timeout:
            raise CorpusError(
                f"Another program has been building the search index in {folder} for too long.",
                remedy="Try again when it has ended.",
            ) from None
        try:
            yield
        finally:
            lock.release()

    def update(self, progress: Progress | None = None) -> Updated:
        """Read what is new in the corpus into the index, and drop what is gone.

        ``progress`` is called with ``"reading"`` or ``"encoding"``, how many
        are done, and of how many, and with ``"waiting"`` for another process.
        May be interrupted or killed at any time; the next update goes on from
        there.  Raises :class:`~harness.errors.CorpusError` when the index
        can't be written.
        """
        if self._read_only:
            raise CorpusError("This search index was opened for reading only.")
        folder = self._path.parent if self._path else None
        with self._lock, self._locked(folder, progress):
            self._pages = None
            if self._database.is_replaced():
                self._database.close()
                self._database = self._open()
            try:
                with telling():
                    self._database.refuse_damaged()  # a search may have noted it meanwhile
                    return update(self._database, self._corpus, self._encoder, progress)
            except DatabaseDamagedError as error:
                return self._build_anew(error, progress)

    def _build_anew(self, error: DatabaseDamagedError, progress: Progress | None) -> Updated:
        if self._path is None:
            raise _damaged(error) from None
        self._database.close()
        remove(self._path)
        self.notes.append(f"The search index is built anew: {error}.")
        self._database = Database(self._path)
        with telling():
            return update(self._database, self._corpus, self._encoder, progress)

    def search(self, query: str, *, limit: int = 10, offset: int = 0) -> list[CorpusHit]:
        """Return the pages that fit ``query``, best first, the first ``offset`` left out.

        ``site:`` restrictions in the query are kept to; everything else in it
        is words.  Of a page recorded in several languages the best one counts.
        Nothing but what the last :meth:`update` of any process brought in is
        found.  Raises :class:`~harness.errors.CorpusDamagedError` when the
        index turns out to be damaged; the next update builds it anew.
        """
        words, domains = split_sites(query)
        wanted = query_terms(words)
        if not wanted or limit < 1:
            return []
        vector = encode_query(self._encoder, words) if self._encoder else None
        with self._lock:
            try:
                with telling(), self._database.snapshot():
                    pages = self._current()
                    ranked = rank(
                        pages.by_terms(self._database, wanted),
                        _near(pages, vector),
                        pages.within(domains),
                    )
                    ranked = _distinct(pages, ranked)[offset : offset + limit]
                    return [self._hit(pages, item, wanted) for item in ranked]
            except DatabaseDamagedError as error:
                if not self._read_only:  # rows are checked when read, not when it is opened
                    self._database.note_damage()
                raise _damaged(error) from None

    def _current(self) -> Pages:
        pages = self._pages
        if pages is None or pages.generation != self._database.meta("generation"):
            pages = self._pages = Pages(self._database, self._identity)
        return pages

    def _hit(self, pages: Pages, item: Ranked, wanted: Sequence[str]) -> CorpusHit:
        query = "SELECT title, text, date, text_checked FROM pages WHERE id = ?"
        row = self._database.connection.execute(query, (pages.ids[item.place],)).fetchone()
        title, text, date, checked = row or ("", "", None, None)
        if checked != checksum(title, text, date):
            raise DatabaseDamagedError("the text of a page in it is damaged")
        return CorpusHit(
            url=pages.urls[item.place],
            title=title,
            snippet=snippet(text, wanted),
            score=item.score,
            lexical_rank=item.lexical_rank,
            vector_rank=item.vector_rank,
            date=date,
            accept_language=pages.languages[item.place],
        )

    def __len__(self) -> int:
        """Return how many pages can be found."""
        query = "SELECT COUNT(*) FROM pages WHERE failure IS NULL"
        with self._lock, telling():
            return int(self._database.connection.execute(query).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _near(pages: Pages, vector: Any) -> Any:
    import numpy as np

    if vector is None:
        return np.empty(0, np.intp), np.empty(0)
    places, cosines = pages.by_vector(vector)
    near = cosines >= LEAST_COSINE
    return places[near], cosines[near]


def _distinct(pages: Pages, ranked: Sequence[Ranked]) -> list[Ranked]:
    best: dict[str, Ranked] = {}
    for item in ranked:
        best.setdefault(pages.urls[item.place], item)
    return list(best.values())


def _damaged(error: DatabaseDamagedError) -> CorpusDamagedError:
    return CorpusDamagedError(
        f"The search index of the corpus can't be used: {error}.",
        remedy="It is built anew when it is next opened for an update.",
    )
