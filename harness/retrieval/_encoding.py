"""From a model's token vectors to an :class:`Encoding`, and the cache around it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import EngineError
from harness.retrieval.cache import VectorCache
from harness.retrieval.protocol import Encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CACHE_BYTES", "MAX_TOKENS", "TINY", "CachingEncoder", "make_encoding", "unit"]

MAX_TOKENS = 256  # what MiniLM was trained to read; a longer text is judged by its opening
CACHE_BYTES = 256 * 1024 * 1024

TINY = np.float32(1e-12)  # in place of a length of 0, to divide by


class CachingEncoder:
    """Encodes equal texts once, and keeps vectors in memory between calls.

    All else that makes a text's vectors stays the same for as long as the
    encoder, and with it the cache, lives.
    """

    def __init__(self, cache_bytes: int) -> None:
        self._cache = VectorCache(cache_bytes)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return one encoding per text, in order; equal texts are encoded once."""
        found: dict[str, Encoding] = {}
        for text in texts:
            if text not in found:
                found[text] = self._encode_cached(text)
        return [found[text] for text in texts]

    def _encode_cached(self, text: str) -> Encoding:
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        kept = self._cache.get(key)
        if kept is None:
            kept = self._encode_one(text)
            self._cache.put(key, kept)
        return kept

    def _encode_one(self, text: str) -> Encoding:
        raise NotImplementedError


def make_encoding(pooled: NDArray[np.float32], tokens: NDArray[np.float32], what: str) -> Encoding:
    """Scale a pooled vector (d,) and token vectors (n, d) to length 1.

    Raises :class:`~harness.errors.EngineError` when the model gave no numbers.
    """
    if not (np.isfinite(pooled).all() and np.isfinite(tokens).all()):
        raise EngineError(
            f"The {what} gave vectors that are no numbers.", remedy="Its weights are damaged."
        )
    return Encoding(unit(pooled[None, :])[0], unit(tokens))


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1, read-only; a row of zeros stays one."""
    lengths = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
    scaled = np.ascontiguousarray(rows / np.maximum(lengths, TINY), dtype=np.float32)
    scaled.flags.writeable = False
    return scaled
