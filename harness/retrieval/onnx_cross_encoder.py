"""Scoring pairs with onnxruntime: a cross-encoder without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.errors import EngineError
from harness.models import hash_file
from harness.retrieval import _folder, _onnx, _tokens

__all__ = ["MAX_PAIR_TOKENS", "OnnxPairs", "refuse_bi_encoder"]

MAX_PAIR_TOKENS = 512  # question and passage together

_OUTPUT = "logits"


class OnnxPairs:
    """A cross-encoder in ONNX form with one number as its output.

    Each pair runs alone.  Where question and passage don't fit in the model's
    window together, the passage's end is cut off.
    """

    def __init__(self, folder: Path, *, name: str, threads: int = 1) -> None:
        """Load ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json`` from ``folder``.

        Raises :class:`~harness.errors.ModelMissingError` without the files and
        :class:`~harness.errors.EngineError` when they can't be used.
        """
        what = self._what = f"reranker '{name}'"
        model = _folder.needed_file(_folder.onnx_file(folder) or folder / "model.onnx", what, name)
        tokenizer = _folder.needed_file(folder / _folder.TOKENIZER_FILE, what, name)
        refuse_bi_encoder(folder, what)
        self._identity = _folder.Identity(
            name=name,
            threads=threads,
            max_tokens=_folder.token_limit(folder, MAX_PAIR_TOKENS),
            model_sha256=hash_file(model).sha256,
            tokenizer_sha256=hash_file(tokenizer).sha256,
        )
        self._tokenizer = _tokens.PairTokenizer(tokenizer, self._identity.max_tokens)
        self._session = _onnx.load_session(model, threads)
        self._inputs = [item.name for item in self._session.get_inputs()]
        outputs = [item.name for item in self._session.get_outputs()]
        if _OUTPUT not in outputs:
            kind = "an encoder" if "last_hidden_state" in outputs else "no cross-encoder"
            raise EngineError(
                f"The {what} is {kind}: {model} has no output '{_OUTPUT}'.",
                remedy="retrieval.reranker takes a cross-encoder, retrieval.encoder a bi-encoder.",
            )
        _onnx.check_vocabulary(self._session, _OUTPUT, self._inputs, self._tokenizer.pair, what)

    def describe(self) -> dict[str, Any]:
        """Return the identity that belongs in a run's manifest, as JSON values."""
        return self._identity.describe(onnxruntime=_onnx.version())

    def score(self, query: str, passage: str) -> float:
        """Return the model's raw number for a pair."""
        tokens = self._tokenizer.tokenise(query, passage)
        numbers = _onnx.run(self._session, _OUTPUT, tokens, self._inputs, self._what).reshape(-1)
        return single(numbers, self._what)


def single(numbers: Any, what: str) -> float:
    """Return the one output of a cross-encoder.

    Raises :class:`~harness.errors.EngineError` for a classifier of several classes.
    """
    if len(numbers) != 1:
        raise EngineError(
            f"The {what} has {len(numbers)} outputs; a reranker has one.",
            remedy="Name a cross-encoder that was trained to rank.",
        )
    return float(numbers[0])


def refuse_bi_encoder(folder: Path, what: str) -> None:
    """Raise :class:`~harness.errors.EngineError` when the folder holds a bi-encoder."""
    if _folder.is_cross_encoder(folder) is False or (
        _folder.is_cross_encoder(folder) is None and (folder / "1_Pooling").is_dir()
    ):
        raise EngineError(
            f"The {what} is an encoder: it has no layer that scores a pair of texts.",
            remedy="Name it in retrieval.encoder, and a cross-encoder in retrieval.reranker.",
        )
