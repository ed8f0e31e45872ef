"""Time: where seconds are read, so that a test or a replay can supply its own.

A :class:`Clock` tells monotonic seconds (for measuring) and the wall time
(for dating records).  No decision of the pipeline depends on either in a
replay: recorded network seconds are added up, compute seconds are measured,
and both are only reported.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "Deadline", "SystemClock", "VirtualClock"]


class Clock(Protocol):
    """Something that tells the time."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never goes back."""

    def now(self) -> datetime:
        """Return the wall time, with its time zone."""


class SystemClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never goes back."""
        return time.perf_counter()

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.now(UTC)


@dataclass(slots=True)
class VirtualClock:
    """A clock that stands still until it is told to advance."""

    wall: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    elapsed_s: float = 0.0

    def advance(self, seconds: float) -> None:
        """Move this clock ahead by ``seconds`` (at least 0)."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        self.elapsed_s += seconds

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self.elapsed_s

    def now(self) -> datetime:
        """Return the fixed wall time; advancing does not move it."""
        return self.wall


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time that is handed from stage to stage.

    ``limit_s`` is the whole allowance, ``started_s`` the clock's reading when
    it began to run.
    """

    limit_s: float
    started_s: float
    clock: Clock

    @classmethod
    def after(cls, limit_s: float, clock: Clock | None = None) -> Deadline:
        """Return a deadline ``limit_s`` seconds from now."""
        clock = clock or SystemClock()
        return cls(limit_s, clock.monotonic(), clock)

    @property
    def spent_s(self) -> float:
        """Seconds used so far."""
        return self.clock.monotonic() - self.started_s

    @property
    def remaining_s(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.limit_s - self.spent_s)
