"""Research over the real network, one question at a time, onto tape where there is a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from harness.clock import Clock, SystemClock
from harness.contestant._record_transports import FirstContact
from harness.settings import FetchSettings, Settings
from harness.web.searxng import search_address

if TYPE_CHECKING:
    from harness.corpus import Corpus

__all__ = ["LiveResearch"]


class LiveResearch:
    """Gives each question the transport that its research goes through.

    With a ``corpus`` everything is recorded, and what is there already is
    answered from it: the same question finds the same pages at every serving,
    as a replay will.  ``inner`` is the transport to fetch through, ``None``
    the guarded way to the web, through ``proxy`` if given.  A search server
    that can't be reached, or is none, raises out of the research until it has
    once been met.
    """

    def __init__(
        self,
        settings: Settings,
        corpus: Corpus | None = None,
        *,
        inner: httpx.AsyncBaseTransport | None = None,
        proxy: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._searching = settings.search.enabled
        self._corpus = corpus
        self._clock = clock or SystemClock()
        self._network = _Network(settings.fetch, inner, proxy)
        address, _ = search_address(settings.search.url)
        self._first = FirstContact(self._network, address, proxy)

    def transport(self) -> httpx.AsyncBaseTransport | None:
        """Return the transport of the next question, to be closed after it; ``None``: no research.

        One question at a time: the network is let go of when it is closed.
        """
        from harness.corpus import live_tape

        if not self._searching:
            return None
        if self._corpus is None:
            return _Question(live_tape(self._first, clock=self._clock), self._network)
        tape = self._corpus.tape("record", inner=self._first, clock=self._clock)
        return _Question(tape, self._network)


class _Network(httpx.AsyncBaseTransport):
    """The way to the web, opened anew in the event loop of each question."""

    def __init__(
        self,
        settings: FetchSettings,
        given: httpx.AsyncBaseTransport | None,
        proxy: str | None,
    ) -> None:
        self._settings = settings
        self._given = given
        self._proxy = proxy
        self._open: httpx.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        from harness.web.network import network_transport

        if self._given is not None:
            return await self._given.handle_async_request(request)
        if self._open is None:
            self._open = network_transport(self._settings, proxy=self._proxy)
        return await self._open.handle_async_request(request)

    async def aclose(self) -> None:
        if self._open is not None:
            closing, self._open = self._open, None
            await closing.aclose()


class _Question(httpx.AsyncBaseTransport):
    def __init__(self, tape: httpx.AsyncBaseTransport, network: _Network) -> None:
        self._tape = tape
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._tape.handle_async_request(request)

    async def aclose(self) -> None:
        await self._tape.aclose()
        await self._network.aclose()
