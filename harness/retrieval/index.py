"""The nearest vectors by cosine: one product, or FAISS where there are very many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FAISS_FROM", "SCORE_DECIMALS", "nearest"]

# Scores are rounded before anything is decided on them.  The last bits of a
# dot product depend on where in memory order a vector stands; a decision that
# hung on them would change when an unrelated passage is added.
SCORE_DECIMALS = 6

# From so many rows on FAISS is asked.  For one exact question the product was
# faster at every size that was measured (docs/retrieval.md), by the factor that
# filling an index costs; this lies beyond all of them.
FAISS_FROM = 1_000_000

_ERROR = 1e-5  # no float32 sum over a vector of length 1 is further off


def nearest(
    query: NDArray[np.float32],
    passages: NDArray[np.float32],
    keep: int,
    *,
    faiss_from: int = FAISS_FROM,
) -> list[tuple[int, float]]:
    """Return ``(row, cosine)`` of the ``keep`` rows nearest to ``query``, nearest first.

    ``query`` has shape (d,), ``passages`` (n, d), all of length 1.  Rows of
    equal cosine come in row order, also at the edge of what is kept.

    Float32 sums, numpy's or FAISS's, only tell which rows may be among the
    nearest.  Those are compared by cosines summed in float64 and rounded, so
    both ways end in the same decisions.
    """
    import numpy as np

    if not len(passages) or keep < 1:
        return []
    keep = min(keep, len(passages))
    near = _near_by_faiss if len(passages) >= faiss_from else _near_by_product
    rows = near(query, passages, keep)
    cosines = passages[rows].astype(np.float64) @ query.astype(np.float64)
    found = [
        (int(row), round(float(cosine), SCORE_DECIMALS))
        for row, cosine in zip(rows, cosines, strict=True)
    ]
    found.sort(key=lambda item: (-item[1], item[0]))
    return found[:keep]


def _near_by_product(
    query: NDArray[np.float32], passages: NDArray[np.float32], keep: int
) -> NDArray[np.intp]:
    import numpy as np

    if keep == len(passages):
        return np.arange(keep)
    cosines = passages @ query
    edge = np.partition(cosines, -keep)[-keep]
    return np.flatnonzero(cosines >= edge - 2 * _ERROR)


def _near_by_faiss(
    query: NDArray[np.float32], passages: NDArray[np.float32], keep: int
) -> NDArray[np.intp]:
    import faiss
    import numpy as np

    index = faiss.IndexFlatIP(passages.shape[1])
    index.add(np.ascontiguousarray(passages))
    cosines, _ = index.search(query.reshape(1, -1), keep)
    _, _, rows = index.range_search(query.reshape(1, -1), float(cosines[0, -1]) - 2 * _ERROR)
    return np.asarray(np.sort(rows), dtype=np.intp)
