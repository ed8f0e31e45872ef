"""What lies in a model's folder: which form the weights have, and what its small files say.

Also how a model loaded from it tells what it is, and what went wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import EngineError, ModelMissingError
from harness.models import known_names

__all__ = [
    "SAFETENSORS_FILE",
    "TOKENIZER_FILE",
    "Identity",
    "first_line",
    "has_safetensors",
    "is_cross_encoder",
    "needed_file",
    "onnx_file",
    "pooling",
    "read_config",
    "refuse_cross_encoder",
    "refuse_foreign_modules",
    "refuse_pickle",
    "token_limit",
]

TOKENIZER_FILE = "tokenizer.json"
SAFETENSORS_FILE = "model.safetensors"

_ONNX_FILES = ("model.onnx", "onnx/model.onnx")
_PICKLES = ("pytorch_model.bin", "pytorch_model.pt", "model.pt", "model.bin")
_MAX_JSON_BYTES = 1 << 20
_KNOWN_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
_POOLINGS = frozenset({"mean", "cls"})


@dataclass(frozen=True, slots=True)
class Identity:
    """What a model loaded from a folder says of itself in a run's manifest.

    ``pooling`` belongs to encoders only.
    """

    name: str
    model_sha256: str
    tokenizer_sha256: str
    threads: int
    max_tokens: int
    pooling: str | None = None

    def describe(self, **runtime: str) -> dict[str, Any]:
        """Return it as JSON values, with what the runtime says of itself."""
        told = {key: value for key, value in asdict(self).items() if value is not None}
        return {**told, **runtime}


def onnx_file(folder: Path) -> Path | None:
    """Return the ONNX model of a folder, or ``None``."""
    return next((folder / name for name in _ONNX_FILES if (folder / name).is_file()), None)


def has_safetensors(folder: Path) -> bool:
    """Whether the folder holds weights that sentence-transformers may load."""
    return (folder / SAFETENSORS_FILE).is_file()


def needed_file(path: Path, what: str, name: str) -> Path:
    """Return ``path``; raise :class:`~harness.errors.ModelMissingError` if it isn't a file.

    ``what`` names the model and its role, as in "encoder 'x'", ``name`` it alone.
    """
    if path.is_file():
        return path
    pull = f"Get it with 'hotseat models pull {name}'." if name in known_names() else ""
    raise ModelMissingError(
        f"The {what} lacks {path}.",
        remedy=pull or f"Put {path.name} into that folder, or name another model.",
    )


def refuse_pickle(folder: Path, what: str) -> None:
    """Raise :class:`~harness.errors.EngineError` when there are only pickled weights."""
    found = next((name for name in _PICKLES if (folder / name).is_file()), None)
    if found is not None and not has_safetensors(folder) and onnx_file(folder) is None:
        raise EngineError(
            f"The {what} has pickled weights only ({found}), and a pickle can run any code.",
            remedy="Convert them to model.safetensors, or export model.onnx.",
        )


def refuse_foreign_modules(folder: Path, what: str) -> None:
    """Raise :class:`~harness.errors.EngineError` for layers besides transformer and pooling.

    Other layers keep weights of their own, in part pickled, and ``modules.json``
    may name any class to import.
    """
    modules = _read_json(folder / "modules.json")
    if not isinstance(modules, list):
        return
    for module in modules:
        kind = str(module.get("type", "")) if isinstance(module, dict) else ""
        inside = kind.startswith("sentence_transformers.")
        if not inside or kind.rpartition(".")[2] not in _KNOWN_MODULES:
            raise EngineError(
                f"The {what} has a layer of type '{kind or '?'}', which isn't supported.",
                remedy="Use an encoder made of Transformer, Pooling and Normalize.",
            )


def read_config(folder: Path) -> Mapping[str, Any]:
    """Return ``config.json``, empty where there is none.

    Raises :class:`~harness.errors.EngineError` for one that can't be read.
    """
    config = _read_json(folder / "config.json")
    return config if isinstance(config, dict) else {}


def is_cross_encoder(folder: Path) -> bool | None:
    """Whether the configuration says that the model scores pairs; ``None``: it doesn't say."""
    names = read_config(folder).get("architectures")
    if not isinstance(names, list) or not names:
        return None
    return any(str(name).endswith("ForSequenceClassification") for name in names)


def refuse_cross_encoder(folder: Path, what: str) -> None:
    """Raise :class:`~harness.errors.EngineError` when the folder holds a cross-encoder."""
    if is_cross_encoder(folder):
        raise EngineError(
            f"The {what} is a cross-encoder: it scores pairs of texts and gives no vectors.",
            remedy="Name it in retrieval.reranker, and a bi-encoder in retrieval.encoder.",
        )


def token_limit(folder: Path, most: int) -> int:
    """Return how many tokens of a text are read: ``most``, or less if the model takes less."""
    declared = [most]
    sentence = _read_json(folder / "sentence_bert_config.json")
    if isinstance(sentence, dict):
        declared.append(sentence.get("max_seq_length") or most)
    declared.append(read_config(folder).get("max_position_embeddings") or most)
    return min(value for value in declared if isinstance(value, int) and value > 0)


def pooling(folder: Path, what: str) -> str:
    """Return how token vectors become one: ``mean`` (also without a word) or ``cls``.

    Raises :class:`~harness.errors.EngineError` for any other way.
    """
    found = _read_json(folder / "1_Pooling" / "config.json")
    if not isinstance(found, dict):
        return "mean"
    mode = found.get("pooling_mode")
    if mode is None:
        marks = {key for key, value in found.items() if key.startswith("pooling_mode_") and value}
        mode = {
            frozenset({"pooling_mode_mean_tokens"}): "mean",
            frozenset({"pooling_mode_cls_token"}): "cls",
        }.get(frozenset(marks), " and ".join(sorted(marks)))
    if mode not in _POOLINGS:
        raise EngineError(
            f"The {what} pools its token vectors by '{mode}', which isn't supported.",
            remedy="Use an encoder with mean or cls pooling.",
        )
    return str(mode)


def first_line(error: Exception) -> str:
    """Return what a library's error says, shortened to one line; never empty."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:300]


def _read_json(path: Path) -> Any:
    """Return the JSON in ``path``, ``None`` where there is no such file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_JSON_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(raw) > _MAX_JSON_BYTES:
        raise EngineError(
            f"{path} is too large for a configuration.", remedy="Fetch the model again."
        )
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise EngineError(
            f"{path} is not JSON that can be read.", remedy="Fetch the model again."
        ) from None
