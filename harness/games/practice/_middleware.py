"""What wraps every request: the limit on their rate, and one line about each."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.clock import Clock
from harness.games.practice._http import refused

__all__ = ["RateLimit", "Told"]

_MAX_CLIENTS = 10_000


class RateLimit:
    """Answers 429 to a client's address that sends more than ``rate`` requests a second.

    A second's worth may come at once.
    """

    def __init__(self, app: ASGIApp, rate: float, clock: Clock) -> None:
        self._app = app
        self._rate = rate
        self._clock = clock
        self._burst = max(1.0, rate)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            wait_s = self._take((scope.get("client") or ("",))[0])
            if wait_s > 0:
                headers = {"Retry-After": str(math.ceil(wait_s))}
                await refused(429, "Too many requests: wait a moment.", headers)(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)

    def _take(self, client: str) -> float:
        """Take one request from a client's allowance; return the wait until there is one."""
        now_s = self._clock.monotonic()
        left, since_s = self._left.pop(client, (self._burst, now_s))
        left = min(self._burst, left + (now_s - since_s) * self._rate)
        wait_s = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[client] = (left if wait_s else left - 1, now_s)
        if len(self._left) > _MAX_CLIENTS:
            self._left.popitem(last=False)
        return wait_s


class Told:
    """Tells each request in one line: ``POST /api/game/start 200 3 ms``."""

    def __init__(self, app: ASGIApp, tell: Callable[[str], None]) -> None:
        self._app = app
        self._tell = tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        status = 500

        async def listen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, listen)
        finally:
            took_ms = (time.perf_counter() - started_s) * 1000
            self._tell(f"{scope['method']} {scope['path']} {status} {took_ms:.0f} ms")
