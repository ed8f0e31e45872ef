"""Models that lie complete on this machine, told by a manifest written last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import ModelMissingError
from harness.home import home
from harness.models._files import Written, hash_file
from harness.models._registry import get_spec
from harness.models._spec import ModelSpec

__all__ = [
    "MANIFEST",
    "ModelStatus",
    "hashes",
    "installed_problem",
    "locate",
    "model_folder",
    "models_root",
    "read_manifest",
    "status",
    "verify",
]

MANIFEST = "hotseat-manifest.json"
_MAX_MANIFEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """How a model stands on this machine.

    ``state`` is ``pulled``, ``partial`` (a pull was cut short and will resume),
    ``damaged`` or ``missing``; ``detail`` says why it is damaged.
    """

    name: str
    state: Literal["pulled", "partial", "damaged", "missing"]
    folder: Path
    detail: str = ""


def models_root() -> Path:
    """Return the folder of all models."""
    return home() / "models"


def model_folder(spec: ModelSpec) -> Path:
    """Return the folder that a model has, or will have."""
    return models_root() / spec.name


def partial_folder(spec: ModelSpec) -> Path:
    """Return the folder in which a pull gathers a model."""
    return models_root() / ".partial" / spec.name


def read_manifest(folder: Path) -> dict[str, Written] | None:
    """Return size and hash of each file by name, or ``None`` without a usable manifest."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _MAX_MANIFEST_BYTES:
            return None
        data = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(row["name"]): Written(int(row["size_bytes"]), str(row["sha256"]))
            for row in data["files"]
        }
    except (OSError, ValueError, KeyError, TypeError):
        # No manifest and a spoiled one mean the same: the folder is not complete.
        return None


def installed_problem(spec: ModelSpec) -> str | None:
    """Return what keeps a model from being complete, or ``None``.  Stats files, hashes none."""
    folder = model_folder(spec)
    manifest = read_manifest(folder)
    if manifest is None:
        return "it has not been pulled"
    for file in spec.files:
        entry = manifest.get(file.name)
        if entry is None:
            return f"{file.name} is not in its manifest"
        if file.sha256 not in (None, entry.sha256):
            return f"{file.name} is another version"
        try:
            size = (folder / file.name).stat().st_size
        except OSError:
            return f"{file.name} is missing"
        if size != entry.size_bytes:
            return f"{file.name} has {size:,} bytes instead of {entry.size_bytes:,}"
    return None


def locate(name: str) -> Path:
    """Return the folder of a pulled model.  Cheap: sizes are checked, hashes aren't.

    Raises :class:`~harness.errors.ModelMissingError` if it isn't there complete.
    """
    spec = get_spec(name)
    problem = installed_problem(spec)
    if problem is not None:
        raise ModelMissingError(
            f"Model '{spec.name}' is not available: {problem}.",
            remedy=f"Run 'hotseat models pull {spec.name}'.",
        )
    return model_folder(spec)


def hashes(name: str) -> Mapping[str, str]:
    """Return the SHA-256 of each file of a pulled model, as checked when it was pulled.

    Raises :class:`~harness.errors.ModelMissingError` if it isn't there complete.
    """
    manifest = read_manifest(locate(name)) or {}
    return {file.name: manifest[file.name].sha256 for file in get_spec(name).files}


def status(name: str) -> ModelStatus:
    """Say how a model stands on this machine, without hashing."""
    spec = get_spec(name)
    folder = model_folder(spec)
    problem = installed_problem(spec)
    if problem is None:
        return ModelStatus(spec.name, "pulled", folder)
    if (folder / MANIFEST).exists():
        return ModelStatus(spec.name, "damaged", folder, problem)
    if partial_folder(spec).is_dir():
        return ModelStatus(spec.name, "partial", folder)
    return ModelStatus(spec.name, "missing", folder)


def verify(name: str) -> list[str]:
    """Hash every file of a pulled model again and return what is wrong, one sentence each.

    Raises :class:`~harness.errors.ModelMissingError` for a model that was never
    pulled; a file that has since gone is a problem, not an error.
    """
    spec = get_spec(name)
    folder = model_folder(spec)
    manifest = read_manifest(folder)
    if manifest is None:
        if (folder / MANIFEST).exists():
            return [f"{spec.name}: its manifest can't be read."]
        locate(name)  # raises
    problems = []
    for file in spec.files:
        entry = (manifest or {}).get(file.name)
        if entry is None:
            problems.append(f"{spec.name}: {file.name} is not in its manifest.")
            continue
        expected = file.sha256 or entry.sha256
        try:
            found = hash_file(folder / file.name)
        except OSError as error:
            problems.append(f"{spec.name}: {file.name} can't be read ({error.strerror}).")
            continue
        if found.sha256 != expected:
            problems.append(
                f"{spec.name}: {file.name} has sha256 {found.sha256}, expected {expected}."
            )
    return problems
