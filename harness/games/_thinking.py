"""The contestant at work, in a thread of its own, and no longer than there is time.

Models block, and one takes one request at a time; so everything that the
contestant does runs in one thread, in order.  Who stops waiting for an answer
leaves it running: the next question then waits for the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from harness.clock import Clock
from harness.games.records import GameListener
from harness.trace import Trace

__all__ = ["Thinker", "TooLateError"]

T = TypeVar("T")


class TooLateError(Exception):
    """No result in the time that there was."""


class Thinker:
    """Runs blocking work in one thread; what its traces hear is told in the loop's thread."""

    def __init__(self, listener: GameListener, clock: Clock) -> None:
        self._listener = listener
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="contestant")

    def trace(self) -> Trace:
        """Return a trace for one question whose story the listener hears."""
        watcher = _Watcher(asyncio.get_running_loop(), self._listener)
        return Trace(clock=self._clock, watcher=watcher)

    def begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start ``work`` once the thread is free."""
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def finish(self, job: asyncio.Future[T], limit_s: float) -> T:
        """Wait for a job; raises :class:`TooLateError` after ``limit_s``, or what it raised."""
        done, _ = await asyncio.wait({job}, timeout=max(0.0, limit_s))
        if not done:
            job.add_done_callback(_forget)
            raise TooLateError
        return job.result()

    def close(self) -> None:
        """Wait until the thread has done its work: a model can't be freed while it computes."""
        self._thread.shutdown(wait=True, cancel_futures=True)


def _forget(job: asyncio.Future[Any]) -> None:
    if not job.cancelled():
        job.exception()  # nobody waits for it any more


class _Watcher:
    def __init__(self, loop: asyncio.AbstractEventLoop, listener: GameListener) -> None:
        self._loop = loop
        self._listener = listener

    def stage(self, name: str, seconds: float) -> None:
        self._tell(self._listener.stage, name, seconds)

    def noted(self, facts: Mapping[str, Any]) -> None:
        self._tell(self._listener.noted, dict(facts))

    def _tell(self, hear: Callable[..., None], *values: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(hear, *values)
