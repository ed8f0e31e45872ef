"""Which passages are looked at closely, and the order they end in.

Three decisions, each by words and vectors: which passages are encoded at all
(:func:`worth_encoding`), which the reranker reads (:func:`first_stage`), and
how its ranks and those of BM25 make one order (:func:`final_order`).  All are
functions of texts and scores, so what happens to be cached has no say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.evidence import Passage
from harness.retrieval.fusion import ABSENT, ranks, reciprocal_rank_fusion
from harness.retrieval.index import SCORE_DECIMALS, nearest
from harness.settings import RetrievalSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["final_order", "first_stage", "worth_encoding"]

# A ranking counts in the first stage as far as this many times what is kept.
_DEPTH = 4


def worth_encoding(
    passages: Sequence[Passage], lexical: Sequence[float], prefilter: int
) -> list[int]:
    """Return the rows to encode, in order: the ``prefilter`` best by BM25, and every page's first.

    The first passage says what a page is about, often in other words than the
    question's.  0 takes all.
    """
    if not prefilter or len(passages) <= prefilter:
        return list(range(len(passages)))
    best = sorted(range(len(passages)), key=lambda row: (-round(lexical[row], SCORE_DECIMALS), row))
    leads = {passage.id[0]: row for row, passage in reversed(list(enumerate(passages)))}
    return sorted({*best[:prefilter], *leads.values()})


def first_stage(
    question: NDArray[np.float32],
    vectors: NDArray[np.float32],
    lexical: Sequence[float],
    settings: RetrievalSettings,
) -> list[tuple[int, float]]:
    """Return ``(row, cosine)`` of what the reranker shall read, the likeliest first.

    ``vectors`` has one row per score in ``lexical``.  With ``first_stage``
    ``fused`` the ranks by cosine and by BM25 are fused, else the cosine
    decides alone.  Ties go by cosine, then to the earlier row.
    """
    if settings.first_stage == "vectors":
        return nearest(question, vectors, settings.keep)
    depth = _DEPTH * settings.keep
    near = nearest(question, vectors, depth)
    cosines = dict(near)
    by_words = [r if r < depth else ABSENT for r in ranks(lexical, above=0.0)]
    by_vector = [ABSENT] * len(vectors)
    for place, rank in zip(cosines, ranks([cosine for _, cosine in near]), strict=True):
        by_vector[place] = rank
    fused = reciprocal_rank_fusion([(1.0, by_vector), (1.0, by_words)])
    order = sorted(
        range(len(vectors)), key=lambda row: (-fused[row], -cosines.get(row, -2.0), row)
    )[: settings.keep]
    missing = [row for row in order if row not in cosines]
    for row in missing:
        cosines[row] = nearest(question, vectors[row : row + 1], 1)[0][1]
    return [(row, cosines[row]) for row in order]


def final_order(
    passages: Sequence[Passage], lexical: Sequence[float], settings: RetrievalSettings
) -> list[Passage]:
    """Return the passages in the order in which they are to be chosen.

    The reranker's rank weighs 1, BM25's ``lexical_weight``; being the first
    passage of a page counts ``lead_weight``, more for a page found earlier.  Ties
    go by the reranker's score, then by place.
    """
    scores = ranks([passage.score for passage in passages])
    by_words = ranks(lexical, above=0.0)
    leads = [passage.id[0] if passage.id[1] == 0 else ABSENT for passage in passages]
    fused = reciprocal_rank_fusion(
        [(1.0, scores), (settings.lexical_weight, by_words), (settings.lead_weight, leads)]
    )
    order = sorted(
        range(len(passages)), key=lambda row: (-fused[row], -passages[row].score, passages[row].id)
    )
    return [passages[row] for row in order]
