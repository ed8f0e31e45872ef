"""What is shown while a search index is brought up to date; all on stderr."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from harness.cli import _console

if TYPE_CHECKING:
    from harness.corpus_index import CorpusIndex, Updated

__all__ = ["IndexDisplay", "update_index"]

# A few pages are done before anybody could read about them.
_WORTH_SHOWING = 20
_LABELS = {"reading": "recordings read for the search index", "encoding": "pages encoded"}


class IndexDisplay:
    """Counters for the parts of an update; hand :meth:`hear` to it as ``progress``."""

    def __init__(self) -> None:
        self._what = ""
        self._counter: _console.Counter | None = None

    def __enter__(self) -> IndexDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def hear(self, what: str, done: int, total: int) -> None:
        """Show how far a part of the update is."""
        if what != self._what:
            self._end()
            self._what = what
            if what == "waiting":
                _console.say("Another program is building the search index; waiting for it.")
            if total >= _WORTH_SHOWING:
                self._counter = _console.Counter(_LABELS.get(what, what), total, done)
                self._counter.__enter__()
        if self._counter is not None:
            self._counter.moved(done, "")

    def _end(self) -> None:
        if self._counter is not None:
            self._counter.__exit__(None, None, None)
            self._counter = None


def update_index(index: CorpusIndex) -> Updated:
    """Bring an index up to date, showing how far it is and telling what to know of it."""
    with IndexDisplay() as display:
        updated = index.update(display.hear)
    for note in index.notes:
        _console.warn(note)
    if updated.unreadable:
        number = _console.counted(updated.unreadable, "recorded page")
        _console.say(f"{number} without readable text can't be found by a search.")
    return updated
