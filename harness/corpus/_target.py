"""The corpus that others are merged into: opened, or made after the first of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.corpus._corpus import Corpus
from harness.corpus._manifest import MANIFEST, STORE, CorpusManifest, is_warc
from harness.corpus._warc_read import WarcReader
from harness.errors import CorpusError, MissingError

__all__ = ["open_or_create"]


def open_or_create(path: Path | str, source: Path | str) -> Corpus:
    """Open the corpus at ``path``; where there is none, make one with the settings of ``source``.

    Raises like :meth:`Corpus.open` and :meth:`Corpus.create`; a ``source``
    that is no corpus is told before anything is made.
    """
    path = Path(path)
    if (path / MANIFEST).exists() or (path / STORE).exists():
        return Corpus.open(path)
    settings = _settings_of(Path(source))
    return Corpus.create(path, name=path.absolute().name, settings=settings)


def _settings_of(source: Path) -> dict[str, Any]:
    if not source.exists():
        raise MissingError(f"There is no corpus at {source}.")
    if source.is_dir():
        return CorpusManifest.read(source).settings
    if not is_warc(source.name):
        raise CorpusError(f"{source} is no WARC file by its name (.warc or .warc.gz).")
    reader = WarcReader(source)
    next(iter(reader), None)  # the manifest comes before all entries
    return reader.manifest.settings if reader.manifest else {}
