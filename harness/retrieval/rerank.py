"""The second stages of ranking that need no model of their own.

``maxsim`` compares token vectors, after ColBERT (Khattab and Zaharia, 2020),
with the vectors that the bi-encoder has made anyway, so it costs no further
model run.  For a query ``q`` and a passage ``p``::

    maxsim(q, p) = mean over tokens i of q of  max over tokens j of p of  q_i · p_j

    score = maxsim(question, p) + 0.5 · cosine(question, p)
            + 0.5 · max over options o of  maxsim(o, p)

The last term is there only when options are given.  A passage that mentions
an option, any of them, tells for or against it; the options are looked for one
by one because appended to the question they blur it.  ``none`` keeps the
cosine.  ``docs/retrieval.md`` has the measurements behind the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.retrieval.index import SCORE_DECIMALS
from harness.retrieval.protocol import Asked, Candidate, Scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "COSINE",
    "COSINE_WEIGHT",
    "MAXSIM",
    "MAXSIM_OPTIONS",
    "OPTION_WEIGHT",
    "CosineReranker",
    "MaxSimReranker",
    "maxsim",
]

COSINE_WEIGHT = 0.5
OPTION_WEIGHT = 0.5


# Noise and floor were measured for the embedded encoder.
COSINE = Scale("cosine", noise=0.14, floor=0.35)
MAXSIM = Scale(f"maxsim+{COSINE_WEIGHT}*cosine", noise=0.31, floor=0.55)
MAXSIM_OPTIONS = Scale(f"{MAXSIM.name}+{OPTION_WEIGHT}*option", noise=0.44, floor=0.75)


class CosineReranker:
    """No second stage: the bi-encoder's cosine is the score."""

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"name": "none"}

    def scale(self, *, options: bool) -> Scale:
        """Return the cosine's scale; options are not looked for."""
        return COSINE

    def score(self, asked: Asked, candidates: Sequence[Candidate]) -> list[float]:
        """Return the candidates' cosines."""
        return [candidate.cosine for candidate in candidates]


class MaxSimReranker:
    """Token vectors compared one with another, as the module's text says."""

    def __init__(self, *, chosen: str = "by name") -> None:
        """``chosen`` says why it is this one."""
        self._chosen = chosen

    def describe(self) -> dict[str, Any]:
        """Return its name, its weights, and why it was chosen."""
        return {
            "name": "maxsim",
            "cosine_weight": COSINE_WEIGHT,
            "option_weight": OPTION_WEIGHT,
            "chosen": self._chosen,
        }

    def scale(self, *, options: bool) -> Scale:
        """Return the scale of its scores."""
        return MAXSIM_OPTIONS if options else MAXSIM

    def score(self, asked: Asked, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score per candidate."""
        question = asked.encoding.tokens
        scores: list[float] = []
        for candidate in candidates:
            passage = candidate.encoding.tokens
            score = maxsim(question, passage) + COSINE_WEIGHT * candidate.cosine
            if asked.option_encodings:
                score += OPTION_WEIGHT * max(
                    maxsim(option.tokens, passage) for option in asked.option_encodings
                )
            scores.append(round(score, SCORE_DECIMALS))
        return scores


def maxsim(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    """Return the mean over query tokens of the best cosine with a passage token.

    Both have shape (tokens, d) with rows of length 1; 0 where one has none.
    """
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).mean())
