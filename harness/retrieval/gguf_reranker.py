"""Scoring pairs with llama.cpp: a reranker in GGUF form, such as bge-reranker-v2-m3."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from harness.engines._gguf import read_header
from harness.engines._gguf_check import check_whole
from harness.engines._llama_library import new_params, start
from harness.errors import EngineError, ModelMissingError
from harness.models import hash_file

__all__ = ["MAX_PAIR_TOKENS", "GgufPairs"]

MAX_PAIR_TOKENS = 1_024  # question and passage together; a passage is some 100

# The layers that make a number of a text.  Without them llama.cpp gives the
# first element of the text's vector, which looks like a score and is none.
_HEADS = ("cls.weight", "cls.output.weight")


class GgufPairs:
    """A reranker in GGUF form, run by llama.cpp on the CPU.

    Each pair runs alone, in one batch.  A passage that doesn't fit in with its
    question is halved until it does.
    """

    def __init__(self, path: Path, *, name: str, threads: int = 1) -> None:
        """Load the model at ``path``.

        Raises :class:`~harness.errors.ModelMissingError` without the file and
        :class:`~harness.errors.EngineError` when it is damaged, cut
        short, no reranker, or can't be loaded.
        """
        self._what = f"reranker '{name}'"
        if not path.is_file():
            raise ModelMissingError(
                f"There is no model file {path}.",
                remedy="Give the path of a GGUF file, or a name from 'hotseat models list'.",
            )
        header = read_header(path)
        check_whole([path], known={path: header})
        if header.tensors.isdisjoint(_HEADS):
            raise EngineError(
                f"{path.name} is no reranker: it has no layer that scores a pair of texts.",
                remedy="Name a GGUF made from a reranker, or use retrieval.reranker=maxsim.",
            )
        window = header.metadata.get(f"{header.architecture}.context_length")
        self._max_tokens = min(window, MAX_PAIR_TOKENS) if isinstance(window, int) else 512
        self._name = name
        self._threads = threads
        self._sha256 = hash_file(path).sha256
        self._server = self._load(path, header.architecture)

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values."""
        return {
            "name": self._name,
            "model_sha256": self._sha256,
            "threads": self._threads,
            "max_tokens": self._max_tokens,
            "device": "cpu",
            "xllamacpp": metadata.version("xllamacpp"),
        }

    def score(self, query: str, passage: str) -> float:
        """Return the model's raw number for a pair."""
        readable = query.encode("utf-8", "replace").decode("utf-8")
        text = passage.encode("utf-8", "replace").decode("utf-8")
        while True:
            try:
                reply = self._server.handle_rerank({"query": readable, "documents": [text]})
            except (RuntimeError, ValueError) as error:
                raise EngineError(f"llama.cpp failed as the {self._what}: {error}.") from None
            if "results" in reply:
                return float(reply["results"][0]["relevance_score"])
            reason = str(reply.get("error", {}).get("message", reply))
            if "too large" not in reason and "exceeds" not in reason:
                raise EngineError(f"llama.cpp failed as the {self._what}: {reason:.300}.")
            # The question too is cut, when even a passage of one character is too much.
            if len(text) > 1:
                text = text[: len(text) // 2]
            elif len(readable) > 1:
                readable = readable[: len(readable) // 2]
            else:
                raise EngineError(f"The {self._what} has a window too small for any pair.")

    def _load(self, path: Path, family: str) -> Any:
        params = new_params(path, self._threads)
        import xllamacpp

        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
        params.n_parallel = 1
        params.n_ctx = params.n_batch = params.n_ubatch = self._max_tokens
        return start(params, path, family)
