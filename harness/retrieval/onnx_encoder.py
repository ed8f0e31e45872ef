"""Texts into vectors with onnxruntime: the embedded encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import EngineError
from harness.models import hash_file
from harness.retrieval import _folder, _onnx, _tokens
from harness.retrieval._encoding import CACHE_BYTES, MAX_TOKENS, CachingEncoder, make_encoding
from harness.retrieval.protocol import Encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TOKENS", "OnnxEncoder"]

_OUTPUT = "last_hidden_state"


class OnnxEncoder(CachingEncoder):
    """A BERT-like encoder in ONNX form that gives ``last_hidden_state``.

    Each text runs alone: padding is what batches cost on a CPU, and the
    activations' scales of a dynamically quantised model are taken over the
    whole batch, so a neighbour could change a text's vectors.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        threads: int = 1,
        max_tokens: int = MAX_TOKENS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Load ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json`` from ``folder``.

        ``threads`` is the fixed number of compute threads, ``cache_bytes`` the
        memory for vectors kept between calls; 0 keeps none.  Of a text at most
        ``max_tokens`` are read, fewer if the folder's configuration says so.

        Raises :class:`~harness.errors.ModelMissingError` without the files and
        :class:`~harness.errors.EngineError` when they can't be used.
        """
        what = self._what = f"encoder '{name}'"
        model = _folder.needed_file(_folder.onnx_file(folder) or folder / "model.onnx", what, name)
        tokenizer = _folder.needed_file(folder / _folder.TOKENIZER_FILE, what, name)
        _folder.refuse_cross_encoder(folder, what)
        _folder.refuse_foreign_modules(folder, what)
        self._identity = _folder.Identity(
            name=name,
            threads=threads,
            max_tokens=_folder.token_limit(folder, max_tokens),
            pooling=_folder.pooling(folder, what),
            model_sha256=hash_file(model).sha256,
            tokenizer_sha256=hash_file(tokenizer).sha256,
        )
        self._tokenizer = _tokens.load_tokenizer(tokenizer, self._identity.max_tokens)
        self._session = _onnx.load_session(model, threads)
        self._inputs = [item.name for item in self._session.get_inputs()]
        outputs = {item.name for item in self._session.get_outputs()}
        if _OUTPUT not in outputs:
            kind = "a cross-encoder" if "logits" in outputs else "no encoder that can be used"
            raise EngineError(
                f"The {what} is {kind}: {model} has no output '{_OUTPUT}'.",
                remedy="retrieval.encoder takes a bi-encoder, retrieval.reranker a cross-encoder.",
            )
        _onnx.check_vocabulary(self._session, _OUTPUT, self._inputs, self._tokenizer, what)
        super().__init__(cache_bytes)

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values."""
        return self._identity.describe(onnxruntime=_onnx.version())

    def _encode_one(self, text: str) -> Encoding:
        tokens = _tokens.tokenise(self._tokenizer, text)
        hidden: NDArray[np.float32] = _onnx.run(
            self._session, _OUTPUT, tokens, self._inputs, self._what
        )
        # The mask is all ones: nothing is padded.
        cls = self._identity.pooling == "cls"
        pooled = hidden[0] if cls else hidden.mean(axis=0, dtype=np.float32)
        return make_encoding(pooled, hidden[tokens.own], self._what)
