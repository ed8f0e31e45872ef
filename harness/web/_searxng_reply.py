"""Reading a SearXNG reply: every field is untrusted.

A field may be absent, of another type, or in the older form where answers are
plain texts; whatever can't be read is left out.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.errors import SearchFailedError
from harness.evidence import SearchHit
from harness.web.domains import host_of

__all__ = ["parse_reply", "plain_text"]

_MAX_HITS = 50
_TITLE_CHARS = 300
_SNIPPET_CHARS = 2_000
_ISO_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}")
_SPACE = re.compile(r"\s+")
# JSON may hold half a character, which no address, file or terminal can.
_SURROGATE = re.compile("[\ud800-\udfff]")
# No character has a number this long, and Python refuses to read the longest.
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,};?")
_FAILED_SHOWN = 5
# Only the mark-up that engines use for highlighting: "a < b > c" must survive.
_MARKUP = re.compile(r"</?(?:b|strong|em|i|mark|span|br|p)(?:\s[^<>]*)?/?>", re.IGNORECASE)


def parse_reply(body: bytes, name: str) -> tuple[tuple[SearchHit, ...], tuple[str, ...]]:
    """Return hits, best first, and the engines that failed, out of a reply's body.

    Answers and infoboxes come before the results.  Raises
    :class:`~harness.errors.SearchFailedError` when the body is no such reply,
    or when nothing was found because engines failed.
    """
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        raise SearchFailedError("The search server sent JSON that can't be read.") from None
    if not isinstance(reply, dict) or not isinstance(reply.get("results"), list):
        raise SearchFailedError(
            "The search server answered with JSON that is no search reply.",
            remedy="Is it a SearXNG server?",
        )
    hits = [*_answers(reply, name), *_infoboxes(reply, name), *_results(reply, name)][:_MAX_HITS]
    failed = tuple(dict.fromkeys(_unresponsive(reply)))
    if not hits and failed:
        raise SearchFailedError(
            f"Every engine of the search server failed: {_named(failed)}.",
            remedy="Wait until it tries them again, or enable others in its settings.yml.",
        )
    return tuple(hits), failed


def _named(engines: Sequence[str]) -> str:
    """Return the first few names and how many more there are."""
    named = ", ".join(engines[:_FAILED_SHOWN])
    more = len(engines) - _FAILED_SHOWN
    return f"{named} and {more} more" if more > 0 else named


def _objects(reply: Mapping[str, Any], field: str) -> Iterator[dict[str, Any]]:
    values = reply.get(field)
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))


def _results(reply: Mapping[str, Any], name: str) -> Iterator[SearchHit]:
    for result in _objects(reply, "results"):
        url = _address(result.get("url"))
        if url:
            yield SearchHit(
                url=url,
                title=plain_text(result.get("title"), _TITLE_CHARS),
                snippet=plain_text(result.get("content"), _SNIPPET_CHARS),
                date=_date(result.get("publishedDate")) or _date(result.get("pubdate")),
                engines=_engines(result),
                queries=(name,),
            )


def _answers(reply: Mapping[str, Any], name: str) -> Iterator[SearchHit]:
    """Yield instant answers: plain texts on older servers, objects on newer ones."""
    values = reply.get("answers")
    for value in values if isinstance(values, list) else ():
        answer = {"answer": value} if isinstance(value, str) else value
        if not isinstance(answer, dict):
            continue
        text = plain_text(answer.get("answer"), _SNIPPET_CHARS)
        if text:
            url = _address(answer.get("url"))
            title = plain_text(answer.get("title"), _TITLE_CHARS) or "Instant answer"
            yield SearchHit(url, title, text, engines=_engines(answer), queries=(name,))


def _infoboxes(reply: Mapping[str, Any], name: str) -> Iterator[SearchHit]:
    for box in _objects(reply, "infoboxes"):
        links = [_address(link.get("url")) for link in _objects(box, "urls")]
        url = next(filter(None, [_address(box.get("id")), *links]), "")
        facts = [
            f"{plain_text(fact.get('label'), 100)}: {plain_text(fact.get('value'), 300)}"
            for fact in _objects(box, "attributes")
            if plain_text(fact.get("label"), 100) and plain_text(fact.get("value"), 300)
        ]
        lead = plain_text(box.get("content"), _SNIPPET_CHARS)
        snippet = " ".join(filter(None, [lead, "; ".join(facts)]))[:_SNIPPET_CHARS]
        if url or snippet:
            title = plain_text(box.get("infobox"), _TITLE_CHARS)
            yield SearchHit(url, title, snippet, engines=_engines(box), queries=(name,))


def _unresponsive(reply: Mapping[str, Any]) -> Iterator[str]:
    values = reply.get("unresponsive_engines")
    for value in values if isinstance(values, list) else ():
        first = value[0] if isinstance(value, list) and value else value
        name = plain_text(first, 60) if isinstance(first, str) else ""
        yield name or "an engine"


def _engines(result: Mapping[str, Any]) -> tuple[str, ...]:
    several = result.get("engines")
    names = several if isinstance(several, list) else [result.get("engine")]
    return tuple(sorted({plain_text(name, 60) for name in names} - {""}))


def _address(value: object) -> str:
    """Return ``value`` if it is the http or https address of a page, else ``""``."""
    if not isinstance(value, str) or len(value) > 2_000 or _SURROGATE.search(value):
        return ""
    url = value.strip()
    scheme = url.partition(":")[0].lower()
    return url if scheme in ("http", "https") and host_of(url) else ""


def _date(value: object) -> str | None:
    """Return a date as given, cut to the day where it is an ISO one."""
    text = plain_text(value, 40)
    iso = _ISO_DATE.match(text)
    return iso.group() if iso else text or None


def plain_text(value: object, limit: int) -> str:
    """Return a text without mark-up on one line, ``""`` for anything but a text."""
    if not isinstance(value, str):
        return ""
    # Bounded before any regular expression sees it.
    bounded = _LONG_REFERENCE.sub("\ufffd", _MARKUP.sub("", value[: 4 * limit]))
    plain = html.unescape(bounded)
    return _SPACE.sub(" ", plain.encode("utf-8", "replace").decode()).strip()[:limit]
