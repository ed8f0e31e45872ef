"""Search through a SearXNG server's JSON interface.

A server answers 200 with an empty list also when every engine behind it
failed, so an empty list is a failure when engines are reported unresponsive
and true zero hits only when none are.  Engine messages are translated by the
server and never matched.  Every field is read as untrusted: absent, of
another type, or in the older form where answers are plain texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from harness.errors import CorpusDamagedError, CorpusMissError, SearchFailedError, SettingError
from harness.evidence import SearchHit
from harness.settings import SearchSettings
from harness.trace import Code
from harness.web._searxng_reply import parse_reply, plain_text

if TYPE_CHECKING:
    import httpx

    from harness.web._exchange import Exchange

__all__ = [
    "HOW_TO_START",
    "MAX_REPLY_BYTES",
    "SearchOutcome",
    "check_reply",
    "search",
    "search_address",
]

MAX_REPLY_BYTES = 4_000_000
HOW_TO_START = (
    "Start a SearXNG server with 'json' under search.formats in its settings.yml, for example "
    "'docker run -p 8080:8080 -v ./searxng:/etc/searxng searxng/searxng', "
    "and name its address: --server of 'hotseat record', --search-server of 'hotseat play', or "
    "search.url."
)
_ADD_JSON = "Add 'json' to search.formats in the server's settings.yml."


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one search gave: hits best first, or the reason why there are none.

    ``failed_engines`` names engines that did not answer.  ``failure`` is one
    sentence without anything measured, ``remedy`` what to do about it, and
    ``code`` its kind.  ``elapsed_s`` are network seconds, ``recorded`` when
    they were read from a corpus.  ``from_index`` says that no search engine
    answered but an index over the recorded pages.
    """

    name: str
    query: str
    hits: tuple[SearchHit, ...] = ()
    failed_engines: tuple[str, ...] = ()
    failure: str | None = None
    remedy: str = ""
    code: Code | None = None
    elapsed_s: float = 0.0
    recorded: bool = False
    from_index: bool = False


def search_address(url: str) -> tuple[str, dict[str, str]]:
    """Return the address to search at and the headers that a login in ``url`` needs.

    ``url`` may name the server's root, a sub-path, or ``/search`` itself.  A
    user name and password in it move to an ``Authorization`` header, which is
    never stored.  Raises :class:`~harness.errors.SettingError` for an address
    that is no http or https one, or that has a query or a fragment.
    """
    try:
        parts = urlsplit(url.strip())
        host, port, user = parts.hostname, parts.port, parts.username
    except ValueError:
        host = port = user = None
    if not host or parts.scheme.lower() not in ("http", "https"):
        raise SettingError(
            "search.url is no address of a server.",
            remedy="Write it like http://127.0.0.1:8080.",
        )
    if parts.query or parts.fragment:  # not quoted: it may hold a key
        raise SettingError(
            "search.url has a query, which the address of a server can't have.",
            remedy="Leave out all from '?' or '#' on; a key does not belong there.",
        )
    netloc = f"[{host}]" if ":" in host else host
    netloc = f"{netloc}:{port}" if port is not None else netloc
    path = parts.path.rstrip("/").removesuffix("/search") + "/search"
    headers = {}
    if user is not None:
        import httpx

        auth = httpx.BasicAuth(user, parts.password or "")
        request = next(auth.auth_flow(httpx.Request("GET", "http://login.invalid")))
        headers["Authorization"] = request.headers["Authorization"]
    return urlunsplit((parts.scheme.lower(), netloc, path, "", "")), headers


async def search(
    transport: httpx.AsyncBaseTransport, name: str, query: str, settings: SearchSettings
) -> SearchOutcome:
    """Run one search and return what came of it; failures are values, not raised.

    ``name`` is how hits remember the search (``"broad"``, ``"trusted"``).
    """
    import httpx

    from harness.corpus import RequestPolicy
    from harness.web._exchange import accept_language, exchange

    address, login = search_address(settings.url)
    params = {
        "q": query,
        "format": "json",
        "language": settings.language,
        "pageno": "1",
        "safesearch": "0",
    }
    # The server's bot limiter wants a browser's headers, text/html among them.
    headers = {
        "Accept": "application/json, text/html;q=0.5",
        "Accept-Language": accept_language(settings.language),
        **login,
    }
    policy = RequestPolicy(
        provider="searxng",
        total_s=settings.timeout_s,
        max_bytes=MAX_REPLY_BYTES,
        secret_headers=("authorization",),
    )
    request = httpx.Request("GET", address, params=params, headers=headers)
    sent = await exchange(transport, request, policy)
    measured: dict[str, Any] = {
        "elapsed_s": sent.elapsed_s,
        "recorded": sent.recorded,
        "from_index": sent.from_index,
    }
    if isinstance(sent.error, CorpusMissError | CorpusDamagedError):
        missed = isinstance(sent.error, CorpusMissError)
        return SearchOutcome(
            name,
            query,
            failure=sent.error.message,
            remedy=sent.error.remedy,
            code=Code.NOT_RECORDED if missed else Code.CORPUS_DAMAGED,
            **measured,
        )
    try:
        hits, engines = _read(sent, name)
    except SearchFailedError as error:
        return SearchOutcome(
            name,
            query,
            failure=error.message,
            remedy=error.remedy,
            code=Code.SEARCH_FAILED,
            **measured,
        )
    return SearchOutcome(name, query, hits, engines, **measured)


def check_reply(status: int, content_type: str, body: bytes = b"") -> None:
    """Raise :class:`~harness.errors.SearchFailedError` unless this is a JSON reply.

    Looks at the status and the content type; ``body`` only serves to quote the
    server's own words for a refused request.
    """
    if 300 <= status < 400:
        raise SearchFailedError(
            f"The search server redirects elsewhere (HTTP {status}).",
            remedy="Set search.url to the server's final address.",
        )
    if status == 403:
        raise SearchFailedError(
            "The search server refuses to answer in JSON (HTTP 403).",
            remedy=_ADD_JSON,
        )
    if status == 429:
        raise SearchFailedError(
            "The search server limits requests (HTTP 429).",
            remedy="Switch its limiter off, or list this machine under pass_ip in limiter.toml.",
        )
    if status == 400:
        raise SearchFailedError(
            f"The search server refused the request: {_server_error(body)} (HTTP 400)."
        )
    if status >= 400:
        raise SearchFailedError(
            f"The search server failed (HTTP {status}).",
            remedy="Its own log says why.",
        )
    if "html" in content_type.lower() or body[:512].lstrip().lower().startswith(b"<"):
        raise SearchFailedError(
            "The search server answered with a web page instead of JSON.",
            remedy=f"Is it a SearXNG server? {_ADD_JSON}",
        )


def _read(sent: Exchange, name: str) -> tuple[tuple[SearchHit, ...], tuple[str, ...]]:
    from harness.web._exchange import failure_words

    if sent.error is not None or sent.status is None:
        words = failure_words(sent.error) if sent.error else "sent nothing"
        raise SearchFailedError(f"The search server {words}.", remedy=HOW_TO_START)
    check_reply(sent.status, sent.content_type, sent.body)
    if sent.truncated:
        raise SearchFailedError(f"The search server sent more than {MAX_REPLY_BYTES} bytes.")
    return parse_reply(sent.body, name)


def _server_error(body: bytes) -> str:
    try:
        reply = json.loads(body[:10_000])
    except (ValueError, RecursionError):
        return "no reason given"
    message = reply.get("error") if isinstance(reply, dict) else None
    return plain_text(message, 200) or "no reason given"
