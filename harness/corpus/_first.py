"""What a replay's first request of each kind is answered with, for those who index a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import CorpusDamagedError

if TYPE_CHECKING:
    from harness.corpus._corpus import Corpus
    from harness.corpus._entry import Entry

__all__ = ["first_recordings", "read_recording"]


def first_recordings(corpus: Corpus) -> dict[str, tuple[int, float]]:
    """Return, by request key (hex), the ordinal of its first recording and a stamp.

    The stamp changes when that recording is replaced.  Requests whose first
    recording is known to be lost are left out, since a replay refuses them.
    Reads the store's index only: cheap, also for many entries.  Raises like
    every reading of a corpus.
    """
    found: dict[str, tuple[int, float]] = {}
    lost: dict[str, int] = {}
    for kind, (key, ordinal), stamp in corpus._store.stamps():
        if kind == "damaged":
            lost[key] = min(ordinal, lost.get(key, ordinal))
        elif key not in found or ordinal < found[key][0]:
            found[key] = (ordinal, stamp)
    return {key: value for key, value in found.items() if key not in lost or value[0] <= lost[key]}


def read_recording(corpus: Corpus, key: str, ordinal: int) -> tuple[Entry, bytes] | None:
    """Return a recording and its body (empty for a failure), ``None`` where it can't be read."""
    try:
        entry = corpus._store.read(key, ordinal)
        if entry is None:
            return None
        return entry, corpus._store.body_of(entry)
    except CorpusDamagedError:
        return None  # ``verify`` tells
