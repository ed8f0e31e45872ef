"""The way to the real network: guarded, polite, with or without a proxy.

These transports lie under a tape, on its network side; a replay never has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from harness.errors import BadInputError
from harness.settings import FetchSettings
from harness.web.guard import GuardedTransport

__all__ = ["PoliteTransport", "network_transport"]

PER_HOST = 3


def network_transport(settings: FetchSettings, *, proxy: str | None = None) -> PoliteTransport:
    """Return the transport to the web; close it in the loop that used it.

    ``proxy`` is the address of an HTTP proxy that everything goes through.
    Raises :class:`~harness.errors.BadInputError` when it is none.
    """
    try:
        through = httpx.Proxy(proxy) if proxy else None
        inner = httpx.AsyncHTTPTransport(proxy=through)
    except (ValueError, httpx.InvalidURL):
        raise BadInputError(
            "The proxy's address can't be used.", remedy="Write it like http://127.0.0.1:3128."
        ) from None
    guard = GuardedTransport(inner, allow_hosts=settings.allow_hosts, proxied=proxy is not None)
    return PoliteTransport(guard)


class PoliteTransport(httpx.AsyncBaseTransport):
    """Keeps at most ``PER_HOST`` requests to one host under way at a time.

    Waiting for one's turn is part of the time that a request takes.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._turns: dict[str, asyncio.Semaphore] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for a turn, send the request, and give the turn back with the last byte."""
        turn = self._turns.setdefault(request.url.host, asyncio.Semaphore(PER_HOST))
        await turn.acquire()
        try:
            response = await self._inner.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
        except BaseException:
            turn.release()
            raise
        response.stream = _Turn(response.stream, turn)
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Turn(httpx.AsyncByteStream):
    """A body that gives its turn back when it is closed."""

    def __init__(self, inner: httpx.AsyncByteStream, turn: asyncio.Semaphore) -> None:
        self._inner = inner
        self._turn: asyncio.Semaphore | None = turn

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._inner.__aiter__()

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            turn, self._turn = self._turn, None
            if turn is not None:
                turn.release()
