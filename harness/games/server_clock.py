"""What time it is at the server, from what can be seen here.

Everything local is monotonic seconds: a wall clock that is wrong, or is set
while a game runs, plays no part.  The offset sought is *server time minus
local monotonic time*; each observation gives an interval that holds it, and
intervals are intersected:

- A ``Date`` header is cut to whole seconds, and some servers renew it only
  once a second: a reply asked for at ``sent`` and there at ``received`` says
  that the offset lies between ``date - received`` and
  ``date + 1 + slack - sent``.
- A question just served with a deadline had ``allowed_s`` left at some moment
  between ``sent`` and ``received``.

Of the two the one that leaves *less* time is believed, unless it is plainly
impossible: a ``Date`` by which a fresh question is already over comes from
another clock than the deadline does, and is not used any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from harness.clock import Clock

__all__ = ["Offset", "ServerClock", "Window"]

_MAX_DATE_CHARS = 64
_REMEMBERED = 64
_NARROW_S = 2.0
_SLACK_S = 1.0  # how stale a ``Date`` header may be


@dataclass(frozen=True, slots=True)
class Window:
    """When something happened, by the local monotonic clock: between these seconds."""

    sent_s: float
    received_s: float


@dataclass(frozen=True, slots=True)
class Offset:
    """Server time (seconds since 1970) minus local monotonic seconds: an interval."""

    low_s: float
    high_s: float

    @property
    def width_s(self) -> float:
        """How uncertain the offset is."""
        return self.high_s - self.low_s

    def narrowed(self, other: Offset) -> Offset:
        """Return what both allow; ``other`` alone when they contradict each other.

        They do when a clock was set or has drifted; the newer one then counts.
        """
        low_s, high_s = max(self.low_s, other.low_s), min(self.high_s, other.high_s)
        return Offset(low_s, high_s) if low_s <= high_s else other


class ServerClock:
    """Estimates the server's clock and says how long a deadline still lasts.

    ``allowed_s`` is what a question gets from its serving, by the rules of the
    game.
    """

    def __init__(self, clock: Clock, *, allowed_s: float = 30.0) -> None:
        self._clock = clock
        self.allowed_s = allowed_s
        self._by_date: Offset | None = None
        self._by_serving: Offset | None = None
        self._ends_s: dict[datetime, float] = {}
        self.date_contradicted = False

    @property
    def by_date(self) -> Offset | None:
        """The offset by ``Date`` headers, ``None`` without a credible one."""
        return None if self.date_contradicted else self._by_date

    @property
    def by_serving(self) -> Offset | None:
        """The offset of the clock behind the deadlines, by questions just served."""
        return self._by_serving

    def saw_date(self, header: str | None, window: Window) -> None:
        """Take in a reply's ``Date`` header; one that can't be read is ignored."""
        stamp_s = _stamp_s(header)
        if stamp_s is None:
            return
        seen = Offset(stamp_s - window.received_s, stamp_s + 1.0 + _SLACK_S - window.sent_s)
        self._by_date = seen if self._by_date is None else self._by_date.narrowed(seen)

    def saw_serving(self, deadline: datetime, window: Window) -> None:
        """Take in that the time to ``deadline`` began to run inside ``window``."""
        end_s = deadline.timestamp()
        narrow = window.received_s - window.sent_s <= _NARROW_S
        others = self._by_serving is not None or self.by_date is not None
        # After a long silence "sent" says little; another estimate is better then.
        if deadline not in self._ends_s and (narrow or not others):
            self._ends_s[deadline] = window.sent_s + self.allowed_s
            while len(self._ends_s) > _REMEMBERED:
                del self._ends_s[next(iter(self._ends_s))]
        seen = Offset(
            end_s - self.allowed_s - window.received_s, end_s - self.allowed_s - window.sent_s
        )
        self._by_serving = seen if self._by_serving is None else self._by_serving.narrowed(seen)
        if self._by_date is not None and end_s - self._by_date.low_s <= window.received_s:
            self.date_contradicted = True

    def end_s(self, deadline: datetime) -> float:
        """Return when ``deadline`` is, in local monotonic seconds: the safest estimate.

        Never later than ``allowed_s`` from now.  With nothing to go by, for a
        game resumed from a server that sends no ``Date``, it is now.
        """
        now_s = self._clock.monotonic()
        at_s = deadline.timestamp()
        known = [offset for offset in (self.by_date, self._by_serving) if offset is not None]
        ends_s = [at_s - offset.high_s for offset in known]
        if deadline in self._ends_s:
            ends_s.append(self._ends_s[deadline])
        return min(*ends_s, now_s + self.allowed_s) if ends_s else now_s

    def remaining_s(self, deadline: datetime) -> float:
        """Return the seconds left until ``deadline``, never below 0."""
        now_s = self._clock.monotonic()
        return max(0.0, self.end_s(deadline) - now_s)


def _stamp_s(header: str | None) -> float | None:
    if header is None or len(header) > _MAX_DATE_CHARS:
        return None
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if moment.tzinfo is None:  # the form "-0000" for UTC
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None
