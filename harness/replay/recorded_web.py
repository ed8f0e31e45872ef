"""What a replay needs of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import httpx

__all__ = ["MissPolicy", "RecordedManifest", "RecordedWeb", "SearchFallback"]

MissPolicy = Literal["fail", "corpus"]
"""What a search that was never recorded becomes: a miss, or one over the recorded pages."""


class RecordedManifest(Protocol):
    """What a corpus says of itself."""

    @property
    def name(self) -> str:
        """What the corpus is called."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The dotted settings that it was recorded with."""


class RecordedWeb(Protocol):
    """What a replay needs of a corpus (:class:`harness.corpus.Corpus` fits)."""

    @property
    def manifest(self) -> RecordedManifest:
        """What the corpus says of itself."""

    @property
    def questions_path(self) -> Path | None:
        """The question file that travels with the corpus."""

    @property
    def problems(self) -> Iterable[object]:
        """What was found damaged, one sentence each."""

    def entries(self) -> Iterable[object]:
        """Return everything recorded that can be read."""

    def digest(self) -> str:
        """Return the digest over everything recorded."""

    def tape(self, mode: Literal["replay"]) -> httpx.AsyncBaseTransport:
        """Return a transport for one question."""

    def close(self) -> None:
        """Close the store."""


class SearchFallback(Protocol):
    """What answers searches that were never recorded, from the pages that were."""

    def describe(self) -> Mapping[str, Any]:
        """Return what has to be equal for answers to be equal, as JSON values."""

    def over(self, tape: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        """Return a transport for one question that asks ``tape`` first."""

    def close(self) -> None:
        """Free the index."""
