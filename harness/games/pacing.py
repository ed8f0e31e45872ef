"""How often a server is called: a pause between calls, growing ones between tries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from harness.clock import Clock

__all__ = ["Pacer", "RetryPolicy", "Sleep", "parse_retry_after"]

Sleep = Callable[[float], Awaitable[None]]
"""Something that waits for a number of seconds; a test's own does not."""

_MAX_RETRY_AFTER_S = 3_600.0


class Pacer:
    """Keeps calls at least ``min_interval_s`` apart, first come, first served.

    ``sleep`` and ``clock`` belong together: sleeping must move the clock.
    """

    def __init__(self, min_interval_s: float, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._interval_s = min_interval_s
        self._clock = clock
        self._sleep = sleep
        self._next_s = float("-inf")

    async def turn(self) -> None:
        """Wait until the next call may be made."""
        now_s = self._clock.monotonic()
        mine_s = max(now_s, self._next_s)
        self._next_s = mine_s + self._interval_s  # taken before waiting, so others queue behind
        if mine_s > now_s:
            await self._sleep(mine_s - now_s)


def _jitter() -> float:
    return random.uniform(0.5, 1.0)  # noqa: S311 - spreads players out, keeps no secret


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a call is tried again: waits double from ``first_s`` up to ``longest_s``.

    ``attempts`` counts the first try; ``patience_s`` bounds all tries and waits
    of one call together.  ``jitter`` gives the share of a wait that is taken,
    so that many players don't come back in one moment.
    """

    attempts: int = 6
    first_s: float = 0.25
    longest_s: float = 4.0
    patience_s: float = 60.0
    jitter: Callable[[], float] = field(default=_jitter, compare=False)

    def wait_s(self, tries: int, retry_after_s: float | None = None) -> float:
        """Return the seconds to wait after ``tries`` failed tries (1 or more).

        A server's own ``Retry-After`` is never cut short.
        """
        grown_s: float = min(self.longest_s, self.first_s * 2.0 ** min(tries - 1, 30))
        own_s = grown_s * self.jitter()
        return own_s if retry_after_s is None else max(own_s, retry_after_s)


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, ``None`` without a usable one.

    Only the form in seconds is read: the other one, a date, would need the
    two clocks to agree.  At most an hour.
    """
    if value is None or not value.strip().isascii() or not value.strip().isdigit():
        return None
    digits = value.strip()
    return min(float(digits[:10]), _MAX_RETRY_AFTER_S)
