"""The two transports that a recording adds: one above the tapes, one below."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

import httpx

from harness.errors import MissingError, SearchFailedError

__all__ = ["CountingTransport", "FirstContact", "place_of"]

_CONNECT_S = 5.0


class CountingTransport(httpx.AsyncBaseTransport):
    """Sends searches over one tape and pages over another, and counts both."""

    def __init__(self, pages: httpx.AsyncBaseTransport, searches: httpx.AsyncBaseTransport) -> None:
        self._pages = pages
        self._searches = searches
        self.fetched = 0
        self.kept = 0
        self.kept_searches = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on and look at what became of it."""
        is_search = _is_search(request)
        tape = self._searches if is_search else self._pages
        try:
            return await tape.handle_async_request(request)
        finally:
            outcome = request.extensions.get("hotseat_outcome")
            if outcome is not None and outcome.recorded:
                self.kept += 1
                self.kept_searches += is_search
            elif outcome is not None:
                self.fetched += 1


class FirstContact(httpx.AsyncBaseTransport):
    """Stops a recording whose very first search shows that none can succeed.

    Lies under the tape, and raises no error of httpx, so the failure is told
    at once and not stored.  After one reply in JSON it lets everything pass.
    """

    def __init__(
        self, inner: httpx.AsyncBaseTransport, address: str, proxy: str | None = None
    ) -> None:
        """``proxy`` is the address of the proxy that ``inner`` goes through, if any."""
        self._inner = inner
        self._address = address
        self._proxy = proxy
        self._met = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on.

        Raises :class:`~harness.errors.MissingError` when the search server, or
        the proxy before it, can't be reached at first, and
        :class:`~harness.errors.SearchFailedError` when it answers, but not as
        a search server that can be used.
        """
        if self._met or not _is_search(request):
            return await self._inner.handle_async_request(request)
        return await self._meet(request)

    async def _meet(self, request: httpx.Request) -> httpx.Response:
        from harness.web._exchange import failure_words
        from harness.web.searxng import HOW_TO_START, check_reply

        # Shorter than the tape's own limit, or it would be a recorded time-out.
        limit_s = min(_CONNECT_S, 0.8 * request.extensions["hotseat"].total_s)
        timeout = {**request.extensions.get("timeout", {}), "connect": limit_s}
        request.extensions = {**request.extensions, "timeout": timeout}
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.TransportError as error:
            if self._proxy is not None and _never_arrived(error):
                raise MissingError(
                    f"The proxy at {place_of(self._proxy)} {failure_words(error)}.",
                    remedy="Start it, correct its address in --proxy, or leave --proxy out.",
                ) from error
            raise MissingError(
                f"The search server at {self._address} {failure_words(error)}.",
                remedy=HOW_TO_START,
            ) from error
        body = await response.aread() if response.status_code >= 400 else b""
        try:
            check_reply(response.status_code, response.headers.get("content-type", ""), body)
        except SearchFailedError as error:
            await response.aclose()
            raise SearchFailedError(
                error.message.replace("search server", f"search server at {self._address}", 1),
                remedy=error.remedy,
            ) from None
        self._met = True
        return response


def place_of(address: str) -> str:
    """Return an address without the user name and password that it may hold."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _never_arrived(error: BaseException) -> bool:
    """Return whether not even the first connection came about: with a proxy, the one to it.

    A handshake goes wrong beyond it, with the server.
    """
    if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True


def _is_search(request: httpx.Request) -> bool:
    return bool(getattr(request.extensions.get("hotseat"), "provider", None) == "searxng")
