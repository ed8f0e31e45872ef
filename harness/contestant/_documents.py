"""From fetched pages to documents, with the story of each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.evidence import Document, SearchHit
from harness.settings import FetchSettings
from harness.trace import Code, Trace

if TYPE_CHECKING:
    from harness.web.extract import Extraction, Extractor
    from harness.web.fetch import Page

__all__ = ["PageText", "make_documents", "read_page"]

# Less is a menu entry or "enable JavaScript": the snippet says more.
_LEAST_CHARS = 40


@dataclass(frozen=True, slots=True)
class PageText:
    """A fetched page and its text, or why there is none."""

    page: Page
    extraction: Extraction | None
    charset: str | None


def read_page(page: Page, settings: FetchSettings, extractor: Extractor) -> PageText:
    """Decode a page and take its main text out, waiting for it; failures are kept as words."""
    from harness.web.reading import read_text

    if page.failure is not None:
        return PageText(page, None, None)
    reading = read_text(
        page.body,
        page.content_type,
        plain=page.plain,
        url=page.final_url,
        extractor=extractor,
        keep_chars=settings.keep_chars,
        timeout_s=settings.extract_timeout_s,
    )
    extraction = reading.extraction
    if extraction.text is not None and reading.found_chars < _LEAST_CHARS:
        extraction = replace(extraction, text=None, failure="hardly any text was found")
    return PageText(page, extraction, reading.charset)


def make_documents(
    hits: Sequence[SearchHit],
    chosen: Sequence[SearchHit],
    texts: Sequence[PageText],
    trace: Trace,
) -> tuple[Document, ...]:
    """Return one document per source, in the order of the hits.

    ``texts`` belong to ``chosen``, one to one.  Degradations and the facts
    ``pages`` go to ``trace``.
    """
    from harness.web.merge import url_key

    by_rank = {hit.rank: text for hit, text in zip(chosen, texts, strict=True)}
    documents: list[Document] = []
    notes: list[dict[str, Any]] = []
    seen: set[str] = set()
    for hit in hits:
        read = by_rank.get(hit.rank)
        document = _from_page(hit, read, trace) if read is not None else None
        # Two hits may lead to one page by redirects; its text counts once.
        key = url_key(document.url) if document is not None else ""
        double = document is not None and key in seen
        seen.add(key)
        if document is None:
            document = _from_snippet(hit)
            if read is not None and document is not None:
                trace.degrade("extract", Code.SNIPPET_USED, hit.url)
        if document is not None and not double:
            documents.append(document)
        if read is not None:
            notes.append(_page_note(read, None if double else document))
    trace.note(pages=notes)
    return tuple(documents)


def _from_page(hit: SearchHit, read: PageText, trace: Trace) -> Document | None:
    page, extraction = read.page, read.extraction
    if page.failure is not None or extraction is None:
        code = page.code or Code.PAGE_FAILED
        trace.degrade("fetch", code, f"{hit.url} {page.failure}.")
        return None
    if page.truncated or extraction.cut:
        trace.degrade("fetch", Code.PAGE_CUT, f"{hit.url} was longer than is read.")
    if extraction.text is None:
        trace.degrade("extract", Code.EXTRACT_FAILED, f"{hit.url}: {extraction.failure}.")
        return None
    return Document(
        url=page.final_url,
        title=extraction.title or hit.title,
        text=extraction.text,
        origin="page",
        date=extraction.date or hit.date,
        language=extraction.language,
        trusted=hit.trusted,
        rank=hit.rank,
    )


def _from_snippet(hit: SearchHit) -> Document | None:
    if not hit.snippet:
        return None
    return Document(
        url=hit.url,
        title=hit.title,
        text=hit.snippet,
        origin="snippet",
        date=hit.date,
        trusted=hit.trusted,
        rank=hit.rank,
    )


def _page_note(read: PageText, document: Document | None) -> dict[str, Any]:
    page = read.page
    return {
        "url": page.url,
        "final_url": page.final_url,
        "redirects": page.redirects,
        "status": page.status,
        "bytes": len(page.body),
        "charset": read.charset,
        "failure": page.failure or (read.extraction.failure if read.extraction else None),
        "origin": document.origin if document is not None else None,
        "chars": len(document.text) if document is not None else 0,
        "date": document.date if document is not None else None,
        "language": document.language if document is not None else None,
    }
