"""One request over a tape, with everything that can happen to it as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import CorpusDamagedError, CorpusMissError

if TYPE_CHECKING:
    import httpx

    from harness.corpus import RequestPolicy

__all__ = ["USER_AGENT", "Exchange", "accept_language", "exchange", "failure_words"]

# Some sites refuse unnamed clients, and SearXNG's limiter refuses library names.
USER_AGENT = "Mozilla/5.0 (compatible; Hotseat/0.1; quiz research)"
_ACCEPT_ENCODING = "gzip, deflate"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A response read to its end (or to the byte cap), or the error instead of it.

    ``elapsed_s`` are network seconds; ``recorded`` says that they, and the
    response, came out of a corpus.  ``from_index`` says that the response was
    made up from an index over recorded pages, in ``elapsed_s`` of computing.
    """

    status: int | None = None
    content_type: str = ""
    location: str | None = None
    body: bytes = b""
    truncated: bool = False
    elapsed_s: float = 0.0
    recorded: bool = False
    from_index: bool = False
    error: httpx.HTTPError | CorpusMissError | CorpusDamagedError | None = None


async def exchange(
    transport: httpx.AsyncBaseTransport, request: httpx.Request, policy: RequestPolicy
) -> Exchange:
    """Send ``request`` and read the response; time and bytes are limited by ``policy``.

    Goes to the transport itself: a client would carry cookies from one page
    to the next and follow redirects unchecked.
    """
    import httpx

    request.headers.setdefault("User-Agent", USER_AGENT)
    request.headers.setdefault("Accept-Encoding", _ACCEPT_ENCODING)
    request.extensions = {**request.extensions, "hotseat": policy}
    error: httpx.HTTPError | CorpusMissError | CorpusDamagedError
    try:
        response = await transport.handle_async_request(request)
        try:
            body = await response.aread()
        finally:
            await response.aclose()
    except (httpx.HTTPError, CorpusMissError, CorpusDamagedError) as raised:
        error = raised
    else:
        outcome = request.extensions.get("hotseat_outcome")
        return Exchange(
            status=response.status_code,
            content_type=response.headers.get("content-type", ""),
            location=response.headers.get("location"),
            body=body,
            truncated=bool(outcome and outcome.truncated),
            elapsed_s=outcome.elapsed_s if outcome else 0.0,
            recorded=bool(outcome and outcome.recorded),
            # No server can set an extension, as it could a header.
            from_index=response.extensions.get("hotseat_source") == "corpus",
        )
    outcome = request.extensions.get("hotseat_outcome")
    return Exchange(
        elapsed_s=outcome.elapsed_s if outcome else 0.0,
        recorded=bool(outcome and outcome.recorded),
        error=error,
    )


def accept_language(language: str) -> str:
    """Return the ``Accept-Language`` header for a search language, never empty."""
    return "en" if language in ("", "all", "auto") else language


def failure_words(error: Exception) -> str:
    """Return a few words for a failed exchange, the same live and in a replay.

    Built from the kind of error alone: messages of the operating system name
    ports and differ between machines.
    """
    import httpx

    words: tuple[tuple[type[Exception], str], ...] = (
        (httpx.TimeoutException, "timed out"),
        (httpx.ConnectError, "could not be reached"),
        (httpx.UnsupportedProtocol, "is not a public web address"),
        (httpx.DecodingError, "sent compressed content that is broken"),
        (httpx.ProxyError, "could not be reached through the proxy"),
    )
    broke_off = "broke the connection off"
    return next((text for kind, text in words if isinstance(error, kind)), broke_off)
