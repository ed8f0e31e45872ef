"""Where the corpus at a path lies: in its folder, or unpacked in the user's home."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.corpus._manifest import MANIFEST, STORE, CorpusManifest, manifest_problems
from harness.corpus._source import Source
from harness.corpus._store_open import check_there
from harness.corpus._unpack import unpacked_at_home
from harness.corpus._values import Problem
from harness.errors import CorpusError, MissingError

__all__ = ["Located", "locate"]


@dataclass(frozen=True, slots=True)
class Located:
    """A corpus's folder and manifest; ``source`` is what it was unpacked from, if it was."""

    folder: Path
    manifest: CorpusManifest
    source: Source | None
    problems: tuple[Problem, ...]


def locate(path: Path) -> Located:
    """Find the corpus at ``path``, unpacking it if need be; raises as ``Corpus.open`` does."""
    if not path.exists():
        raise MissingError(f"There is no corpus at {path}.")
    if path.is_dir() and (path / STORE).is_dir():
        manifest, told = CorpusManifest.read(path), manifest_problems(path)
        check_there(path / STORE)
        return Located(path, manifest, None, tuple(told))
    try:
        source = Source.inspect(path)
    except OSError as error:
        raise CorpusError(f"Can't read {path}: {error.strerror}.") from None
    folder, problems = unpacked_at_home(source)
    manifest = CorpusManifest.read(folder)
    problems += manifest_problems(folder, str(folder / MANIFEST))
    return Located(folder, manifest, source, tuple(problems))
