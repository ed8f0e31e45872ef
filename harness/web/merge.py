"""Two result lists into one: no doubles, nothing unsuitable, trusted sites first.

Pure and deterministic: ties are broken by the address, never by the order in
which searches came back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from harness.evidence import SearchHit
from harness.web.domains import host_of, in_domains, unsuitable_kind

__all__ = ["Merged", "merge_hits", "url_key"]

# Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) with its usual constant.
_RRF_K = 60
_ANY = "surrogatepass"  # half a character has a key of its own too
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING = frozenset(
    {
        "fbclid",
        "gclid",
        "dclid",
        "gbraid",
        "wbraid",
        "msclkid",
        "yclid",
        "igshid",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "ref_src",
        "cmpid",
        "ns_campaign",
        "at_campaign",
        "at_medium",
        "_ga",
        "_gl",
    }
)


@dataclass(frozen=True, slots=True)
class Merged:
    """Hits in their final order, ranks set, and how many of what kind were dropped."""

    hits: tuple[SearchHit, ...]
    dropped: Mapping[str, int]


def url_key(url: str) -> str:
    """Return what identifies the page behind ``url``; equal keys are one page.

    Key material: host, port unless it is the scheme's own, path and query with
    sorted parameters.  Left out: the scheme (http and https serve the same
    page), a leading ``www.``, the fragment, a trailing slash and parameters
    that only track the reader.  An address that can't be parsed is its own key.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    host = host_of(url).removeprefix("www.")
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme.lower()):
        host = f"{host}:{port}"
    path = quote(unquote(parts.path), safe="/~:@!$&'()*+,;=", errors=_ANY)
    pairs = sorted(parse_qsl(_untracked(parts.query), keep_blank_values=True))
    path = path.rstrip("/")
    return f"{host}{path}?{urlencode(pairs, errors=_ANY)}" if pairs else f"{host}{path}"


def _untracked(query: str) -> str:
    """Return a query without parameters that only track the reader, else unchanged."""
    kept = []
    for pair in query.split("&"):
        name = unquote(pair.partition("=")[0]).lower()
        if not name.startswith("utm_") and name not in _TRACKING:
            kept.append(pair)
    return "&".join(kept)


def _plain_address(url: str) -> str:
    """Return the address to ask for: without tracking and fragment, else unchanged."""
    try:
        parts = urlsplit(url)
        return urlunsplit(parts._replace(query=_untracked(parts.query), fragment=""))
    except ValueError:
        return url


def merge_hits(
    lists: Sequence[Sequence[SearchHit]],
    *,
    trusted: Iterable[str],
    blocked: Mapping[str, tuple[str, ...]],
    limit: int,
) -> Merged:
    """Merge result lists, best first, keeping at most ``limit`` hits.

    Order: trusted sites, then by reciprocal-rank score over the lists, then by
    best place in any list, then by :func:`url_key`.  Of doubles the longer
    title and snippet and the first date are kept, and the engines and queries
    of all.  Addresses lose their fragment and tracking parameters.
    """
    domains = tuple(trusted)
    found: dict[str, SearchHit] = {}
    score: dict[str, float] = {}
    best: dict[str, int] = {}
    dropped: Counter[str] = Counter()
    for hits in lists:
        seen: set[str] = set()
        for place, hit in enumerate(hits):
            kind = unsuitable_kind(hit.url, blocked)
            if kind is not None:
                dropped[kind] += 1
                continue
            # An answer without an address is known by its text.
            key = url_key(hit.url) if hit.url else f"?{hit.snippet}"
            if key in found:
                found[key] = _joined(found[key], hit)
            else:
                found[key] = replace(hit, url=_plain_address(hit.url))
            best[key] = min(place, best.get(key, place))
            if key not in seen:  # a list votes once for a page
                score[key] = score.get(key, 0.0) + 1 / (_RRF_K + place)
                seen.add(key)
    marked = {
        key: replace(hit, trusted=in_domains(host_of(hit.url), domains))
        for key, hit in found.items()
    }
    order = sorted(marked, key=lambda key: (not marked[key].trusted, -score[key], best[key], key))
    ranked = tuple(replace(marked[key], rank=rank) for rank, key in enumerate(order[:limit]))
    return Merged(ranked, dict(sorted(dropped.items())))


def _joined(first: SearchHit, second: SearchHit) -> SearchHit:
    return replace(
        first,
        title=max(first.title, second.title, key=len),
        snippet=max(first.snippet, second.snippet, key=len),
        date=first.date or second.date,
        engines=tuple(dict.fromkeys(first.engines + second.engines)),
        queries=tuple(dict.fromkeys(first.queries + second.queries)),
    )
