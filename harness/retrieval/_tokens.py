"""Texts into token ids with the model's own ``tokenizer.json``, the same for every runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "PairTokenizer",
    "Tokenised",
    "largest_id",
    "load_tokenizer",
    "refuse_mismatch",
    "tokenise",
]


@dataclass(frozen=True, slots=True, eq=False)
class Tokenised:
    """What a model is fed for one text or one pair.

    ``ids``, ``type_ids`` and ``mask`` are int64 of shape (1, n); ``own`` is
    bool of shape (n,) and true for tokens that aren't special ones.
    """

    ids: NDArray[np.int64]
    type_ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    own: NDArray[np.bool_]

    def feed(self, inputs: list[str]) -> dict[str, NDArray[np.int64]]:
        """Return the arrays that a model with these input names wants."""
        named = {
            "input_ids": self.ids,
            "attention_mask": self.mask,
            "token_type_ids": self.type_ids,
        }
        return {name: value for name, value in named.items() if name in inputs}


def load_tokenizer(path: Path, max_tokens: int, *, strategy: str = "longest_first") -> Any:
    """Load a tokenizer that cuts at ``max_tokens``.

    Raises :class:`~harness.errors.EngineError` for a file that can't be used.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - what the library raises for a bad file
        raise EngineError(
            f"{path} is not a tokenizer that can be read: {error}.",
            remedy="Verify pulled models with 'hotseat models verify', or fetch your own again.",
        ) from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens, strategy=strategy)
    return tokenizer


class PairTokenizer:
    """A tokenizer for pairs of at most ``max_tokens``, special tokens included.

    A query gets at most half of them; of the passage the end is cut off where
    both don't fit.
    """

    def __init__(self, path: Path, max_tokens: int) -> None:
        """Load ``path``; raises as :func:`load_tokenizer` does."""
        self.pair = load_tokenizer(path, max_tokens, strategy="only_second")
        self._query = load_tokenizer(path, max_tokens // 2)

    def tokenise(self, query: str, passage: str) -> Tokenised:
        """Return the tokens of a pair."""
        query = _readable(query)
        alone = self._query.encode(query, add_special_tokens=False)
        if alone.overflowing:
            query = query[: alone.offsets[-1][1]]
        return _arrays(self.pair.encode(query, _readable(passage)))


def largest_id(tokenizer: Any) -> int:
    """Return the largest token id that a tokenizer can give."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)


def refuse_mismatch(what: str, tokenizer: Any, rows: int | None) -> None:
    """Raise :class:`~harness.errors.EngineError` if the tokenizer has ids the model has not.

    ``rows`` is the number of token embeddings; ``None``: fewer than needed.
    """
    largest = largest_id(tokenizer)
    if rows is not None and largest < rows:
        return
    has = "too few" if rows is None else f"{rows:,}"
    raise EngineError(
        f"The {what} and its tokenizer don't belong together: the tokenizer knows "
        f"{largest + 1:,} tokens, the model has {has} embeddings.",
        remedy="Use the tokenizer.json that came with the model.",
    )


def tokenise(tokenizer: Any, text: str) -> Tokenised:
    """Return the tokens of one text."""
    return _arrays(tokenizer.encode(_readable(text)))


def _arrays(encoded: Any) -> Tokenised:
    return Tokenised(
        ids=np.array([encoded.ids], dtype=np.int64),
        type_ids=np.array([encoded.type_ids], dtype=np.int64),
        mask=np.array([encoded.attention_mask], dtype=np.int64),
        own=np.array(encoded.special_tokens_mask) == 0,
    )


def _readable(text: str) -> str:
    """Return ``text`` without half surrogate pairs, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
