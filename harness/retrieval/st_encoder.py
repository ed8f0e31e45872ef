"""Texts into vectors with sentence-transformers: full precision, on a CPU or a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.models import hash_file
from harness.retrieval import _folder, _tokens, _torch
from harness.retrieval._encoding import CACHE_BYTES, MAX_TOKENS, CachingEncoder, make_encoding
from harness.retrieval.protocol import Encoding

__all__ = ["SentenceTransformerEncoder"]


class SentenceTransformerEncoder(CachingEncoder):
    """A bi-encoder in safetensors form, run by sentence-transformers in float32.

    Each text runs alone, on a GPU too: kernels for another batch size round
    differently, so a neighbour could change a text's last bits.  torch's
    number of threads is set for each call and put back after it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        threads: int = 1,
        device: str = "cpu",
        max_tokens: int = MAX_TOKENS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Load ``model.safetensors``, ``config.json`` and ``tokenizer.json`` from ``folder``.

        ``device`` is ``cpu`` or ``cuda``; the other parameters are those of
        :class:`~harness.retrieval.onnx_encoder.OnnxEncoder`.

        Raises :class:`~harness.errors.ModelMissingError` without the files and
        :class:`~harness.errors.EngineError` when they can't be used, or
        sentence-transformers isn't installed.
        """
        what = self._what = f"encoder '{name}'"
        _folder.refuse_pickle(folder, what)
        weights = _folder.needed_file(folder / _folder.SAFETENSORS_FILE, what, name)
        tokenizer = _folder.needed_file(folder / _folder.TOKENIZER_FILE, what, name)
        _folder.needed_file(folder / "config.json", what, name)
        _folder.refuse_cross_encoder(folder, what)
        _folder.refuse_foreign_modules(folder, what)
        most = _folder.token_limit(folder, max_tokens)
        pooling = _folder.pooling(folder, what)
        self._tokenizer = _tokens.load_tokenizer(tokenizer, most)
        self._device = _torch.pick_device(device, what)
        self._identity = _folder.Identity(
            name=name,
            threads=threads,
            max_tokens=most,
            pooling=pooling,
            model_sha256=hash_file(weights).sha256,
            tokenizer_sha256=hash_file(tokenizer).sha256,
        )

        from sentence_transformers import SentenceTransformer

        self._model = _torch.load(SentenceTransformer, str(folder), self._device, what)
        inner = self._model[0].auto_model
        _tokens.refuse_mismatch(
            what, self._tokenizer, int(inner.get_input_embeddings().num_embeddings)
        )
        super().__init__(cache_bytes)

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values."""
        return self._identity.describe(**_torch.describe(self._device))

    def _encode_one(self, text: str) -> Encoding:
        tokens = _tokens.tokenise(self._tokenizer, text)
        with _torch.computing(self._identity.threads, self._what):
            given = self._model(_torch.tensors(tokens, self._device, lambda name: True))
            pooled = given["sentence_embedding"][0].cpu().numpy()
            hidden = given["token_embeddings"][0].cpu().numpy()
        return make_encoding(pooled, hidden[tokens.own], self._what)
