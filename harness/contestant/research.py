"""The first half: from a question's text to documents.

Query, two searches in parallel, merge, choose pages, fetch them in parallel,
take out their text.  The options are not needed.  Given the same tape the
result is the same: nothing depends on which request came back first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from harness.contestant._documents import PageText, make_documents, read_page
from harness.evidence import Evidence, SearchHit
from harness.quiz import Category
from harness.settings import FetchSettings, Settings
from harness.trace import Code, Trace

if TYPE_CHECKING:
    import httpx

    from harness.web.fetch import Page
    from harness.web.merge import Merged
    from harness.web.searxng import SearchOutcome

__all__ = ["search_documents", "search_documents_async"]

_T = TypeVar("_T")


def search_documents(
    text: str,
    category: Category,
    *,
    settings: Settings,
    transport: httpx.AsyncBaseTransport,
    trace: Trace,
) -> Evidence:
    """Research a question and wait for the result; see :func:`search_documents_async`.

    May be called with or without an event loop running in this thread.  The
    work has a loop of its own, so ``transport`` must not be tied to another,
    and it is closed in the end.
    """

    async def work() -> Evidence:
        async with transport:
            return await search_documents_async(
                text, category, settings=settings, transport=transport, trace=trace
            )

    return _run(work())


async def search_documents_async(
    text: str,
    category: Category,
    *,
    settings: Settings,
    transport: httpx.AsyncBaseTransport,
    trace: Trace,
) -> Evidence:
    """Research a question's text and return what was found, best sources first.

    Of the merged hits the first ``fetch.pages`` that can be pages are read;
    where one can't be, and for all other hits, the search result's own text
    becomes a document of origin ``"snippet"``.  Whatever fails is a
    degradation in ``trace`` and never an exception; seconds go to its stages
    ``search``, ``fetch`` (network) and ``extract``, facts to its notes.

    Raises :class:`~harness.errors.SettingError` for search settings that can't
    be used.
    """
    from harness.web.domains import blocked_domains, trusted_domains
    from harness.web.fetch import fetch_pages
    from harness.web.merge import merge_hits
    from harness.web.query import build_query

    if not settings.search.enabled:
        return Evidence.none()
    query = build_query(text)
    trusted = trusted_domains(category, settings.search)
    blocked = blocked_domains(settings.search)

    outcomes = await _search(transport, query, trusted, settings, trace)
    _tell_searches(outcomes, trace)
    merged = merge_hits(
        [outcome.hits for outcome in outcomes],
        trusted=trusted,
        blocked=blocked,
        limit=settings.search.results,
    )
    _note_searches(query, outcomes, merged, trace)
    answered = any(outcome.failure is None for outcome in outcomes)
    if answered and not merged.hits:
        trace.degrade("search", Code.NO_RESULTS, "The searches found nothing that is of use.")

    chosen = _choose(merged.hits, settings.fetch.pages)
    pages = await fetch_pages(
        transport,
        [hit.url for hit in chosen],
        settings.fetch,
        language=settings.search.language,
        blocked=blocked,
    )
    if pages:
        seconds = max(page.elapsed_s for page in pages)
        trace.network("fetch", seconds, recorded=any(page.recorded for page in pages))
    texts = await _extract(pages, settings.fetch, trace)
    documents = make_documents(merged.hits, chosen, texts, trace)
    trace.note(documents=len(documents))
    if merged.hits and not documents:
        trace.degrade("extract", Code.NO_DOCUMENTS, "No page and no snippet has any text.")
    return Evidence(query, merged.hits, documents)


async def _search(
    transport: httpx.AsyncBaseTransport,
    query: str,
    trusted: Sequence[str],
    settings: Settings,
    trace: Trace,
) -> Sequence[SearchOutcome]:
    """Run the broad search and, where there are trusted sites, the restricted one."""
    from harness.web.parallel import side_by_side
    from harness.web.query import restrict_to_sites
    from harness.web.searxng import search

    if not query:
        return ()
    searches = [search(transport, "broad", query, settings.search)]
    if trusted:
        restricted = restrict_to_sites(query, trusted)
        searches.append(search(transport, "trusted", restricted, settings.search))
    outcomes = await side_by_side(searches)
    # The slowest is what was waited for; its seconds are recorded or measured.
    slowest = max(outcomes, key=lambda outcome: (outcome.elapsed_s, outcome.recorded))
    if slowest.from_index:
        trace.computed("lookup", slowest.elapsed_s)
    else:
        trace.network("search", slowest.elapsed_s, recorded=slowest.recorded)
    return outcomes


def _tell_searches(outcomes: Sequence[SearchOutcome], trace: Trace) -> None:
    all_failed = all(outcome.failure is not None for outcome in outcomes)
    for outcome in outcomes:
        if outcome.from_index:
            detail = f"{outcome.name}: not recorded, answered from the recorded pages."
            trace.degrade("search", Code.SEARCHED_CORPUS, detail)
        if outcome.failure is not None:
            # A search that failed beside one that did not is a part missing;
            # a hole in the recording is told as such in either case.
            code = outcome.code or Code.SEARCH_FAILED
            if code is Code.SEARCH_FAILED and not all_failed:
                code = Code.SEARCH_PARTIAL
            trace.degrade("search", code, f"{outcome.name}: {outcome.failure}")
        elif outcome.failed_engines:
            engines = ", ".join(outcome.failed_engines)
            detail = f"{outcome.name}: no answer from {engines}."
            trace.degrade("search", Code.SEARCH_PARTIAL, detail)
    codes = {outcome.code for outcome in outcomes}
    if not outcomes:
        trace.degrade("search", Code.SEARCH_FAILED, "The question has no words to search for.")
    elif all_failed and Code.SEARCH_FAILED not in codes:
        trace.degrade("search", Code.SEARCH_FAILED, "No search could be answered.")


def _note_searches(
    query: str, outcomes: Sequence[SearchOutcome], merged: Merged, trace: Trace
) -> None:
    trace.note(
        query=query,
        searches=[
            {
                "name": outcome.name,
                "query": outcome.query,
                "hits": len(outcome.hits),
                "failed_engines": list(outcome.failed_engines),
                "failure": outcome.failure,
                "from_index": outcome.from_index,
            }
            for outcome in outcomes
        ],
        hits=[
            {
                "url": hit.url,
                "title": hit.title,
                "date": hit.date,
                "engines": list(hit.engines),
                "queries": list(hit.queries),
                "trusted": hit.trusted,
            }
            for hit in merged.hits
        ],
        dropped=dict(merged.dropped),
    )


def _choose(hits: Sequence[SearchHit], pages: int) -> list[SearchHit]:
    """Return the hits to read; a PDF or an answer without an address takes no place."""
    from harness.web.domains import unreadable_kind

    readable = [hit for hit in hits if hit.url and unreadable_kind(hit.url) is None]
    return readable[:pages]


async def _extract(
    pages: Sequence[Page], settings: FetchSettings, trace: Trace
) -> Sequence[PageText]:
    from harness.web.extract import shared_extractor

    if not pages:
        return ()
    extractor = shared_extractor()
    loop = asyncio.get_running_loop()
    texts = []
    with trace.stage("extract"):
        for page in pages:
            job = loop.run_in_executor(None, read_page, page, settings, extractor)
            try:
                texts.append(await asyncio.shield(job))
            except asyncio.CancelledError:
                extractor.interrupt()  # or leaving would wait until the page is done
                raise
    return texts


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
