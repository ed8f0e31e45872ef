"""Ranking by a model that reads question and passage together.

The score is the model's raw number (a logit where it was trained on yes and
no).  A sigmoid would bring it to 0…1 but squeeze all that is clearly relevant,
and all that is clearly not, into the last decimals, where a threshold that
counts from noise has nothing to hold on to.

The question is asked alone.  With ``query="joined"`` the options follow it in
the same text; that is another scale.  One run per option would cost a model
run for each of them and passage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from harness.errors import EngineError
from harness.retrieval.calibration import Calibration, calibrate, join
from harness.retrieval.index import SCORE_DECIMALS
from harness.retrieval.protocol import Asked, Candidate, Scale

__all__ = ["PairReranker", "PairScorer", "QueryForm"]

QueryForm = Literal["question", "joined"]


class PairScorer(Protocol):
    """A loaded model that scores pairs of texts, one at a time."""

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest: at least name and model_sha256."""

    def score(self, query: str, passage: str) -> float:
        """Return the model's raw number for a pair; higher is nearer."""


class PairReranker:
    """A second stage of ranking over any model of pairs.

    ``meaning`` names what the numbers mean across forms of the same model,
    such as the name in the registry; without it the hash of the weights is
    taken, so that two models never share a scale.
    """

    def __init__(
        self,
        scorer: PairScorer,
        *,
        meaning: str = "",
        query: QueryForm = "question",
        chosen: str = "",
    ) -> None:
        """Measure the scale of ``scorer``'s numbers on the built-in pairs.

        Raises :class:`~harness.errors.EngineError` when it can't tell passages
        that answer a question from others.
        """
        self._scorer = scorer
        self._identity = scorer.describe()
        self._meaning = meaning or str(self._identity["model_sha256"])[:12]
        self._query: QueryForm = query
        self._chosen = chosen
        forms = (False, True) if query == "joined" else (False,)
        self._measured = {joined: self._calibrate(joined=joined) for joined in forms}

    def describe(self) -> dict[str, Any]:
        """Return the model, how it is asked, and its measured scales."""
        return {
            **self._identity,
            "query": self._query,
            "scales": [
                {"name": self._name(joined=joined), **found.describe()}
                for joined, found in self._measured.items()
            ],
            "chosen": self._chosen,
        }

    def scale(self, *, options: bool) -> Scale:
        """Return the scale of its scores."""
        joined = options and self._query == "joined"
        found = self._measured[joined]
        return Scale(self._name(joined=joined), found.noise, found.floor)

    def score(self, asked: Asked, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score per candidate; each pair runs alone."""
        joined = bool(asked.options) and self._query == "joined"
        query = join(asked.text, asked.options) if joined else asked.text
        return [self._number(query, candidate.text) for candidate in candidates]

    def _number(self, query: str, passage: str) -> float:
        number = self._scorer.score(query, passage)
        if not math.isfinite(number):
            raise EngineError(
                f"The reranker '{self._identity['name']}' gave {number} instead of a score.",
                remedy="Its weights are damaged; use --set retrieval.reranker=maxsim.",
            )
        return round(number, SCORE_DECIMALS) + 0.0  # no negative zero

    def _name(self, *, joined: bool) -> str:
        return f"{self._meaning}:logit{'+options' if joined else ''}"

    def _calibrate(self, *, joined: bool) -> Calibration:
        found = calibrate(self._number, joined=joined)
        if not found.usable:
            raise EngineError(
                f"The reranker '{self._identity['name']}' can't be used: of {found.questions} "
                f"built-in questions it told the passage that answers from two others for "
                f"{found.told_apart} only.",
                remedy="Name a model trained to rank passages for questions, or maxsim.",
            )
        return found
