"""Fetching pages: redirects by hand, one time limit for all hops, text only.

Each hop is a request of its own on the tape, so a redirect chain replays hop
by hop, and each hop's address is looked at before it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from harness.errors import CorpusDamagedError, CorpusMissError
from harness.settings import FetchSettings
from harness.trace import Code
from harness.web.domains import unsuitable_kind

if TYPE_CHECKING:
    import httpx

    from harness.web._exchange import Exchange

__all__ = ["Page", "content_kind", "fetch_page", "fetch_pages"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain", "text/markdown"})
# Types that servers give to anything: then the bytes decide.
_VAGUE_TYPES = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/xml", "text/xml"}
)
_MAGIC = (
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\x00", "an image"),
    (b"RIFF", "an image, sound or video"),
    (b"\x00\x00\x00\x18ftyp", "a video"),
    (b"\x00\x00\x00\x20ftyp", "a video"),
    (b"\x1aE\xdf\xa3", "a video"),
    (b"ID3", "sound"),
    (b"OggS", "sound or video"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x1f\x8b", "an archive"),
    (b"7z\xbc\xaf", "an archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
)
_SNIFF_BYTES = 1_024
# Less than this is not worth asking for.
_LEAST_S = 0.001


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it came, or the reason why it did not.

    ``final_url`` is where the redirects led.  ``failure`` holds a few words
    without anything measured, and ``code`` its kind.  ``truncated`` says that
    only the first bytes were kept.  ``elapsed_s`` sums the network seconds of
    all hops; ``recorded`` says that at least one came out of a corpus.
    """

    url: str
    final_url: str
    status: int | None = None
    content_type: str = ""
    plain: bool = False
    body: bytes = b""
    truncated: bool = False
    redirects: int = 0
    failure: str | None = None
    code: Code | None = None
    elapsed_s: float = 0.0
    recorded: bool = False


async def fetch_pages(
    transport: httpx.AsyncBaseTransport,
    urls: Sequence[str],
    settings: FetchSettings,
    *,
    language: str,
    blocked: Mapping[str, tuple[str, ...]],
) -> tuple[Page, ...]:
    """Fetch pages in parallel; the result is in the order of ``urls``.

    ``language`` goes into ``Accept-Language``; ``blocked`` are the domains, by
    kind, that a redirect may not lead to.
    """
    from harness.web.parallel import side_by_side

    jobs = [
        fetch_page(transport, url, settings, language=language, blocked=blocked) for url in urls
    ]
    return tuple(await side_by_side(jobs))


async def fetch_page(
    transport: httpx.AsyncBaseTransport,
    url: str,
    settings: FetchSettings,
    *,
    language: str,
    blocked: Mapping[str, tuple[str, ...]],
) -> Page:
    """Fetch one page, following redirects; failures are values, not raised."""
    import httpx

    spent_s, recorded, seen = 0.0, False, set[str]()
    current = url
    for hop in range(settings.max_redirects + 1):
        page = _Progress(url, current, hop, spent_s, recorded)
        try:
            address = httpx.URL(current).copy_with(fragment=None)
        except (httpx.InvalidURL, ValueError):
            return page.failed("has an address that can't be read")
        reason = _unwelcome(address, settings, blocked)
        if reason is not None:
            return page.failed(reason)
        if str(address) in seen:
            return page.failed("redirects in a circle")
        seen.add(str(address))
        left_s = settings.timeout_s - spent_s
        if left_s < _LEAST_S:
            return page.failed("timed out")
        sent = await _ask(transport, address, left_s, settings, language)
        spent_s, recorded = spent_s + sent.elapsed_s, recorded or sent.recorded
        page = _Progress(url, str(address), hop, spent_s, recorded)
        if sent.status not in _REDIRECTS or not sent.location:
            return page.finished(sent)
        try:
            current = str(address.join(sent.location))
        except (httpx.InvalidURL, ValueError):
            return page.failed("redirects to an address that can't be read", sent)
    return page.failed(f"redirects more than {settings.max_redirects} times", sent)


def content_kind(content_type: str, body: bytes) -> tuple[bool, str | None]:
    """Return whether a body is plain text, and what it is if it is no text at all.

    The declared type counts unless it is missing or vague, and never against
    the bytes: a PDF that is served as HTML is a PDF.
    """
    declared = content_type.partition(";")[0].strip().lower()
    head = body[:_SNIFF_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind is not None:
        return False, kind
    utf_16 = body[:2] in (b"\xff\xfe", b"\xfe\xff") or "utf-16" in content_type.lower()
    if head.count(b"\x00") > len(head) // 100 and not utf_16:
        return False, "a binary file"
    if declared in _TEXT_TYPES:
        return declared in ("text/plain", "text/markdown"), None
    if declared in _VAGUE_TYPES:
        looks_html = b"<" in head and any(
            tag in head.lower() for tag in (b"<html", b"<!doctype html", b"<body", b"<p", b"<div")
        )
        if looks_html or declared in ("", "application/octet-stream", "binary/octet-stream"):
            return not looks_html, None
    return False, f"no page of text ({declared[:60] or 'unknown type'})"


@dataclass(frozen=True, slots=True)
class _Progress:
    """What is known of a page after some hops."""

    url: str
    final_url: str
    redirects: int
    elapsed_s: float
    recorded: bool

    def failed(
        self, failure: str, sent: Exchange | None = None, code: Code = Code.PAGE_FAILED
    ) -> Page:
        return Page(
            self.url,
            self.final_url,
            status=sent.status if sent else None,
            content_type=sent.content_type if sent else "",
            redirects=self.redirects,
            failure=failure,
            code=code,
            elapsed_s=self.elapsed_s,
            recorded=self.recorded,
        )

    def finished(self, sent: Exchange) -> Page:
        from harness.web._exchange import failure_words

        if isinstance(sent.error, CorpusMissError):
            return self.failed("is not in the recording", code=Code.NOT_RECORDED)
        if isinstance(sent.error, CorpusDamagedError):
            return self.failed("is damaged in the recording", code=Code.CORPUS_DAMAGED)
        if sent.error is not None or sent.status is None:
            return self.failed(failure_words(sent.error) if sent.error else "sent nothing")
        if not 200 <= sent.status < 300:
            return self.failed(f"answered {_status_words(sent.status)}", sent)
        if not sent.body.strip():
            return self.failed("is empty", sent)
        plain, kind = content_kind(sent.content_type, sent.body)
        if kind is not None:
            return self.failed(f"is {kind}", sent)
        return Page(
            self.url,
            self.final_url,
            sent.status,
            sent.content_type,
            plain,
            sent.body,
            sent.truncated,
            self.redirects,
            elapsed_s=self.elapsed_s,
            recorded=self.recorded,
        )


def _unwelcome(
    address: httpx.URL, settings: FetchSettings, blocked: Mapping[str, tuple[str, ...]]
) -> str | None:
    from harness.web.guard import refusal

    reason = refusal(address, settings.allow_hosts)
    if reason is not None:
        return reason
    kind = unsuitable_kind(str(address), blocked)
    return f"leads to a site of an unsuitable kind ({kind})" if kind else None


async def _ask(
    transport: httpx.AsyncBaseTransport,
    address: httpx.URL,
    left_s: float,
    settings: FetchSettings,
    language: str,
) -> Exchange:
    import httpx

    from harness.corpus import RequestPolicy
    from harness.web._exchange import accept_language, exchange

    headers = {
        "Accept": "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.8,*/*;q=0.1",
        "Accept-Language": accept_language(language),
    }
    policy = RequestPolicy(provider="page", total_s=left_s, max_bytes=settings.max_bytes)
    return await exchange(transport, httpx.Request("GET", address, headers=headers), policy)


def _status_words(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
