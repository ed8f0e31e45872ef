"""Encoders and rerankers by name or path, and which runtime loads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import EngineError, ModelMissingError, SettingError, nearest_name
from harness.models import REGISTRY, ModelRole, ModelSpec, ensure, hashes, locate, status
from harness.retrieval import _folder
from harness.retrieval.pair_reranker import PairReranker, PairScorer, QueryForm
from harness.retrieval.protocol import Encoder, Reranker

__all__ = ["AUTO_RERANKER", "auto_reranker", "load_encoder", "load_reranker"]

AUTO_RERANKER = "ms-marco-minilm-l-6-v2"
"""The reranker that ``auto`` takes wherever its weights are."""

_BUILT_IN = ("auto", "maxsim", "none")

Progress = Callable[..., None]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a model lies, what it is called, and what it is in the registry."""

    path: Path
    name: str
    spec: ModelSpec | None


def load_encoder(
    name: str,
    *,
    threads: int = 1,
    device: str = "cpu",
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Encoder:
    """Load an encoder: a registered one, pulled if needed, or a folder of one's own.

    A folder with ``model.onnx`` is run by onnxruntime, one with
    ``model.safetensors`` by sentence-transformers; ``device="cuda"`` always
    means the latter.  ``folder`` overrides where ``name`` lies.

    Raises :class:`~harness.errors.SettingError` for a name nobody knows,
    :class:`~harness.errors.ModelMissingError` when it isn't there and can't be
    had, :class:`~harness.errors.EngineError` when it can't be used.
    """
    place = _Place(folder, name, None) if folder else _find(name, "encoder", progress)
    what = f"encoder '{place.name}'"
    encoder: Encoder
    if _by_onnx(place, device, what):
        from harness.retrieval.onnx_encoder import OnnxEncoder

        encoder = OnnxEncoder(place.path, name=place.name, threads=threads)
    else:
        from harness.retrieval.st_encoder import SentenceTransformerEncoder

        encoder = SentenceTransformerEncoder(
            place.path, name=place.name, threads=threads, device=device
        )
    _refuse_damaged(place, encoder.describe())
    return encoder


def load_reranker(
    name: str,
    *,
    threads: int = 1,
    device: str = "cpu",
    query: QueryForm = "question",
    progress: Progress | None = None,
) -> Reranker:
    """Load the reranker that ``name`` stands for: built in, registered, or a path.

    ``auto`` is the ms-marco cross-encoder where it has been pulled, else
    ``maxsim``; it never fetches anything.  ``query`` says what a model is
    asked, see :mod:`harness.retrieval.pair_reranker`.  What was chosen and why
    is in the reranker's ``describe()``.

    Raises as :func:`load_encoder` does.
    """
    from harness.retrieval.rerank import CosineReranker, MaxSimReranker

    if name == "none":
        return CosineReranker()
    if name == "maxsim":
        return MaxSimReranker()
    chosen = "by name"
    if name == "auto":
        if auto_reranker() is None:
            return MaxSimReranker(chosen=f"auto: {AUTO_RERANKER} is {status(AUTO_RERANKER).state}")
        place = _Place(locate(AUTO_RERANKER), AUTO_RERANKER, REGISTRY[AUTO_RERANKER])
        chosen = f"auto: {AUTO_RERANKER} is here"
    else:
        place = _find(name, "reranker", progress)
    scorer, runtime = _load_pairs(place, threads, device)
    _refuse_damaged(place, scorer.describe())
    meaning = place.spec.name if place.spec else ""
    return PairReranker(scorer, meaning=meaning, query=query, chosen=f"{chosen}; {runtime}")


def auto_reranker() -> str | None:
    """Return the model that ``auto`` takes here; ``None``: it takes ``maxsim``.

    A damaged model is taken, and using it is an error: it was there to be used.
    """
    return None if status(AUTO_RERANKER).state in ("missing", "partial") else AUTO_RERANKER


def _load_pairs(place: _Place, threads: int, device: str) -> tuple[PairScorer, str]:
    what = f"reranker '{place.name}'"
    if place.path.suffix.lower() == ".gguf":
        from harness.retrieval.gguf_reranker import GgufPairs

        return GgufPairs(place.path, name=place.name, threads=threads), "llama.cpp, on the CPU"
    if _by_onnx(place, device, what):
        from harness.retrieval.onnx_cross_encoder import OnnxPairs

        return OnnxPairs(place.path, name=place.name, threads=threads), "onnxruntime"
    from harness.retrieval.st_cross_encoder import SentenceTransformerPairs

    scorer = SentenceTransformerPairs(place.path, name=place.name, threads=threads, device=device)
    return scorer, f"sentence-transformers, on {device}"


def _by_onnx(place: _Place, device: str, what: str) -> bool:
    """Whether onnxruntime is the runtime for what lies in a folder.

    Raises when neither runtime can load it, with what is missing.
    """
    folder = place.path
    if not folder.is_dir():
        raise ModelMissingError(
            f"There is no folder {folder} for the {what}.",
            remedy="Give the folder of a model, or a name from 'hotseat models list'.",
        )
    _folder.refuse_pickle(folder, what)
    as_onnx, as_torch = _folder.onnx_file(folder), _folder.has_safetensors(folder)
    if device == "cuda":
        if not as_torch:
            raise EngineError(
                f"The {what} is to run on a GPU, for which it needs model.safetensors.",
                remedy="Use --set retrieval.device=cpu, or the model in that form.",
            )
        return False
    if as_onnx is None and not as_torch:
        # Named after the first runtime's file, unless a pulled model is another form.
        _folder.needed_file(folder / "model.onnx", what, place.name)
    return as_onnx is not None


def _find(name: str, role: ModelRole, progress: Progress | None) -> _Place:
    wanted = name.strip().casefold()
    for spec in REGISTRY.values():
        names = (spec.name, *spec.aliases, *((spec.upstream,) if spec.role == "reranker" else ()))
        if wanted not in {known.casefold() for known in names}:
            continue
        if spec.role != role:
            raise SettingError(
                f"Model '{spec.name}' is no {role}.",
                remedy=f"The {role}s are {', '.join(_names(role))}.",
            )
        folder = ensure(spec.name, progress=progress)
        single = len(spec.files) == 1 and spec.kind == "gguf"
        return _Place(folder / spec.main if single else folder, spec.name, spec)
    path = Path(name).expanduser()
    if path.is_dir() or (role == "reranker" and name.lower().endswith(".gguf")):
        return _Place(path, path.resolve().name, None)
    known = _names(role)
    raise SettingError(
        f"There is no {role} '{name}'.{nearest_name(name, known)}",
        remedy=f"The {role}s are {', '.join(known)}; the path of a model will do too.",
    )


def _names(role: ModelRole) -> list[str]:
    built_in = _BUILT_IN if role == "reranker" else ()
    return [*built_in, *(spec.name for spec in REGISTRY.values() if spec.role == role)]


def _refuse_damaged(place: _Place, identity: dict[str, Any]) -> None:
    """Compare the hash of the weights that were loaded with that of those pulled."""
    if place.spec is None or identity["model_sha256"] in hashes(place.spec.name).values():
        return
    raise ModelMissingError(
        f"The model {place.spec.name} is damaged: its weights no longer have the hash they "
        "were pulled with.",
        remedy=f"Run 'hotseat models pull {place.spec.name}', which repairs it.",
    )
