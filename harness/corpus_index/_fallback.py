"""A replay's tape with the index behind it: what was not recorded is searched for here.

Only searches are answered so.  An answer has the form of the provider's own
and names recorded pages, so neither search nor fetching knows; its mark is
``response.extensions["hotseat_source"]``, from which research tells the trace.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx

from harness.corpus import Outcome, RequestPolicy, request_key
from harness.corpus_index._index import CorpusIndex
from harness.corpus_index._values import CorpusHit
from harness.errors import CorpusMissError
from harness.web.merge import url_key

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SOURCE_EXTENSION", "CorpusSearch", "CorpusTape", "searxng_reply"]

SOURCE_EXTENSION: Final = "hotseat_source"
SOURCE: Final = "corpus"

_PROVIDERS: Final = frozenset({"searxng"})
_ENGINE: Final = "recorded pages"
_MAX_PAGE: Final = 100
_DEFAULT_POLICY: Final = RequestPolicy()


class CorpusSearch:
    """An index at a replay's service; gives ``results`` hits a search.

    Closes the index with itself.
    """

    def __init__(self, index: CorpusIndex, *, results: int) -> None:
        self._index = index
        self._results = results
        self._one_at_a_time = threading.Lock()

    def describe(self) -> dict[str, Any]:
        """Return what has to be equal for answers to be equal, as JSON values."""
        return self._index.describe()

    def over(self, tape: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        """Return a transport for one question that asks ``tape`` first."""
        return CorpusTape(tape, self._search)

    def _search(self, query: str, page: int) -> tuple[list[CorpusHit], float]:
        """Return the hits of one page of results and the seconds they took, waiting left out."""
        with self._one_at_a_time:
            started = time.perf_counter()
            offset = (page - 1) * self._results
            hits = self._index.search(query, limit=self._results, offset=offset)
            return hits, time.perf_counter() - started

    def close(self) -> None:
        """Close the index."""
        self._index.close()


class CorpusTape(httpx.AsyncBaseTransport):
    """Answers as ``inner`` does, and searches that it has not recorded from the index.

    A page that is missing stays missing, unless a search of this question
    named it: pages are recorded for one language, so such a page is asked for
    as it was recorded.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        search: Callable[[str, int], tuple[list[CorpusHit], float]],
    ) -> None:
        self._inner = inner
        self._search = search
        self._named: dict[str, CorpusHit] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; raises what ``inner`` raises for what is neither."""
        try:
            return await self._inner.handle_async_request(request)
        except CorpusMissError:
            policy = request.extensions.get("hotseat", _DEFAULT_POLICY)
            if policy.provider in _PROVIDERS:
                asked = await _asked(request)
                if asked is not None:
                    return await self._answer(request, policy, *asked)
            elif policy.provider == _DEFAULT_POLICY.provider:
                hit = self._named.get(url_key(str(request.url)))
                if hit is not None:
                    return await self._as_recorded(request, hit)
            raise

    async def _answer(
        self, request: httpx.Request, policy: RequestPolicy, query: str, page: int
    ) -> httpx.Response:
        hits, seconds = await asyncio.to_thread(self._search, query, page)
        for hit in hits:
            self._named.setdefault(url_key(hit.url), hit)
        body = await request.aread()
        key = request_key(request.method, request.url, request.headers, body, policy)
        request.extensions["hotseat_outcome"] = Outcome(
            recorded=False,
            elapsed_s=seconds,
            truncated=False,
            key=key.sha256,
            ordinal=0,
            fetched_at=None,
            failure=None,
        )
        return httpx.Response(
            200,
            headers={"content-type": "application/json"},
            content=searxng_reply(query, hits),
            request=request,
            extensions={SOURCE_EXTENSION: SOURCE},
        )

    async def _as_recorded(self, request: httpx.Request, hit: CorpusHit) -> httpx.Response:
        headers = httpx.Headers(request.headers)
        headers.pop("host", None)
        headers["Accept-Language"] = hit.accept_language
        again = httpx.Request("GET", hit.url, headers=headers, extensions=request.extensions)
        again.extensions = dict(request.extensions)
        try:
            return await self._inner.handle_async_request(again)
        finally:
            request.extensions.update(again.extensions)

    async def aclose(self) -> None:
        """Close the tape; the index serves further questions."""
        await self._inner.aclose()


async def _asked(request: httpx.Request) -> tuple[str, int] | None:
    """Return the query and the page of results asked for, ``None`` unless as JSON."""
    fields = parse_qs(request.url.query.decode("ascii", "replace"))
    if request.method == "POST":
        fields |= parse_qs((await request.aread()).decode("utf-8", "replace"))
    query, page = fields.get("q", [""])[0], fields.get("pageno", ["1"])[0]
    if fields.get("format", [""])[0] != "json" or not page.isdecimal():
        return None
    return query, min(max(int(page[:9]), 1), _MAX_PAGE)


def searxng_reply(query: str, hits: Sequence[CorpusHit]) -> bytes:
    """Return hits in the form of a SearXNG server's JSON answer."""
    results = [
        {
            "url": hit.url,
            "title": hit.title or hit.url,
            "content": hit.snippet,
            "engine": _ENGINE,
            "engines": [_ENGINE],
            "parsed_url": [*urlsplit(hit.url)[:3], "", *urlsplit(hit.url)[3:]],
            "template": "default.html",
            "category": "general",
            "positions": [place],
            "score": hit.score,
            "publishedDate": hit.date,
        }
        for place, hit in enumerate(hits, 1)
    ]
    reply: dict[str, Any] = {
        "query": query,
        "results": results,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }
    return json.dumps(reply).encode()
