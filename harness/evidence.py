"""What research finds: hits of a search, documents read, passages chosen.

These values travel between the two halves of the pipeline.  They live at the
bottom of the package so that ``web`` can produce and ``retrieval`` consume
them without knowing each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Document", "Evidence", "Passage", "SearchHit"]


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search, after merging.

    ``queries`` names the searches that returned it (``"broad"``,
    ``"trusted"``); ``rank`` is its 0-based place after merging; ``date`` is
    the publication date as the provider gave it (ISO where possible).
    """

    url: str
    title: str
    snippet: str
    date: str | None = None
    engines: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    trusted: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """Text from one source, ready for chunking.

    ``origin`` is ``"page"`` when the page itself was read and ``"snippet"``
    when only the search result's own text could be had.
    """

    url: str
    title: str
    text: str
    origin: Literal["page", "snippet"]
    date: str | None = None
    language: str | None = None
    trusted: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything ``search_documents`` hands to ``answer_from_docs``.

    ``searched`` is false when research was switched off or skipped, which is
    different from a search that found nothing.
    """

    query: str
    hits: tuple[SearchHit, ...] = ()
    documents: tuple[Document, ...] = ()
    searched: bool = True

    @classmethod
    def none(cls) -> Evidence:
        """Return the evidence of a question for which nothing was looked up."""
        return cls(query="", searched=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document with the scores that selection gave it.

    ``id`` is ``(document index, chunk index)``: the stable tie-breaker.
    ``similarity`` is the bi-encoder's cosine in [-1, 1]; ``score`` is the
    reranker's, on the scale that the reranker names.
    """

    id: tuple[int, int]
    text: str
    title: str
    url: str
    origin: Literal["page", "snippet"]
    date: str | None = None
    trusted: bool = False
    similarity: float = 0.0
    score: float = 0.0
