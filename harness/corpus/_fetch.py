"""One request to the real network, bounded in seconds and bytes, as a value."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

import httpx

from harness.clock import Clock
from harness.corpus._decode import ACCEPT_ENCODING, ContentDecoder, UndecodableError
from harness.corpus._entry import KEPT_HEADERS
from harness.corpus._limits import MAX_BODY_BYTES
from harness.corpus._secrets import REMOVED, scrub_bytes, scrub_text, scrub_url, secrets_of
from harness.corpus._values import Failure, RequestPolicy

__all__ = ["Fetched", "Timing", "failure_error", "fetch", "iso_time", "stored_headers"]

Timing = Literal["measured", "declared"]

_MAX_MESSAGE_CHARS: Final = 500

_KINDS: Final[dict[str, type[httpx.RequestError]]] = {
    kind.__name__: kind
    for kind in (
        httpx.ConnectTimeout,
        httpx.ReadTimeout,
        httpx.WriteTimeout,
        httpx.PoolTimeout,
        httpx.TimeoutException,
        httpx.ConnectError,
        httpx.ReadError,
        httpx.WriteError,
        httpx.CloseError,
        httpx.NetworkError,
        httpx.LocalProtocolError,
        httpx.RemoteProtocolError,
        httpx.ProtocolError,
        httpx.ProxyError,
        httpx.UnsupportedProtocol,
        httpx.TransportError,
        httpx.DecodingError,
    )
}

_TOTAL_DURATION = re.compile(r"(?:^|,)\s*total\s*;\s*dur\s*=\s*\"?([0-9]+(?:\.[0-9]+)?)")
_NOT_HEADER_TEXT = re.compile(r"[^ -~]+")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back, ready for storing: free of secrets, decoded, cut to size.

    ``headers`` are those that are stored, ``live_headers`` what the waiting
    client needs beyond them: the unabridged redirect target and cookies.
    """

    fetched_at: str
    elapsed_s: float
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    live_headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    failure: Failure | None = None


async def fetch(
    inner: httpx.AsyncBaseTransport,
    request: httpx.Request,
    policy: RequestPolicy,
    *,
    clock: Clock,
    timing: Timing,
) -> Fetched:
    """Ask the network and return the answer or the failure.

    Exceptions of httpx become a :class:`Failure`; all others, cancellation
    included, pass through.
    """
    fetched_at = iso_time(clock.now())
    started = clock.monotonic()
    secrets, strict = secrets_of(str(request.url), request.headers, policy)
    limit = min(policy.max_bytes, MAX_BODY_BYTES)
    try:
        async with asyncio.timeout(policy.total_s):
            response = await inner.handle_async_request(_outgoing(request))
            try:
                body, truncated = await _read(response, limit)
            finally:
                await response.aclose()
    except (TimeoutError, httpx.RequestError, UndecodableError) as error:
        failure = _failure(error, secrets, policy, timing)
        late = issubclass(_KINDS[failure.kind], httpx.TimeoutException)
        declared_s = policy.total_s if late else 0.0
        measured_s = round(clock.monotonic() - started, 6)
        elapsed_s = measured_s if timing == "measured" else declared_s
        return Fetched(fetched_at, elapsed_s, failure=failure)
    measured_s = round(clock.monotonic() - started, 6)
    raw = response.headers.multi_items()
    return Fetched(
        fetched_at=fetched_at,
        elapsed_s=measured_s if timing == "measured" else _declared_s(response.headers),
        status=response.status_code,
        headers=stored_headers(raw, secrets, strict, policy),
        live_headers=tuple(pair for pair in raw if pair[0] in ("location", "set-cookie")),
        body=scrub_bytes(body, strict),
        truncated=truncated,
    )


def iso_time(moment: datetime) -> str:
    """Return a time in UTC, to the microsecond, as WARC and the store write it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def failure_error(failure: Failure, request: httpx.Request) -> httpx.RequestError:
    """Return the httpx exception that a recorded failure stands for."""
    kind = _KINDS.get(failure.kind, httpx.TransportError)
    return kind(failure.message, request=request)


def stored_headers(
    headers: Iterable[tuple[str, str]],
    secrets: Iterable[str],
    strict: Iterable[str],
    policy: RequestPolicy,
) -> tuple[tuple[str, str], ...]:
    """Return the headers worth keeping, in printable ASCII and without secrets.

    A redirect target keeps working: only its secret parameters are dropped,
    and those are no part of a request's identity either.
    """
    kept = []
    for name, value in headers:
        lower = name.lower()
        if lower not in KEPT_HEADERS:
            continue
        if lower == "location":
            value = scrub_url(value, policy)
            for secret in strict:
                value = value.replace(secret, REMOVED)
        else:
            value = scrub_text(value, secrets, policy)
        kept.append((lower, _header_text(value)))
    return tuple(kept)


def _header_text(value: str) -> str:
    """Return a header's value with control characters as blanks, others percent-encoded."""

    def replace(match: re.Match[str]) -> str:
        return "".join(
            " "
            if ord(char) < 0xA0
            else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
            for char in match.group()
        )

    return _NOT_HEADER_TEXT.sub(replace, value).strip()


def _outgoing(request: httpx.Request) -> httpx.Request:
    headers = request.headers.copy()
    headers["accept-encoding"] = ACCEPT_ENCODING
    # The policy's total is the only clock: httpx's own time-outs are per read,
    # and which of the two fired first would be a matter of luck.
    unlimited = dict.fromkeys(("connect", "read", "write", "pool"))
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        stream=request.stream,
        extensions={**request.extensions, "timeout": unlimited},
    )


async def _read(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Return the decoded body up to ``limit`` bytes, and whether it is incomplete."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    encodings = response.headers.get_list("content-encoding", split_commas=True)
    decoder = ContentDecoder(encodings)
    body = bytearray()
    async for chunk in response.stream:
        for piece in decoder.feed(chunk):
            body += piece
            if len(body) > limit:
                return bytes(body[:limit]), True
    return bytes(body), not decoder.complete


def _failure(
    error: Exception, secrets: Iterable[str], policy: RequestPolicy, timing: Timing
) -> Failure:
    if isinstance(error, TimeoutError):
        return Failure("ReadTimeout", f"no complete answer within {policy.total_s:g} s")
    if isinstance(error, UndecodableError):
        return Failure("DecodingError", _one_line(str(error)))
    names = (cls.__name__ for cls in type(error).__mro__ if cls.__name__ in _KINDS)
    kind = next(names, "TransportError")
    if timing == "declared":  # the system's wording differs between machines and runs
        return Failure(kind, "the request failed")
    return Failure(kind, _one_line(scrub_text(str(error), secrets, policy)))


def _one_line(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_MAX_MESSAGE_CHARS].strip()


def _declared_s(headers: httpx.Headers) -> float:
    match = _TOTAL_DURATION.search(headers.get("server-timing", ""))
    return round(float(match[1]) / 1000, 6) if match else 0.0
