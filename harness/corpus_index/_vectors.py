"""Vectors of pages in whole numbers, so that the order of pages can't change a score.

Each passage's vector is kept as signed bytes with one factor.  The product of
two such rows is a sum of whole numbers below 2**24 (up to 1,040 dimensions),
which float32 holds exactly: the fast matrix product gives the same bits
whatever library, number of threads or place in memory it runs with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.retrieval.index import SCORE_DECIMALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.retrieval import Encoder

__all__ = [
    "PASSAGES",
    "PageVectors",
    "encode_pages",
    "encode_query",
    "encoder_identity",
    "pack",
    "passages",
    "rounded",
    "scaled",
    "unpack",
]

PASSAGES: Final = 2
"""Passages of a page that are encoded, from its beginning."""

_PASSAGE_CHARS: Final = 350
_QUERY_CHARS: Final = 2_000
_TOP: Final = 127
_MAX_DIMENSIONS: Final = 1_040


def encoder_identity(encoder: Encoder | None) -> str | None:
    """Return ``sha256:…`` over what an encoder says of itself, ``None`` without one."""
    if encoder is None:
        return None
    text = json.dumps(encoder.describe(), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def passages(title: str, text: str) -> list[str]:
    """Return the passages of a page that are encoded: title and opening, then what follows."""
    from harness.retrieval.chunking import chunk_text

    # Enough text for the passages wanted; the rest need not be cut.
    opening = text[: (PASSAGES + 1) * _PASSAGE_CHARS * 2]
    chunks = chunk_text(opening, chunker="sentences", size=_PASSAGE_CHARS, overlap=0)
    return [f"{title}\n{chunk.text}" if title else chunk.text for chunk in chunks[:PASSAGES]]


@dataclass(frozen=True, slots=True, eq=False)
class PageVectors:
    """Rows of shape (n, d) as int8, and n factors as float64."""

    rows: NDArray[np.int8]
    factors: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: Sequence[NDArray[np.float32]]) -> PageVectors:
        """Round vectors of length 1 to bytes."""
        matrix = np.stack(list(vectors)).astype(np.float64)
        if matrix.shape[1] > _MAX_DIMENSIONS:
            raise ValueError(f"vectors of {matrix.shape[1]} dimensions don't add up exactly")
        factors = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / _TOP
        return cls(np.rint(matrix / factors[:, None]).astype(np.int8), factors)


def scaled(
    exact: NDArray[np.float32], factors: NDArray[np.float64], query: PageVectors
) -> NDArray[np.float64]:
    """Return cosines out of exact products of whole numbers."""
    return rounded(exact.astype(np.float64) * factors * float(query.factors[0]))


def rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores as anything is decided on them: to six decimals."""
    found: NDArray[np.float64] = np.round(scores, SCORE_DECIMALS).astype(np.float64)
    return found


def pack(vectors: PageVectors) -> tuple[bytes, bytes]:
    """Return rows and factors as bytes (little-endian)."""
    return vectors.rows.tobytes(), vectors.factors.astype("<f8").tobytes()


def unpack(rows: bytes, factors: bytes, dimensions: int) -> PageVectors:
    """Undo :func:`pack`; ``ValueError`` when the bytes don't fit each other."""
    scale = np.frombuffer(factors, dtype="<f8").astype(np.float64)
    return PageVectors(np.frombuffer(rows, np.int8).reshape(len(scale), dimensions), scale)


def encode_pages(encoder: Encoder, pages: Sequence[tuple[str, str]]) -> list[PageVectors]:
    """Return the vectors of pages given as title and text."""
    return [
        PageVectors.of([encoding.pooled for encoding in encoder.encode(passages(title, text))])
        for title, text in pages
    ]


def encode_query(encoder: Encoder, query: str) -> PageVectors:
    """Return the one row that stands for a query; reads its first 2,000 characters."""
    return PageVectors.of([encoder.encode([query[:_QUERY_CHARS]])[0].pooled])
