"""The two small protocols of retrieval, encoder and reranker, and the values they speak in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Asked", "Candidate", "Encoder", "Encoding", "PooledFirst", "Reranker", "Scale"]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """What an encoder makes of one text.

    ``pooled`` is a float32 vector of shape (d,), ``tokens`` a float32 matrix
    of shape (n, d): the text's own tokens, without special and padding ones,
    so n is 0 for an empty text.  All vectors have length 1; the arrays are
    read-only because they are shared.
    """

    pooled: NDArray[np.float32]
    tokens: NDArray[np.float32]

    @property
    def size_bytes(self) -> int:
        """Memory that the vectors take."""
        return int(self.pooled.nbytes + self.tokens.nbytes)


class Encoder(Protocol):
    """A loaded text encoder."""

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values.

        Holds at least ``name`` and everything that has to be equal for vectors
        to be equal: of the encoders here ``model_sha256``,
        ``tokenizer_sha256``, ``threads``, ``max_tokens``, ``pooling``, and the
        versions of the libraries that run them.
        """

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return one encoding per text, in order.

        A text's encoding does not depend on its neighbours or their order.
        """


@runtime_checkable
class PooledFirst(Protocol):
    """An encoder that can tell pooled vectors without the token vectors, for less."""

    def pooled(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return one vector of shape (d,) per text, in order: those that ``encode`` returns."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a score means: scores of different scales must not be compared.

    ``noise`` is the median score of passages that have nothing to do with the
    question, ``floor`` the best score below which nothing is worth reading.
    Both belong to the scale: a threshold of one is never used on another.
    """

    name: str
    noise: float
    floor: float


@dataclass(frozen=True, slots=True)
class Asked:
    """The question and the answers to choose from, as text and as vectors."""

    text: str
    options: tuple[str, ...]
    encoding: Encoding
    option_encodings: tuple[Encoding, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage as the encoder read it, its vectors, and its cosine with the question."""

    text: str
    encoding: Encoding
    cosine: float


class Reranker(Protocol):
    """The second stage of ranking, over what the first one kept."""

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values.

        Holds at least ``name`` and everything that has to be equal for scores
        to be equal.
        """

    def scale(self, *, options: bool) -> Scale:
        """Return the scale of its scores, with or without options to look for."""

    def score(self, asked: Asked, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score per candidate, higher is better, rounded to six decimals.

        A score depends on the question, the options and that candidate only,
        not on its neighbours or their order.
        """
