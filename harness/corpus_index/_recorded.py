"""From recordings to texts: which pages are indexed, and what is read of them.

The text is taken out as research takes it out, in processes that can be
killed, so what is found here is what a replay reads.
"""

from __future__ import annotations

import hashlib
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from harness.corpus import Corpus, read_recording
from harness.corpus_index._values import FORMAT, PageText
from harness.machine import cores
from harness.settings import FetchSettings

if TYPE_CHECKING:
    from harness.corpus import Entry
    from harness.web.extract import Extractor

__all__ = ["Reader", "read_pages", "text_identity"]

# What research keeps of a page unless it is told otherwise.
KEEP_CHARS: Final[int] = FetchSettings.model_fields["keep_chars"].default
_FORMAT_CHARS: Final = 12_000  # what FORMAT stands for; any other number is named beside it
_TIMEOUT_S: Final = 30.0
_LEAST_CHARS: Final = 40
_MAX_WORKERS: Final = 4
# Starting a process costs about as much as reading this many pages.
_PAGES_PER_WORKER: Final = 40


def text_identity() -> str:
    """Return what decides which text a page gives: our format and the extracting libraries."""
    from importlib.metadata import version

    libraries = ("charset-normalizer", "lxml", "trafilatura")
    kept = [f"{KEEP_CHARS} characters"] if KEEP_CHARS != _FORMAT_CHARS else []
    return "; ".join([FORMAT, *kept, *(f"{name} {version(name)}" for name in libraries)])


class Reader:
    """Takes the text out of pages, several at once; its processes end with it."""

    def __init__(self, pages: int) -> None:
        """Prepare for about ``pages`` pages; processes start when the first page comes."""
        from harness.web.extract import Extractor

        wanted = min(_MAX_WORKERS, cores(), 1 + pages // _PAGES_PER_WORKER)
        self._extractors = [Extractor() for _ in range(wanted)]
        self._free: queue.SimpleQueue[Extractor] = queue.SimpleQueue()
        for extractor in self._extractors:
            self._free.put(extractor)
        self._pool = ThreadPoolExecutor(wanted, thread_name_prefix="hotseat-read")

    def read(self, recordings: Sequence[tuple[Entry, bytes]]) -> list[PageText]:
        """Return the text of recorded pages, in their order."""
        return list(self._pool.map(self._one, recordings))

    def _one(self, recording: tuple[Entry, bytes]) -> PageText:
        extractor = self._free.get()
        try:
            return _page_text(*recording, extractor)
        finally:
            self._free.put(extractor)

    def close(self) -> None:
        """End the processes, also in the middle of a page."""
        for extractor in self._extractors:
            extractor.interrupt()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for extractor in self._extractors:
            extractor.close()


@contextmanager
def read_pages(pages: int) -> Iterator[Reader]:
    """Give a reader for about ``pages`` pages."""
    reader = Reader(pages)
    try:
        yield reader
    finally:
        reader.close()


def is_page(entry: Entry) -> bool:
    """Whether a recording is a page that arrived, as opposed to a search or a failure."""
    return (
        entry.request.provider == "page"
        and entry.request.method == "GET"
        and entry.status is not None
        and 200 <= entry.status < 300
    )


def load(corpus: Corpus, key: str, ordinal: int) -> tuple[Entry, bytes] | None:
    """Return a recording that is a page, ``None`` for all others."""
    found = read_recording(corpus, key, ordinal)
    return found if found is not None and is_page(found[0]) else None


def source_of(entry: Entry) -> str:
    """Return what names the bytes, and the reading of them, that a page's text comes from."""
    kind = dict(entry.headers).get("content-type", "")
    text = f"{entry.body_sha256}\n{kind}\n{entry.request.url}"
    return hashlib.sha256(text.encode()).hexdigest()


def _page_text(entry: Entry, body: bytes, extractor: Extractor) -> PageText:
    from harness.web.fetch import content_kind
    from harness.web.reading import read_text

    request = entry.request
    title, text, date, failure = "", "", None, None
    content_type = dict(entry.headers).get("content-type", "")
    plain, kind = content_kind(content_type, body)
    if kind is not None:
        failure = f"is {kind}"
    else:
        found = read_text(
            body,
            content_type,
            plain=plain,
            url=request.url,
            extractor=extractor,
            keep_chars=KEEP_CHARS,
            timeout_s=_TIMEOUT_S,
        ).extraction
        title, date, failure = found.title, found.date, found.failure
        text = found.text or ""
    if failure is None and len(text) < _LEAST_CHARS:
        failure = "hardly any text was found"
    return PageText(
        key=request.sha256,
        source=source_of(entry),
        url=request.url,
        accept_language=request.accept_language,
        title=_clean(" ".join(title.split())),
        text="" if failure else _clean(text),
        date=_clean(date) if date else None,
        failure=failure,
    )


def _clean(text: str) -> str:
    """Replace what no file can hold: halves of characters, and NULs."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
