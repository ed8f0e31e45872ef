"""Checking whatever is in a place, also what is too damaged to be opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.corpus._corpus import Corpus
from harness.corpus._manifest import (
    MANIFEST,
    QUESTIONS,
    STORE,
    CorpusManifest,
    Interchange,
    is_warc,
    manifest_problems,
)
from harness.corpus._source import Source
from harness.corpus._store import Store
from harness.corpus._values import Problem
from harness.corpus._verify import Progress, verify_source, verify_store
from harness.corpus._verify_bodies import default_jobs
from harness.errors import CorpusDamagedError, CorpusError, MissingError

__all__ = ["Checked", "check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: the entries that could be looked at, and what is wrong.

    ``digest`` is that of the corpus, ``None`` when it can't be told.
    """

    entries: int
    digest: str | None
    problems: tuple[Problem, ...]


def check(path: Path | str, progress: Progress | None = None, *, jobs: int | None = 1) -> Checked:
    """Check every byte of a corpus against its hashes, as far as that can be done.

    Takes what :meth:`Corpus.open` takes.  A store or manifest that can't be
    read is a problem like any other, and the rest is checked without it.
    ``jobs`` is that of :meth:`Corpus.verify`, ``None`` for as many as fit the machine.
    Raises :class:`~harness.errors.MissingError` when nothing is there and
    :class:`~harness.errors.CorpusError` when it is no corpus at all, or one
    that was made by a newer version.
    """
    path = Path(path)
    if not path.exists():
        raise MissingError(f"There is no corpus at {path}.")
    unreadable = _manifest_error(path)
    if unreadable is not None:
        return Checked(0, None, (unreadable, *_without_manifest(path, progress)))
    try:
        corpus = Corpus.open(path, read_only=True)
    except CorpusDamagedError as error:
        problems = [Problem(STORE, error.message)]
        if not (path / STORE).is_dir():
            problems += verify_source(Source.inspect(path), progress)
        return Checked(0, None, tuple(problems))
    with corpus:
        found = corpus.checked(progress, jobs=default_jobs() if jobs is None else jobs)
    return Checked(found.entries, found.digest, found.problems)


def _manifest_error(path: Path) -> Problem | None:
    """Return why a corpus's manifest can't be read.  Raises if it is simply no corpus."""
    if not path.is_dir():
        return None
    try:
        if (path / STORE).is_dir():
            CorpusManifest.read(path)
        elif not Interchange.read(path).warcs and _warcs(path):
            return Problem(MANIFEST, "it is damaged: it names no WARC file, but there is one")
    except CorpusError as error:
        there = (path / MANIFEST).is_file() and bool(_warcs(path))
        if not (there or (path / STORE).is_dir()) or _is_newer(path, error):
            raise
        return Problem(MANIFEST, f"it is damaged or missing: {error.message}")
    return None


def _is_newer(path: Path, error: CorpusError) -> bool:
    """Return whether a manifest is from a newer version, rather than damaged to look so."""
    return bool(error.remedy) and "newer" in error.message and not manifest_problems(path)


def _without_manifest(path: Path, progress: Progress | None) -> Iterator[Problem]:
    """Yield what is wrong with the rest of a corpus."""
    if not (path / STORE).is_dir():
        questions = path / QUESTIONS if (path / QUESTIONS).is_file() else None
        yield from verify_source(Source(path, None, _warcs(path), questions, (), ""), progress)
        return
    try:
        store = Store(path / STORE, read_only=True)
    except CorpusError as error:
        yield Problem(STORE, error.message)
        return
    try:
        yield from verify_store(store, progress).problems
    finally:
        store.close()


def _warcs(path: Path) -> tuple[Path, ...]:
    return tuple(sorted(item for item in path.iterdir() if is_warc(item.name)))
