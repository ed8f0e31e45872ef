"""The models Hotseat knows by name, with the hash of every file.

Hub revisions are pinned, but what makes a file the right one is its hash:
the same bytes are welcome from any source.
"""

from __future__ import annotations

from harness.errors import BadInputError, nearest_name
from harness.models._registry_exl2 import EXL2_MODELS
from harness.models._registry_gguf import GGUF_MODELS
from harness.models._registry_retrieval import ENCODERS, RERANKERS
from harness.models._spec import ModelSpec

__all__ = ["DEFAULT_MODELS", "REGISTRY", "get_spec", "known_names"]

DEFAULT_MODELS = ("qwen2.5-coder-1.5b-instruct-q4_k_m", "minilm-l6-v2-int8")
"""What the default settings need."""

REGISTRY: dict[str, ModelSpec] = {
    spec.name: spec for spec in (*GGUF_MODELS, *EXL2_MODELS, *ENCODERS, *RERANKERS)
}
"""All known models by name."""


def known_names() -> tuple[str, ...]:
    """Return every name and alias that :func:`get_spec` knows."""
    return tuple(name for spec in REGISTRY.values() for name in (spec.name, *spec.aliases))


def get_spec(name: str) -> ModelSpec:
    """Return the model of that name or alias, in any case.

    Raises :class:`~harness.errors.BadInputError` for an unknown name, with the
    nearest known one.
    """
    wanted = name.strip().casefold()
    for spec in REGISTRY.values():
        if wanted == spec.name.casefold() or wanted in spec.aliases:
            return spec
    raise BadInputError(
        f"Unknown model '{name}'.{nearest_name(wanted, known_names())}",
        remedy="'hotseat models list' shows them all.",
    )
