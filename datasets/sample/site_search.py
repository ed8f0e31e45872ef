"""A search over the sample web that answers the way a SearXNG server does.

Two made-up engines rank the same pages differently (one reads whole pages, one
mostly titles) and each misjudges some pages by a fixed amount, so the lists
are as imperfect as real ones but always the same.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from site_pages import Page

ENGINES = ("lantern", "magpie")
PER_PAGE = 10
# A page must hold words that carry this share of the query's weight.
_COVERAGE = 0.25
_WORD = re.compile(r"\w+")
_SITE = re.compile(r"\bsite:([\w.-]+)", re.IGNORECASE)
_SHOW_WORDS = frozenset(
    {"actor", "album", "band", "concert", "festival", "film", "movie", "opera", "song", "theatre"}
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, plural endings dropped."""
    found = (word.casefold() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Engines that fail, with their messages, on queries that hold all of ``query``."""

    query: str
    dead: tuple[tuple[str, str], ...]

    def meets(self, terms: set[str]) -> bool:
        return terms.issuperset(words(self.query))


# When all these words are in a query, these engines fail to answer it; with a
# restriction to sites the first table is looked at before the second.
_SITE_FAULTS: tuple[_Fault, ...] = (
    _Fault("rosetta stone", (("lantern", "Suspended: access denied"), ("magpie", "timeout"))),
)
_FAULTS: tuple[_Fault, ...] = (
    _Fault("mohs hardness", (("magpie", "timeout"),)),
    _Fault("turandot", (("lantern", "too many requests"),)),
)


def noise(*parts: str) -> float:
    """Return a number in [0, 1) that depends on nothing but ``parts``."""
    digest = hashlib.sha256("\n".join(parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


@dataclass(frozen=True, slots=True)
class _Indexed:
    page: Page
    counts: Counter[str]
    length: int


class SiteSearch:
    """An index over pages; :meth:`reply` is one search."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._docs = [self._index(page) for page in pages]
        self._mean = sum(doc.length for doc in self._docs) / max(1, len(self._docs))
        holding = Counter(term for doc in self._docs for term in doc.counts)
        self._idf = {
            term: math.log(1 + (len(self._docs) - n + 0.5) / (n + 0.5))
            for term, n in holding.items()
        }

    @staticmethod
    def _index(page: Page) -> _Indexed:
        terms = words(page.title) * 2 + words(page.text)
        return _Indexed(page, Counter(terms), len(terms))

    def _score(self, doc: _Indexed, terms: Sequence[str]) -> float:
        norm = 1.2 * (0.25 + 0.75 * doc.length / self._mean)
        return sum(
            self._idf[term] * doc.counts[term] * 2.2 / (doc.counts[term] + norm) for term in terms
        )

    def rank(self, engine: str, text: str, sites: Sequence[str] = ()) -> list[Page]:
        """Return up to 10 pages in one engine's order (ties by address)."""
        terms = sorted({term for term in words(text) if term in self._idf})
        needed = _COVERAGE * sum(self._idf[term] for term in terms)
        scored: list[tuple[float, str, Page]] = []
        for doc in self._docs:
            page = doc.page
            if sites and not any(_is_under(page.host, site) for site in sites):
                continue
            held = [term for term in terms if term in doc.counts]
            if not held or sum(self._idf[term] for term in held) < needed:
                continue
            score = self._score(doc, held)
            if engine == "magpie":
                in_title = set(words(page.title)).intersection(terms)
                score = 0.6 * score + sum(self._idf[term] for term in in_title)
            score *= 0.8 + 0.4 * noise(engine, page.url, " ".join(terms))
            scored.append((-score, page.url, page))
        scored.sort(key=lambda item: item[:2])
        return [page for _, _, page in scored[:PER_PAGE]]

    def reply(self, query: str, pageno: int = 1) -> dict[str, Any]:
        """Return the JSON document that answers ``query``."""
        sites = _SITE.findall(query)
        text = re.sub(r"\b(?:OR|AND)\b|[()]", " ", _SITE.sub(" ", query))
        terms = set(words(text))
        dead = _failing(terms, restricted=bool(sites))
        places: dict[str, dict[str, int]] = {}
        pages: dict[str, Page] = {}
        for engine in ENGINES:
            if engine in dict(dead):
                continue
            for place, page in enumerate(self.rank(engine, text, sites), start=1):
                places.setdefault(page.url, {})[engine] = place
                pages[page.url] = page
        results = [self._result(pages[url], terms, found) for url, found in places.items()]
        if not sites and len(dead) < len(ENGINES):
            results.extend(_elsewhere(text.strip(), terms))
        results.sort(key=lambda result: (-result["score"], result["url"]))
        start = (pageno - 1) * PER_PAGE
        return {
            "query": query,
            "results": results[start : start + PER_PAGE],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [list(pair) for pair in dead],
        }

    def _result(self, page: Page, terms: set[str], places: dict[str, int]) -> dict[str, Any]:
        # Museums and encyclopaedias rarely tell a search engine their date.
        dated = page.template in ("newspaper", "blog", "government") and page.date is not None
        return _result(
            url=page.url,
            title=page.title,
            content=self.snippet(page.text, terms),
            places=places,
            date=page.date if dated else None,
        )

    def snippet(self, text: str, terms: set[str], size: int = 200) -> str:
        """Return about ``size`` characters of ``text`` where most of ``terms`` stand."""
        starts = [match.start() for match in re.finditer(r"\S+", text)]
        best, best_value = 0, -1.0
        for start in starts[::4]:
            inside = terms.intersection(words(text[start : start + size]))
            value = sum(self._idf.get(term, 0.0) for term in inside)
            if value > best_value + 1e-9:
                best, best_value = start, value
        end = best + size
        if end >= len(text):
            return ("… " if best else "") + text[best:]
        cut = text[best:end].rpartition(" ")[0]
        return ("… " if best else "") + cut + " …"


def _is_under(host: str, site: str) -> bool:
    site = site.casefold()
    return host == site or host.endswith(f".{site}")


def _failing(terms: set[str], *, restricted: bool) -> tuple[tuple[str, str], ...]:
    tables = _SITE_FAULTS + _FAULTS if restricted else _FAULTS
    return next((fault.dead for fault in tables if fault.meets(terms)), ())


def _result(
    *, url: str, title: str, content: str, places: dict[str, int], date: str | None
) -> dict[str, Any]:
    parts = urlsplit(url)
    positions = list(places.values())
    return {
        "template": "default.html",
        "title": title,
        "content": content,
        "img_src": "",
        "iframe_src": "",
        "audio_src": "",
        "thumbnail": "",
        "publishedDate": f"{date}T00:00:00" if date else None,
        "pubdate": f"{date} 00:00:00" if date else "",
        "length": None,
        "views": "",
        "author": "",
        "metadata": "",
        "priority": "",
        "engines": list(places),
        "open_group": False,
        "close_group": False,
        "positions": positions,
        "score": round(sum(len(positions) / place for place in positions), 6),
        "category": "general",
        "url": url,
        "engine": next(iter(places)),
        "parsed_url": [parts.scheme, parts.netloc, parts.path, "", parts.query, ""],
    }


def _elsewhere(text: str, terms: set[str]) -> list[dict[str, Any]]:
    """Return entries for video and question-and-answer sites, for a query on shows.

    They exist only in result lists: no page is ever served under these names.
    """
    if not terms & _SHOW_WORDS:
        return []
    code = hashlib.sha256(text.encode()).hexdigest()
    entries = [
        (f"https://www.youtube.com/watch?v={code[:11]}", f"{text} (video)", 3),
        (f"https://www.quora.com/unanswered/{code[:12]}", f"{text}?", 5),
        (f"https://www.reddit.com/r/sample/comments/{code[:7]}/", f"{text}, anyone?", 8),
    ]
    return [
        _result(
            url=url,
            title=title,
            content="Watch, comment and share: results for what you were looking for.",
            places={"magpie": place},
            date=None,
        )
        for url, title, place in entries
    ]
