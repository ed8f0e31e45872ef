"""Finding the weights that a setting names: a registry name, or a file or folder of one's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.engines import model_parts
from harness.errors import ModelMissingError
from harness.models import ModelSpec, ensure, get_spec, hash_file, hashes, known_names

__all__ = ["Weights", "find_weights"]

_FILE = re.compile(r"\.(gguf|ggml|bin)$", re.IGNORECASE)
_PATH = re.compile(r"[./~\\]|[A-Za-z]:[/\\]")


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file or folder on this machine and its identity.

    ``sha256`` is that of the file; of several files (a split GGUF, a folder)
    it is the hash over their names and hashes, so that no byte goes unnoticed.
    """

    path: Path
    name: str
    sha256: str


def find_weights(
    model: str,
    *,
    progress: Callable[..., None] | None = None,
    check: Callable[[Path], None] | None = None,
) -> Weights:
    """Return the weights that ``model`` names, pulling a registered model if needed.

    A registered name comes first.  Else whatever ends like a model file or
    looks like a path is taken as a file, or a folder, of one's own; of a split
    GGUF any part may be named.  ``check`` is called with a file or folder of
    one's own before all of it is read, and refuses what can't be used.  Raises
    :class:`~harness.errors.ModelMissingError` when it or a part of it is not
    there, or is not what was pulled.
    """
    path = Path(model).expanduser()
    if model not in known_names() and (
        _FILE.search(model) or _PATH.match(model) or (len(path.parts) > 1 and path.exists())
    ):
        return _own(path, check or (lambda _: None))
    spec = get_spec(model)
    folder = ensure(spec.name, progress=progress)
    # A second or two a gigabyte, once a run: the hash in a run's manifest is
    # that of the bytes which were loaded, not of those which should be there.
    expected = hashes(spec.name)
    whole = spec.kind == "safetensors"  # the engine reads the folder
    names = [n for n in sorted(expected) if whole or n == spec.main or _FILE.search(n)]
    found = {name: _checked(spec, folder, name, expected[name]) for name in names}
    sha256 = found[spec.main] if len(found) == 1 else _over(found.items())
    return Weights(folder if whole else folder / spec.main, spec.name, sha256)


def _own(path: Path, check: Callable[[Path], None]) -> Weights:
    if path.is_dir():
        # Hidden files and whatever tools put into folders of their own is not the model.
        files = sorted(f for f in path.iterdir() if f.is_file() and not f.name.startswith("."))
        if not files:
            raise ModelMissingError(f"The model folder {path} is empty.")
        check(path)
        return Weights(
            path, path.resolve().name, _over((f.name, hash_file(f).sha256) for f in files)
        )
    if not path.is_file():
        raise ModelMissingError(
            f"There is no model file {path}.",
            remedy="Give the path of a GGUF file, or a name from 'hotseat models list'.",
        )
    parts = model_parts(path)
    check(parts[0])
    if len(parts) == 1:
        return Weights(path, path.name, hash_file(path).sha256)
    return Weights(parts[0], parts[0].name, _over((p.name, hash_file(p).sha256) for p in parts))


def _checked(spec: ModelSpec, folder: Path, name: str, expected: str) -> str:
    sha256 = hash_file(folder / name).sha256
    if sha256 != expected:
        raise ModelMissingError(
            f"The model {spec.name} is damaged: {folder / name} no longer has the hash it was "
            "pulled with.",
            remedy=f"Run 'hotseat models pull {spec.name}', which repairs it.",
        )
    return sha256


def _over(hashes_by_name: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, sha256 in hashes_by_name:
        digest.update(f"{name}\n{sha256}\n".encode())
    return digest.hexdigest()
