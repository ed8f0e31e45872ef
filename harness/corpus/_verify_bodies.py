"""Checking the bodies of a store, many at a time, in several processes where that pays.

Threads would not do: unpacking and hashing a page take some 30 µs each, and
waiting for the interpreter's lock in between takes as long.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.corpus._store import Store
from harness.errors import CorpusError
from harness.machine import cores

__all__ = ["checked_bodies", "default_jobs"]

_ROWS: Final = 500
_MANY_BODIES: Final = 10_000
"""From so many bodies on, starting processes costs less than it gains."""

_MOST_JOBS: Final = 8

_store: Store  # of a worker


def default_jobs() -> int:
    """Return the number of processes to check a store with: that of the cores, at most 8."""
    return min(cores(), _MOST_JOBS)


@contextmanager
def checked_bodies(
    store: Store, bodies: int, jobs: int, steps: Callable[[int], None]
) -> Iterator[Callable[[], set[str]]]:
    """Begin to check all bodies; give a function that waits and returns the undamaged ones.

    A body that is not among them may be damaged, long, or simply not looked
    at: it is to be checked by itself.
    """
    last = store.last_row()
    ranges = [(first, min(first + _ROWS, last)) for first in range(0, last, _ROWS)]

    def here() -> set[str]:
        good: set[str] = set()
        for first, end in ranges:
            found = store.undamaged_bodies(first, end)
            good.update(found)
            steps(len(found))
        return good

    # Those that read a private copy of the database would each make another.
    if jobs < 2 or bodies < _MANY_BODIES or store.is_copy:
        yield here
        return
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(store.folder,)
    )
    try:
        futures = _begun(pool, ranges)
        yield lambda: _gather(futures, steps)
    finally:
        pool.shutdown(cancel_futures=True)


def _begun(pool: ProcessPoolExecutor, ranges: list[tuple[int, int]]) -> list[Future[list[str]]]:
    """Hand out the work, as far as the processes live to take it."""
    futures: list[Future[list[str]]] = []
    with contextlib.suppress(BrokenProcessPool):  # what is not handed out is checked without them
        for one in ranges:
            futures.append(pool.submit(_work, *one))
    return futures


def _gather(futures: list[Future[list[str]]], steps: Callable[[int], None]) -> set[str]:
    good: set[str] = set()
    try:
        for future in futures:
            found = future.result()
            good.update(found)
            steps(len(found))
    except BrokenProcessPool:
        pass  # killed, for memory perhaps: the rest is checked without them
    return good


def _begin(folder: Path) -> None:
    global _store
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one ends it
    _store = Store(folder, read_only=True)


def _work(first: int, last: int) -> list[str]:
    try:
        return _store.undamaged_bodies(first, last)
    except CorpusError:
        return []  # told by whoever looks at each
