"""What a pull tells while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Progress", "PullEvent", "Reporter"]


@dataclass(frozen=True, slots=True)
class PullEvent:
    """One piece of news about a pull.

    ``done_bytes`` of ``total_bytes`` (``None`` while unknown) are here; a
    ``note`` is one sentence worth showing, and empty in plain progress.
    """

    model: str
    done_bytes: int
    total_bytes: int | None
    note: str = ""


Progress = Callable[[PullEvent], None]


class Reporter:
    """Turns a pull's numbers into events; silent without a listener."""

    def __init__(self, model: str, total_bytes: int | None, listener: Progress | None) -> None:
        self._model = model
        self._listener = listener
        self._done_bytes = 0
        self.total_bytes = total_bytes

    def moved(self, done_bytes: int) -> None:
        """Tell how many bytes are here now; estimates that fall back are held."""
        if done_bytes > self._done_bytes:
            self._done_bytes = done_bytes
            self.note("")

    def restart(self, done_bytes: int, text: str) -> None:
        """Tell in one sentence why less is here than it seemed."""
        self._done_bytes = done_bytes
        self.note(text)

    def note(self, text: str) -> None:
        """Tell one sentence."""
        if self._listener is not None:
            self._listener(PullEvent(self._model, self._done_bytes, self.total_bytes, text))
