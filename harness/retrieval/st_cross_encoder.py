"""Scoring pairs with sentence-transformers' CrossEncoder, on a CPU or a GPU."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from harness.models import hash_file
from harness.retrieval import _folder, _tokens, _torch
from harness.retrieval.onnx_cross_encoder import MAX_PAIR_TOKENS, refuse_bi_encoder, single

__all__ = ["SentenceTransformerPairs"]


class SentenceTransformerPairs:
    """A cross-encoder in safetensors form, run in float32.

    Each pair runs alone, cut as in :class:`OnnxPairs`; the activation function
    that the model's configuration names is left out.  torch's number of
    threads is set for each call and put back after it.
    """

    def __init__(self, folder: Path, *, name: str, threads: int = 1, device: str = "cpu") -> None:
        """Load ``model.safetensors``, ``config.json`` and ``tokenizer.json`` from ``folder``.

        Raises :class:`~harness.errors.ModelMissingError` without the files and
        :class:`~harness.errors.EngineError` when they can't be used, or
        sentence-transformers isn't installed.
        """
        what = self._what = f"reranker '{name}'"
        _folder.refuse_pickle(folder, what)
        weights = _folder.needed_file(folder / _folder.SAFETENSORS_FILE, what, name)
        tokenizer = _folder.needed_file(folder / _folder.TOKENIZER_FILE, what, name)
        _folder.needed_file(folder / "config.json", what, name)
        refuse_bi_encoder(folder, what)
        most = _folder.token_limit(folder, MAX_PAIR_TOKENS)
        self._tokenizer = _tokens.PairTokenizer(tokenizer, most)
        self._device = _torch.pick_device(device, what)
        self._identity = _folder.Identity(
            name=name,
            threads=threads,
            max_tokens=most,
            model_sha256=hash_file(weights).sha256,
            tokenizer_sha256=hash_file(tokenizer).sha256,
        )

        from sentence_transformers import CrossEncoder

        self._model = _torch.load(CrossEncoder, str(folder), self._device, what).model
        _tokens.refuse_mismatch(
            what, self._tokenizer.pair, int(self._model.get_input_embeddings().num_embeddings)
        )
        self._accepted = frozenset(inspect.signature(self._model.forward).parameters)

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values."""
        return self._identity.describe(**_torch.describe(self._device))

    def score(self, query: str, passage: str) -> float:
        """Return the model's raw number for a pair."""
        tokens = self._tokenizer.tokenise(query, passage)
        fed = _torch.tensors(tokens, self._device, self._accepted.__contains__)
        with _torch.computing(self._identity.threads, self._what):
            numbers = self._model(**fed).logits[0].cpu().numpy()
        return single(numbers.reshape(-1), self._what)
