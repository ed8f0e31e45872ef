"""Greedy decoding over logits, for engines that hand out those and no more.

Pure functions: an engine says how a token is computed and how tokens become
text; what counts as the end, and where the text is cut, is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Continuation",
    "best_token",
    "candidate_logprobs",
    "check_finite",
    "continue_greedily",
    "first_token",
]

# What a byte-level tokenizer makes of half a character.
_HALF_CHARACTER = "\ufffd"


@dataclass(frozen=True, slots=True)
class Continuation:
    """What was generated; ``tokens`` counts what the text is made of, without the end token."""

    text: str
    tokens: int
    stopped: Literal["end", "stop", "limit"]


def check_finite(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``logits`` as they are.

    Raises :class:`~harness.errors.EngineError` where one is not a number: any
    choice made among them would be an accident.
    """
    import numpy as np

    if not np.isfinite(logits).all():
        raise EngineError(
            "The model's output is not a number: its weights are damaged, or overflow.",
            remedy="Check it with 'hotseat models verify', or name another model.",
        )
    return logits


def best_token(logits: NDArray[np.float32]) -> int:
    """Return the most probable token; of equal ones the one with the lowest number."""
    return int(logits.argmax())


def continue_greedily(
    first: int,
    *,
    step: Callable[[int], int],
    decode: Callable[[Sequence[int]], str],
    ends: Callable[[int], bool],
    max_tokens: int,
    stop: Sequence[str] = (),
) -> Continuation:
    """Generate from the token ``first`` on; ``step`` gives the one that follows a token.

    The text ends before the first stop string.  ``step`` is never called for a
    token whose successor nobody needs.
    """
    tokens: list[int] = []
    token = first
    while not ends(token):
        tokens.append(token)
        text = decode(tokens)
        cut = min((at for at in map(text.find, filter(None, stop)) if at >= 0), default=-1)
        if cut >= 0:
            return Continuation(text[:cut], len(tokens), "stop")
        if len(tokens) >= max_tokens:
            return Continuation(text.rstrip(_HALF_CHARACTER), len(tokens), "limit")
        token = step(token)
    return Continuation(decode(tokens).rstrip(_HALF_CHARACTER), len(tokens), "end")


def first_token(encode: Callable[[str], Sequence[int]], text: str) -> int | None:
    """Return the first token of ``text`` as it would continue a prompt.

    Some tokenizers put a blank before whatever they are given; behind a line
    break they can't.  ``None`` for a text without tokens.
    """
    lead, whole = list(encode("\n")), list(encode("\n" + text))
    if len(whole) > len(lead) and whole[: len(lead)] == lead:
        return whole[len(lead)]
    alone = encode(text)
    return alone[0] if alone else None


def candidate_logprobs(
    logits: NDArray[np.float32], candidates: Sequence[str], encode: Callable[[str], Sequence[int]]
) -> dict[str, float]:
    """Return each candidate's natural-log probability over the full vocabulary.

    ``logits`` has one value per token.  A candidate without a token gets the
    lowest probability there is.
    """
    import numpy as np

    values = logits.astype(np.float64)
    top = float(values.max())
    total = top + math.log(float(np.exp(values - top).sum()))
    found: dict[str, float] = {}
    for text in candidates:
        token = first_token(encode, text)
        known = token is not None and token < len(values)
        value = float(values[token]) if known else float(values.min())
        found[text] = min(0.0, value - total)
    return found
