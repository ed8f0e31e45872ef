"""Several rankings into one, by reciprocal rank.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
and individual Rank Learning Methods" (2009).  Only ranks count, so scores of
different scales need not be made comparable.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.retrieval.index import SCORE_DECIMALS

__all__ = ["ABSENT", "K", "ranks", "reciprocal_rank_fusion"]

K = 60  # the paper's constant: how little the very first ranks stand out
ABSENT = -1  # the rank of what a ranking does not hold


def ranks(scores: Sequence[float], *, above: float | None = None) -> list[int]:
    """Return each item's rank, 0 for the highest score; equal scores share the better rank.

    An item whose score is not over ``above`` is :data:`ABSENT`.  An item's rank depends
    on the scores only, not on their order.
    """
    # Scores nearer than this to each other share a rank.
    rounded = [round(score, SCORE_DECIMALS) for score in scores]
    held = sorted((s for s in rounded if above is None or s > above), reverse=True)
    first: dict[float, int] = {}
    for place, score in enumerate(held):
        first.setdefault(score, place)
    return [first.get(score, ABSENT) for score in rounded]


def reciprocal_rank_fusion(rankings: Sequence[tuple[float, Sequence[int]]]) -> list[float]:
    """Return one fused score per item: the sum of ``weight / (K + 1 + rank)``.

    ``rankings`` are pairs of a weight and one rank per item, all equally
    long.  Absence from a ranking adds nothing.
    """
    if not rankings:
        return []
    fused = [0.0] * len(rankings[0][1])
    for weight, places in rankings:
        for item, rank in enumerate(places):
            if rank != ABSENT:
                fused[item] += weight / (K + 1 + rank)
    return fused
