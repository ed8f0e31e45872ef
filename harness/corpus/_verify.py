"""Checking every byte of a corpus against its hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.corpus._entry import Entry, corpus_digest, digest_line
from harness.corpus._manifest import MANIFEST, Interchange
from harness.corpus._source import Source, SourceReader
from harness.corpus._store import Store
from harness.corpus._values import Address, Problem, short_name
from harness.corpus._verify_bodies import checked_bodies
from harness.corpus._warc_read import Damage
from harness.errors import CorpusError

__all__ = [
    "Progress",
    "StoreCheck",
    "lost_problem",
    "promise_problems",
    "verify_all",
    "verify_source",
    "verify_store",
]

Progress = Callable[[int, int], None]
"""Called with the number of things checked and the number there are."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What is wrong with a store; its readable entries and digest, as far as they can be told."""

    problems: tuple[Problem, ...]
    entries: int = 0
    digest: str | None = None


def verify_store(store: Store, progress: Progress | None = None, *, jobs: int = 1) -> StoreCheck:
    """Check a store: its database, its entries, its bodies.

    With more than one of ``jobs``, processes of their own check the bodies of
    a large store.
    """
    problems = [Problem("store", what) for what in store.structural_problems()]
    try:
        counted = store.count("entry"), store.count("body")
        lost, bodies = store.lost_addresses(), set(store.bodies())
        steps = _Steps(progress, sum(counted))
        with checked_bodies(store, counted[1], jobs, steps) as good:
            entries, digest = _check_entries(store, bodies, problems, steps)
            bodies -= good()
    except CorpusError as error:
        if error.message not in [problem.what for problem in problems]:
            problems.append(Problem("store", error.message))
        return StoreCheck(tuple(problems))
    for sha256 in sorted(bodies):  # each by itself, to tell what is wrong with it
        try:
            store.body(sha256)
        except CorpusError as error:
            problems.append(Problem(f"body {sha256[:12]}…", error.message))
        steps(1)
    problems += [lost_problem(store, address) for address in lost]
    return StoreCheck(tuple(problems), entries, digest)


def verify_all(
    source: Source | None,
    told: Sequence[Problem],
    store: Store,
    progress: Progress | None,
    *,
    jobs: int,
) -> StoreCheck:
    """Check a store and what it was unpacked from; ``told`` is what is known already."""
    problems = list(verify_source(source, progress)) if source else []
    known = set(problems)
    problems.extend(p for p in told if p not in known)
    found = verify_store(store, progress, jobs=jobs)
    # What the files lack was told above.
    kept = [p for p in found.problems if not (source and "damaged before" in p.what)]
    return replace(found, problems=(*problems, *kept))


class _Steps:
    """Adds up what was checked, for whoever watches."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, number: int) -> None:
        self._done += number
        if self._progress:
            self._progress(self._done, max(self._done, self._total))


def _check_entries(
    store: Store, bodies: set[str], problems: list[Problem], steps: Callable[[int], None]
) -> tuple[int, str]:
    """Look at all entries; return how many can be read, and the digest."""
    readable = 0

    def lines() -> Iterator[bytes]:
        nonlocal readable
        for address, entry in store.entries():
            if not isinstance(entry, Entry):
                problems.append(Problem(_name(address), entry.message))
            else:
                readable += 1
                sha256 = entry.body_sha256
                if not (sha256 is None or sha256 in bodies or store.has_body(sha256)):
                    where = f"{_name(address)} ({entry.request.label})"
                    problems.append(Problem(where, "its body is missing"))
            steps(1)
            yield digest_line(address, entry)

    digest = corpus_digest(lines())
    return readable, digest


def lost_problem(store: Store, address: Address) -> Problem:
    """Return that an entry was lost before it came into this store."""
    try:
        reason = store.lost(*address)
    except CorpusError as error:
        reason = error.message
    return Problem(_name(address), f"it was damaged before: {reason}")


def _name(address: Address) -> str:
    return f"entry {short_name(address)}"


def verify_source(source: Source, progress: Progress | None = None) -> Iterator[Problem]:
    """Yield what is wrong with an interchange folder or a WARC file.

    Files are checked against the manifest's hashes, records against their
    own, and the whole against the manifest's number of entries and digest.
    """
    yield from source.problems
    told = source.manifest
    total = (told.entries if told else None) or 0
    digests: dict[Address, bytes] = {}
    try:
        for found in SourceReader(source):
            if isinstance(found, Damage):
                yield found.problem
                continue
            entry = found.entry
            digests.setdefault((entry.request.sha256, entry.ordinal), entry.canonical())
            if progress:
                progress(len(digests), max(total, len(digests)))
    except CorpusError as error:
        yield Problem(source.path.name, error.message)
        return
    if told is not None:
        actual = corpus_digest(digests[address] for address in sorted(digests))
        yield from promise_problems(told, len(digests), actual)


def promise_problems(told: Interchange, entries: int, digest: str) -> list[Problem]:
    """Return in what an exported folder falls short of its manifest."""
    if told.entries is not None and told.entries != entries:
        what = f"it promises {told.entries} entries, {entries} can be read"
    elif told.digest is not None and told.digest != digest:
        what = f"its digest is {told.digest}, the corpus's {digest}"
    else:
        return []
    return [Problem(MANIFEST, what)]
