"""Keeps page fetching away from the reader's own network.

A search result, or a redirect, may name any address: the router, a database,
a cloud machine's metadata service.  :class:`GuardedTransport` sits on the
network side, under the tape, and looks at the addresses a host name resolves
to; :func:`refusal` looks at the address as written and also serves replays.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence

import httpx

__all__ = ["AddressRefusedError", "GuardedTransport", "refusal"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# Names that stand for this machine or a cloud's metadata, whatever they resolve to.
_LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa")
# A name as it is sent to a name server, or an IPv6 address.
_HOST = re.compile(rb"[a-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_MAX_ADDRESSES = 4


class AddressRefusedError(httpx.UnsupportedProtocol):
    """A request to an address that pages must not be fetched from.

    Of this kind so that a tape, which keeps the kind of a failure, replays it
    as a refusal and not as a server that was down.
    """


def refusal(url: httpx.URL, allow_hosts: Collection[str] = ()) -> str | None:
    """Return why ``url`` must not be fetched, as far as its text tells; else ``None``.

    Refuses other schemes than http and https, addresses of private, loopback,
    link-local and other special ranges in every notation, and local names.
    """
    if url.scheme not in ("http", "https"):
        return "is not an http or https address"
    host = url.host.lower().rstrip(".")
    if not host:
        return "names no host"
    if host in {allowed.lower() for allowed in allow_hosts}:
        return None
    if not _HOST.fullmatch(url.raw_host) or not 0 < (url.port or 80) < 65_536:
        return "has no proper host name or port"
    if any(host == name or host.endswith("." + name) for name in _LOCAL_NAMES):
        return "names a private host"
    literal = _literal(host)
    return "is a private address" if literal is not None and not _is_public(literal) else None


class GuardedTransport(httpx.AsyncBaseTransport):
    """Lets requests through to ``inner`` only where the address is public.

    A host name is resolved here, every address it has is checked, and the
    connection goes to a checked one, so that a second, different answer of the
    name server can't slip in.  ``allow_hosts`` are exempt, and so is the host
    of a search (the server that the user named); pages on that host are not.

    With ``proxied`` the proxy resolves names, so only addresses and names as
    written can be checked: keeping a proxy away from private networks is then
    the proxy's own business.

    Raises :class:`AddressRefusedError`, an ``httpx.UnsupportedProtocol``.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        *,
        allow_hosts: Collection[str] = (),
        proxied: bool = False,
        resolve: Resolve | None = None,
    ) -> None:
        self._inner = inner
        self._allow = frozenset(host.lower() for host in allow_hosts)
        self._proxied = proxied
        self._resolve = resolve or _resolve

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Check the address of ``request``, then pass it on."""
        url = request.url
        policy = request.extensions.get("hotseat")
        if getattr(policy, "provider", None) == "searxng" and url.scheme in ("http", "https"):
            return await self._inner.handle_async_request(request)
        reason = refusal(url, self._allow)
        if reason is not None:
            raise AddressRefusedError(reason, request=request)
        host = url.host.lower().rstrip(".")
        if self._proxied or host in self._allow or _literal(host) is not None:
            return await self._inner.handle_async_request(request)
        addresses = await self._public_addresses(request, host)
        return await self._send_to(addresses, request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    async def _public_addresses(self, request: httpx.Request, host: str) -> Sequence[str]:
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            addresses = await self._resolve(host, port)
        except OSError:
            raise httpx.ConnectError("the host name is unknown", request=request) from None
        for address in addresses:
            # A zone ("fe80::1%eth0") is only ever link-local.
            parsed = None if "%" in address else _literal(address)
            if parsed is None or not _is_public(parsed):
                raise AddressRefusedError("is a private address", request=request)
        if not addresses:
            raise httpx.ConnectError("the host name is unknown", request=request)
        return addresses[:_MAX_ADDRESSES]

    async def _send_to(self, addresses: Sequence[str], request: httpx.Request) -> httpx.Response:
        """Connect to a checked address; TLS still proves the host by its name.

        A connection is never kept for another request: the pool knows it by
        address, and two hosts behind one address would share its certificate.
        """
        headers = request.headers.copy()  # the Host header among them
        headers["Connection"] = "close"
        for place, address in enumerate(addresses):
            pinned = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.host},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except httpx.ConnectError:
                if place == len(addresses) - 1:
                    raise
        raise AssertionError("unreachable: the last address returns or raises")


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _literal(host: str) -> _Address | None:
    """Return the address that ``host`` is in any notation, ``None`` for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        # The C library's older notations: 127.1, 0x7f000001, 2130706433, 0177.0.0.1.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeEncodeError):
        return None


def _is_public(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


async def _resolve(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))
