"""The values that the index takes in and gives out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FORMAT", "CorpusHit", "PageText", "Updated"]

FORMAT: Final = "hotseat-search/1"
"""Numbers everything that decides what is found: terms, passages, ranking, schema."""


@dataclass(frozen=True, slots=True)
class CorpusHit:
    """A recorded page that fits a query.

    ``url`` and ``accept_language`` are those under which the page was
    recorded, so that asking for it replays it.  ``score`` is the sum of
    reciprocal ranks; the ranks count from 1 and are ``None`` where the page
    is not among the best of that list.  ``date`` is the page's own (ISO).
    """

    url: str
    title: str
    snippet: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    date: str | None
    accept_language: str


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update did, in pages and in seconds of each part.

    ``pages`` is how many can be found now, ``unreadable`` how many recorded
    pages have no text.  ``encoded`` counts pages whose vectors were made.
    """

    pages: int
    unreadable: int
    added: int
    removed: int
    encoded: int
    read_s: float
    index_s: float
    encode_s: float

    @property
    def seconds(self) -> float:
        """Seconds in all."""
        return self.read_s + self.index_s + self.encode_s


@dataclass(frozen=True, slots=True)
class PageText:
    """A recorded page as it goes into the index.

    ``key`` is the request's (hex), ``source`` names the bytes that the text
    was taken from.  ``text`` is empty where ``failure`` says why.
    """

    key: str
    source: str
    url: str
    accept_language: str
    title: str = ""
    text: str = ""
    date: str | None = None
    failure: str | None = None
