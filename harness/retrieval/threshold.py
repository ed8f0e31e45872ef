"""Which of the ranked passages are worth the room they take.

The rule adapts to each question.  Let ``best`` be the highest score and
``noise`` the score that passages without any bearing on the question usually
get on this scale (a constant of the reranker).  Then

1. if ``best`` is below ``floor``, nothing is kept: reading noise makes a model
   worse than reading nothing;
2. else a passage is kept whose score reaches
   ``noise + threshold · (best − noise)``, so 0 keeps all that rise above
   noise and 1 only the best.

Counting from ``noise`` rather than from 0 lets one ``threshold`` mean the same
on every scale: two passages without bearing may well have a ratio of scores of
0.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.retrieval.index import SCORE_DECIMALS
from harness.retrieval.protocol import Reranker, Scale

__all__ = ["cutoff", "floors_in_use", "floors_without_use"]


def cutoff(
    best: float, scale: Scale, *, threshold: float, floors: Mapping[str, float]
) -> float | None:
    """Return the score a passage must reach, ``None`` when not even ``best`` is enough.

    ``threshold`` is a share in [0, 1].  ``floors`` maps names of scales to
    floors that replace the scales' own; those of other scales are not used.
    """
    if best < floors.get(scale.name, scale.floor):
        return None
    asked = scale.noise + threshold * (best - scale.noise)
    return round(min(best, asked), SCORE_DECIMALS)


def floors_in_use(floors: Mapping[str, float], reranker: Reranker) -> dict[str, float]:
    """Return the floors that hold with ``reranker``, its own or replaced, by name of scale."""
    scales = (reranker.scale(options=options) for options in (False, True))
    return {scale.name: floors.get(scale.name, scale.floor) for scale in scales}


def floors_without_use(floors: Mapping[str, float], reranker: Reranker) -> tuple[str, ...]:
    """Return the scales named in ``floors`` that ``reranker`` has not, in order of name."""
    return tuple(sorted(set(floors) - set(floors_in_use({}, reranker))))
