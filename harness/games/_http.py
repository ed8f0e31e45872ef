"""One exchange with the quiz server: sent once, read within bounds, told as a value.

Redirects are not followed and no proxy, password file or certificate setting
is taken from the environment: everything goes to the one host that the user
named, and so does the cookie, which lives in memory only.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from harness.clock import Clock
from harness.errors import BadInputError
from harness.games.server_clock import Window

__all__ = ["COOKIE", "Call", "Line", "Lost", "Reply", "server_address"]

COOKIE = "polimillionaire_auth"
MAX_JSON_BYTES = 2**20
_USER_AGENT = "Hotseat/0.1 (quiz player)"
_KEEP_ALIVE_S = 4.0  # below the five seconds after which common servers hang up
_MAX_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the protocol; ``body`` is kept out of every representation."""

    operation: str
    method: str
    path: str
    body: dict[str, Any] | None = field(default=None, repr=False)
    query: dict[str, str] | None = None
    limit_bytes: int = MAX_JSON_BYTES
    needs_login: bool = True
    timeout_s: float | None = None  # less than usual, where time is short


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply read to its end."""

    status: int
    body: bytes = field(repr=False)
    window: Window
    date: str | None = None
    retry_after: str | None = None
    location: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether the call did what it was for."""
        return self.status in (200, 201, 204)


@dataclass(frozen=True, slots=True)
class Lost:
    """No reply that can be used.

    ``maybe_processed`` is false only where the request can't have arrived;
    ``worth_repeating`` is false where another try would end the same way.
    """

    why: str
    window: Window
    maybe_processed: bool = True
    worth_repeating: bool = True


class Line:
    """The way to one server.  Close it in the event loop that used it.

    ``timeout_s`` bounds each exchange as a whole, so that a server that sends
    a byte now and then is cut off as well.
    """

    def __init__(
        self, address: httpx.URL, clock: Clock, *, timeout_s: float, proxy: str | None = None
    ) -> None:
        self._address = address
        self._clock = clock
        self._timeout_s = timeout_s
        self._cookies = httpx.Cookies()
        try:
            through = httpx.Proxy(proxy) if proxy else None
        except (ValueError, httpx.InvalidURL):
            raise BadInputError(
                "The proxy's address can't be used.",
                remedy="Write it like http://127.0.0.1:3128.",
            ) from None
        context = httpx.create_ssl_context(trust_env=False)
        limits = httpx.Limits(
            max_connections=_MAX_CONNECTIONS,
            max_keepalive_connections=_MAX_CONNECTIONS,
            keepalive_expiry=_KEEP_ALIVE_S,
        )
        none_kept = httpx.Limits(max_connections=_MAX_CONNECTIONS, max_keepalive_connections=0)
        self._kept = httpx.AsyncHTTPTransport(verify=context, limits=limits, proxy=through)
        self._fresh = httpx.AsyncHTTPTransport(verify=context, limits=none_kept, proxy=through)

    @property
    def has_cookie(self) -> bool:
        """Whether the login cookie is there."""
        return any(cookie.name == COOKIE for cookie in self._cookies.jar)

    def forget(self) -> None:
        """Drop all cookies."""
        self._cookies.clear()

    async def aclose(self) -> None:
        """Hang up."""
        await self._kept.aclose()
        await self._fresh.aclose()

    async def exchange(self, call: Call, *, fresh: bool) -> Reply | Lost:
        """Send ``call`` once; ``fresh`` uses a connection that nothing has used before."""
        sent_s = self._clock.monotonic()
        limit_s = min(self._timeout_s, call.timeout_s or self._timeout_s)
        request = self._request(call)
        lost: Lost
        try:
            async with asyncio.timeout(limit_s):
                return await self._send(request, call, sent_s, fresh=fresh)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            lost = self._lost("could not be reached", sent_s, maybe_processed=False)
        except (TimeoutError, httpx.TimeoutException):
            lost = self._lost(f"did not answer within {limit_s:g} s", sent_s)
        except httpx.UnsupportedProtocol:
            lost = self._lost("has an address that can't be used", sent_s, maybe_processed=False)
        except httpx.TransportError:
            lost = self._lost("broke the connection off", sent_s)
        # Returned outside of the handlers: an error that is raised from this
        # must not carry the request, which may hold the password, as its context.
        return lost

    async def _send(
        self, request: httpx.Request, call: Call, sent_s: float, *, fresh: bool
    ) -> Reply | Lost:
        transport = self._fresh if fresh else self._kept
        response = await transport.handle_async_request(request)
        try:
            response.request = request
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                return self._lost(
                    "sent compressed content that was not asked for", sent_s, worth_repeating=False
                )
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > call.limit_bytes:
                    size = f"{call.limit_bytes // 2**20} MB"
                    return self._lost(f"sent more than {size}", sent_s, worth_repeating=False)
        finally:
            await response.aclose()
        self._cookies.extract_cookies(response)
        return Reply(
            response.status_code,
            bytes(body),
            Window(sent_s, self._clock.monotonic()),
            date=response.headers.get("date"),
            retry_after=response.headers.get("retry-after"),
            location=response.headers.get("location"),
        )

    def _request(self, call: Call) -> httpx.Request:
        address = self._address.copy_with(path=self._address.path.rstrip("/") + call.path)
        if call.query:
            address = address.copy_with(params=call.query)
        headers = {
            "User-Agent": _USER_AGENT,
            "Accept": "application/json, audio/wav;q=0.9",
            "Accept-Encoding": "identity",
        }
        content = None
        if call.method == "POST":
            headers["Content-Type"] = "application/json"
            content = json.dumps(call.body or {}).encode()
        request = httpx.Request(
            call.method,
            address,
            headers=headers,
            content=content,
            extensions={"timeout": httpx.Timeout(self._timeout_s).as_dict()},
        )
        self._cookies.set_cookie_header(request)
        return request

    def _lost(
        self,
        why: str,
        sent_s: float,
        *,
        maybe_processed: bool = True,
        worth_repeating: bool = True,
    ) -> Lost:
        window = Window(sent_s, self._clock.monotonic())
        return Lost(why, window, maybe_processed, worth_repeating)


def server_address(text: str) -> httpx.URL:
    """Return a server's address: http or https, a host, no user name in it.

    Raises :class:`~harness.errors.BadInputError` for anything else.
    """
    try:
        address = httpx.URL(text.strip())
    except (httpx.InvalidURL, ValueError):
        address = httpx.URL("")
    usable = address.scheme in ("http", "https") and address.host and not address.query
    if not usable or not 0 < (address.port or 80) < 65_536:
        raise BadInputError(
            "The quiz server's address can't be used.",
            remedy="Write it like http://127.0.0.1:8000.",
        )
    if address.userinfo:  # never repeated in the message: it may hold a password
        raise BadInputError(
            "The quiz server's address must not hold a user name or a password.",
            remedy="Set HOTSEAT_QUIZ_USER and HOTSEAT_QUIZ_PASSWORD instead.",
        )
    return address.copy_with(fragment=None)
