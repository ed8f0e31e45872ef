"""Several corpora made one: every source's entries taken in, conflicts settled by one rule.

Where two corpora hold different answers to one request, which one stays
depends on the two alone, not on which came first: an answer beats a failure,
a complete body one that was cut, then the later fetch wins, then the larger
digest.  So the digest of the whole depends neither on the order of the
sources nor on how often one is taken in.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.corpus._compact import IMPORTING
from harness.corpus._entry import Entry
from harness.corpus._manifest import QUESTIONS, STORE, CorpusManifest, manifest_problems
from harness.corpus._merge_questions import merge_questions
from harness.corpus._source import Source
from harness.corpus._store import Store
from harness.corpus._unpack import unpack
from harness.corpus._values import Address, Problem, short_name
from harness.errors import BadInputError, CorpusDamagedError, CorpusError, MissingError

__all__ = ["Conflict", "Merged", "merge_into", "merge_store", "opened_source"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two different answers to one request: which one stayed, and why.

    ``replaced`` says that the one that was there before gave way.
    """

    where: str
    replaced: bool
    why: str

    def __str__(self) -> str:
        kept = "the imported one replaced it" if self.replaced else "the one here stayed"
        return f"{self.where}: recorded differently; {kept}: {self.why}"


@dataclass(frozen=True, slots=True)
class Merged:
    """What an import brought in.

    ``new`` counts entries that were not there, ``same`` those that were;
    ``conflicts`` lists the others.  ``questions`` counts those appended to the
    question file.  ``problems`` could not be read, ``skipped`` counts records
    that hold no page, by kind, and ``notes`` are things to know.
    """

    source: str
    new: int
    same: int
    conflicts: tuple[Conflict, ...]
    questions: int
    problems: tuple[Problem, ...]
    skipped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """A source, open: its store and what else is known of it."""

    store: Store
    manifest: CorpusManifest
    questions: Path | None
    problems: tuple[Problem, ...]
    skipped: Mapping[str, int]


@contextmanager
def opened_source(path: Path, folder: Path) -> Iterator[Taken]:
    """Give the corpus at ``path`` for reading, unpacked into the corpus ``folder`` if need be.

    Raises :class:`~harness.errors.MissingError` when nothing is there,
    :class:`~harness.errors.BadInputError` when it is ``folder`` itself, and
    :class:`~harness.errors.CorpusError` when it is no corpus.
    """
    if not path.exists():
        raise MissingError(f"There is no corpus at {path}.")
    if path.resolve() == folder.resolve():
        raise BadInputError(f"{path} can't be imported into itself.")
    if path.is_dir() and (path / STORE).is_dir():
        manifest, told = CorpusManifest.read(path), manifest_problems(path)
        name = manifest.questions
        store = Store(path / STORE, read_only=True)
        try:
            questions = path / name if name and (path / name).is_file() else None
            yield Taken(store, manifest, questions, tuple(told), {})
        finally:
            store.close()
        return
    with tempfile.TemporaryDirectory(prefix=IMPORTING, dir=folder) as temporary:
        unpacked = Path(temporary)
        try:
            problems, skipped = unpack(Source.inspect(path), unpacked)
        except OSError as error:
            raise CorpusError(f"Can't unpack {path}: {error.strerror or error}.") from None
        there = (unpacked / QUESTIONS).is_file()
        manifest = CorpusManifest.read(unpacked)
        store = Store(unpacked / STORE, read_only=True)
        try:
            questions = unpacked / QUESTIONS if there else None
            yield Taken(store, manifest, questions, tuple(problems), skipped)
        finally:
            store.close()


def merge_into(
    path: Path,
    folder: Path,
    store: Store,
    manifest: CorpusManifest,
    progress: Callable[[int, int], None] | None,
) -> tuple[Merged, CorpusManifest]:
    """Take the corpus at ``path`` into the working corpus in ``folder``.

    Returns what that brought, and the manifest that is now there.  Raises like
    :func:`opened_source`.
    """
    with opened_source(path, folder) as taken:
        new, same, conflicts, problems = merge_store(taken.store, store, progress)
        changed, questions, bad = merge_questions(taken.questions, folder, manifest)
        merged = Merged(
            source=str(path),
            new=new,
            same=same,
            conflicts=tuple(conflicts),
            questions=questions,
            problems=(*taken.problems, *problems, *bad),
            skipped=dict(taken.skipped),
            notes=tuple(_other_settings(path, taken.manifest, manifest)),
        )
    return merged, changed


def _other_settings(path: Path, theirs: CorpusManifest, ours: CorpusManifest) -> Iterator[str]:
    """Yield in what a source was searched and fetched otherwise than the corpus it comes into."""
    if path.is_file() and not theirs.settings:
        return  # another tool's archive, probably: it tells nothing
    for name in sorted(theirs.settings.keys() | ours.settings.keys()):
        there, here = (one.settings.get(name, "the default") for one in (theirs, ours))
        if there != here:
            yield (
                f"{path} was recorded with {name} = {there}, this corpus with {here}; "
                "a replay asks as this corpus says, and may not find what was asked otherwise."
            )


class _Tally:
    def __init__(self) -> None:
        self.new = self.same = 0
        self.conflicts: list[Conflict] = []
        self.problems: list[Problem] = []


def merge_store(
    source: Store, target: Store, progress: Callable[[int, int], None] | None = None
) -> tuple[int, int, list[Conflict], list[Problem]]:
    """Take all entries of one store into another, in one transaction.

    Returns how many were new and how many the same, the conflicts and what
    could not be read.
    """
    tally = _Tally()
    total = source.count("entry")
    with target.batch():
        for number, (address, entry) in enumerate(source.entries(), start=1):
            if isinstance(entry, CorpusDamagedError):
                _lose(target, address, entry.message, tally)
            else:
                _take(source, target, entry, tally)
            if progress:
                progress(number, max(number, total))
        for address in source.lost_addresses():
            _lose(target, address, source.lost(*address) or "it was damaged", tally)
    return tally.new, tally.same, tally.conflicts, tally.problems


def _lose(target: Store, address: Address, reason: str, tally: _Tally) -> None:
    """Remember in the target what the source has lost, unless the target has it."""
    tally.problems.append(Problem(f"entry {short_name(address)}", reason))
    if _current(target, address)[1] and target.lost(*address) is None:
        target.mark_lost(*address, reason)


def _take(source: Store, target: Store, entry: Entry, tally: _Tally) -> None:
    address = entry.request.sha256, entry.ordinal
    current, absent = _current(target, address)
    sha256 = entry.body_sha256
    if current == entry and (sha256 is None or target.is_readable(sha256)):
        tally.same += 1
        return
    if current is not None and current != entry:
        wins = _rank(entry) > _rank(current)
        where = f"{entry.request.label} (no. {entry.ordinal})"
        tally.conflicts.append(Conflict(where, wins, _why(entry, current)))
        if not wins:
            return
    try:
        packed, body = (None, b"") if sha256 is None else source.packed_body(sha256)
    except CorpusDamagedError as error:
        if absent:
            _lose(target, address, error.message, tally)
        else:
            tally.problems.append(Problem(entry.request.label, error.message))
        return
    target.put(entry, body, replace=not absent, packed=packed)
    tally.new += current is None


def _current(target: Store, address: Address) -> tuple[Entry | None, bool]:
    """Return what the target has at an address, and whether nothing is there, not even damage."""
    try:
        found = target.read(*address)
    except CorpusDamagedError:
        return None, False
    return found, found is None


def _rank(entry: Entry) -> tuple[bool, bool, str, str]:
    return not entry.is_failed, not entry.truncated, entry.fetched_at, entry.digest()


def _why(one: Entry, other: Entry) -> str:
    """Return in what the better of two entries is better."""
    reasons: tuple[Any, ...] = (
        "it is an answer",
        "its body is complete",
        "it was fetched later",
        "its digest is larger, with all else equal",
    )
    pairs = zip(_rank(one), _rank(other), reasons, strict=True)
    return next(str(reason) for left, right, reason in pairs if left != right)
