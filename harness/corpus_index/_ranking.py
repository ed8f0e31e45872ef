"""Ranking: BM25 and vectors, each over all pages, fused by reciprocal rank.

Nothing here depends on the order in which pages came in.  Pages have a *place*
in the order of their addresses, which breaks every tie; BM25 is computed here,
term by term, from whole numbers that are the same however the index grew; cosines
are exact (:mod:`harness.corpus_index._vectors`); all scores are rounded before
anything is decided on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.corpus_index._database import Database, DatabaseDamagedError, checksum
from harness.corpus_index._postings import lookup
from harness.corpus_index._vectors import PageVectors, rounded, scaled, unpack
from harness.retrieval.fusion import K
from harness.retrieval.index import SCORE_DECIMALS
from harness.web.domains import host_of, in_domains

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Pages", "Ranked", "rank"]

DEPTH: Final = 100
"""Pages of each list that count towards the result."""

_K1: Final = 1.2  # Robertson and Zaragoza, 2009: how soon more of a term says no more,
_B: Final = 0.75  # and how far long pages are discounted
# Below this a page has nothing to do with the query, for all encoders known here.
LEAST_COSINE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page by its place, with its score and its ranks from 1 (``None``: not in that list)."""

    place: int
    score: float
    lexical_rank: int | None
    vector_rank: int | None


class Pages:
    """All pages that can be found, in the order of their addresses, with one encoder's vectors.

    ``ids`` are their n numbers in the index; ``matrix`` holds the passages of all pages as whole
    numbers in float32, shape (m, d), a page's side by side.
    """

    def __init__(self, database: Database, encoder: str | None) -> None:
        """Read them; within a snapshot of the caller's."""
        self.generation = database.meta("generation")
        query = (
            "SELECT id, key, url, accept_language, length, checked FROM pages WHERE failure IS NULL"
            " ORDER BY url, accept_language, key"
        )
        self.ids: list[int] = []
        self.urls: list[str] = []
        self.languages: list[str] = []
        lengths: list[int] = []
        for number, key, url, language, length, checked in database.connection.execute(query):
            if checked != checksum(number, key, url, language, length):
                raise DatabaseDamagedError("the address of a page in it is damaged")
            self.ids.append(number)
            self.urls.append(url)
            self.languages.append(language)
            lengths.append(length)
        self._place_of = np.full(max(self.ids, default=0) + 1, -1, dtype=np.intp)
        self._place_of[self.ids] = np.arange(len(self.ids))
        # The part of BM25 that depends on a page's length alone.
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        self._norms = _K1 * (1 - _B + _B * np.array(lengths, np.float64) / mean)
        self._hosts: list[str] | None = None
        self._load_vectors(database, encoder)

    def _load_vectors(self, database: Database, encoder: str | None) -> None:
        query = "SELECT id, dimensions FROM encoders WHERE identity = ?"
        row = database.connection.execute(query, (encoder,)).fetchone() if encoder else None
        number, dimensions = row or (None, 1)
        packed, factors, starts, places = [], [], [0], []
        query = "SELECT page, rows, factors, checked FROM vectors WHERE encoder = ?"
        for page, rows, scale, checked in database.connection.execute(query, (number,)):
            if checked != checksum(page, rows, scale):
                raise DatabaseDamagedError("a vector in it is damaged")
            if not scale or len(scale) % 8:
                raise DatabaseDamagedError("a vector in it is damaged")
            if not 0 <= page < len(self._place_of) or self._place_of[page] < 0:
                raise DatabaseDamagedError("a vector in it belongs to no page")
            packed.append(rows)
            factors.append(scale)
            starts.append(starts[-1] + len(scale) // 8)
            places.append(int(self._place_of[page]))
        try:
            vectors = unpack(b"".join(packed), b"".join(factors), dimensions)
        except ValueError:
            raise DatabaseDamagedError("its vectors are damaged") from None
        self.matrix: NDArray[np.float32] = vectors.rows.astype(np.float32)
        self.factors = vectors.factors
        self._starts = np.array(starts[:-1], dtype=np.intp)
        self._places = np.array(places, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.ids)

    def within(self, domains: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which pages lie in ``domains``, shape (n,); ``None`` for all."""
        if not domains:
            return None
        if self._hosts is None:
            self._hosts = [host_of(url) for url in self.urls]
        found = {host: in_domains(host, domains) for host in set(self._hosts)}
        return np.array([found[host] for host in self._hosts], dtype=np.bool_)

    def by_vector(self, query: PageVectors) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return places and the cosine of each page's best passage with the query."""
        if not len(self._places):
            return self._places, np.empty(0)
        if self.matrix.shape[1] != query.rows.shape[1]:
            raise DatabaseDamagedError("its vectors are of another length")
        exact = self.matrix @ query.rows[0].astype(np.float32)
        cosines = scaled(exact, self.factors, query)
        return self._places, np.maximum.reduceat(cosines, self._starts)

    def by_terms(
        self, database: Database, terms: Sequence[str]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return places and BM25 scores of all pages with one of ``terms``."""
        scores = np.zeros(len(self.ids))
        for term in sorted(set(terms)):
            places, counts = self._holding(database, term)
            rarity = math.log1p((len(self.ids) - len(places) + 0.5) / (len(places) + 0.5))
            scores[places] += rarity * counts * (_K1 + 1) / (counts + self._norms[places])
        scores = rounded(scores)
        found = np.flatnonzero(scores)
        return found, scores[found]

    def _holding(
        self, database: Database, term: str
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        try:
            numbers, counts = lookup(database.connection, term)
        except ValueError:
            raise DatabaseDamagedError("its lexical part is damaged") from None
        # Pages that are gone are still in the postings; numbers only grow.
        there = (numbers >= 0) & (numbers < len(self._place_of))
        numbers, counts = numbers[there], counts[there]
        places = self._place_of[numbers]
        return places[places >= 0], counts[places >= 0]


def rank(
    lexical: tuple[NDArray[np.intp], NDArray[np.float64]],
    vector: tuple[NDArray[np.intp], NDArray[np.float64]],
    among: NDArray[np.bool_] | None,
) -> list[Ranked]:
    """Fuse two lists of places and scores, best first; ``among`` says which places may come."""
    ranks: dict[int, list[int | None]] = {}
    for column, (places, scores) in enumerate((lexical, vector)):
        for number, place in enumerate(_best(places, scores, among), 1):
            ranks.setdefault(place, [None, None])[column] = number
    fused = [
        Ranked(
            place,
            round(sum(1 / (K + found) for found in pair if found is not None), SCORE_DECIMALS),
            *pair,
        )
        for place, pair in ranks.items()
    ]
    return sorted(fused, key=lambda item: (-item.score, item.place))


def _best(
    places: NDArray[np.intp], scores: NDArray[np.float64], among: NDArray[np.bool_] | None
) -> list[int]:
    if among is not None:
        kept = among[places]
        places, scores = places[kept], scores[kept]
    order = np.lexsort((places, -scores))[:DEPTH]
    found: list[int] = places[order].tolist()
    return found
