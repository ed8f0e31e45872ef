"""Which encoders and rerankers can be used on this machine, and what brings the others."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata

from harness.availability import Availability, Kind
from harness.models import REGISTRY, status
from harness.retrieval import _torch

__all__ = ["available"]

_TORCH_LIMITS = "imports for seconds, and each text runs alone"


def available() -> tuple[Availability, ...]:
    """Return every encoder and reranker as it stands here.  Loads no model and no library."""
    return (
        _model(
            "encoder",
            "minilm-l6-v2-int8",
            ("onnxruntime", "tokenizers"),
            limits="CPU only; English; the first 256 tokens of a text",
        ),
        _model(
            "encoder",
            "minilm-l6-v2",
            ("sentence-transformers", "torch"),
            limits=f"English; the first 256 tokens of a text; {_TORCH_LIMITS}",
        ),
        Availability(
            "reranker",
            "maxsim",
            ready=True,
            detail="needs nothing besides the encoder",
            limits="knows no more than the encoder",
        ),
        _model(
            "reranker",
            "ms-marco-minilm-l-6-v2",
            ("onnxruntime", "tokenizers"),
            shown="ms-marco-minilm-l-6-v2 (onnxruntime)",
            limits="CPU only; English; 512 tokens a pair",
        ),
        _model(
            "reranker",
            "ms-marco-minilm-l-6-v2",
            ("sentence-transformers", "torch"),
            shown="ms-marco-minilm-l-6-v2 (sentence-transformers)",
            limits=f"English; 512 tokens a pair; {_TORCH_LIMITS}",
        ),
        _model(
            "reranker",
            "bge-reranker-v2-m3-q8_0",
            ("xllamacpp",),
            limits="CPU only; slow: half a billion weights; 1,024 tokens a pair",
        ),
    )


def _model(
    kind: Kind, model: str, packages: Iterable[str], *, shown: str = "", limits: str
) -> Availability:
    """Say how a registered model and the packages that run it stand."""
    versions = {package: _version(package) for package in packages}
    absent = [package for package, version in versions.items() if version is None]
    found = status(model)
    missing, commands = [], []
    if absent:
        missing.append(f"{' and '.join(absent)} not installed")
        torch = set(absent) & {"sentence-transformers", "torch"}
        commands.append(_torch.INSTALL if torch else f"pip install {' '.join(absent)}")
    if found.state != "pulled":
        size = (REGISTRY[model].size_bytes or 0) / 1e6
        why = f" ({found.detail})" if found.detail else ""
        missing.append(f"weights {found.state}{why}, {size:,.0f} MB")
        commands.append(f"hotseat models pull {model}")
    here = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return Availability(
        kind,
        shown or model,
        ready=not missing,
        detail="; ".join(missing) if missing else here,
        install=" && ".join(commands),
        limits=limits,
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
