"""Model weights: where they come from, and that they are the right ones.

``ensure(name)`` returns the folder of a model and pulls it first where needed;
``locate(name)`` only looks.  Nothing here loads a model or, before a pull, any
network library.
"""

from __future__ import annotations

from harness.models._files import hash_file
from harness.models._installed import ModelStatus, hashes, locate, status, verify
from harness.models._progress import Progress, PullEvent
from harness.models._pull import ensure
from harness.models._registry import DEFAULT_MODELS, REGISTRY, get_spec, known_names
from harness.models._spec import (
    FolderSource,
    HubSource,
    ModelFile,
    ModelRole,
    ModelSpec,
    Source,
    WheelPart,
    WheelSource,
)

__all__ = [
    "DEFAULT_MODELS",
    "REGISTRY",
    "FolderSource",
    "HubSource",
    "ModelFile",
    "ModelRole",
    "ModelSpec",
    "ModelStatus",
    "Progress",
    "PullEvent",
    "Source",
    "WheelPart",
    "WheelSource",
    "ensure",
    "get_spec",
    "hash_file",
    "hashes",
    "known_names",
    "locate",
    "status",
    "verify",
]
