"""From documents to the passages worth reading.

Chunking, BM25 and a bi-encoder fused by their ranks (with FAISS only where
there are very many passages), a reranker, an adaptive threshold and a token
budget.  Everything here computes on texts already at hand; nothing touches the
network or a language model.
"""

from harness.retrieval.budget import source_block, source_line
from harness.retrieval.loading import load_encoder, load_reranker
from harness.retrieval.protocol import Encoder, Encoding, Reranker
from harness.retrieval.select import Selection, select_passages

__all__ = [
    "Encoder",
    "Encoding",
    "Reranker",
    "Selection",
    "load_encoder",
    "load_reranker",
    "select_passages",
    "source_block",
    "source_line",
]
