"""A request that was not recorded: which recorded one is nearest, and how it differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern
from urllib.parse import parse_qsl, urlsplit

from harness.corpus._key import RequestKey

__all__ = ["Recorded", "differences", "nearest"]


class Recorded:
    """The distinct recorded requests, kept small: a corpus may hold very many."""

    def __init__(self, requests: Iterable[RequestKey]) -> None:
        """Take in ``requests``, equal ones following each other."""
        self._parts: list[tuple[str, str, str, str, str | None]] = []
        for one in requests:
            parts = (
                intern(one.provider),
                intern(one.method),
                one.url,
                intern(one.accept_language),
                one.body_sha256,
            )
            if not self._parts or self._parts[-1] != parts:
                self._parts.append(parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[RequestKey]:
        return (RequestKey(*parts) for parts in self._parts)

    def akin(self, wanted: RequestKey) -> Iterator[RequestKey]:
        """Yield all that may share provider and host or path with ``wanted``, in their order."""
        split = urlsplit(wanted.url)
        for parts in self._parts:
            if parts[0] == wanted.provider and (split.netloc in parts[2] or split.path in parts[2]):
                yield RequestKey(*parts)


def nearest(wanted: RequestKey, recorded: Iterable[RequestKey]) -> tuple[RequestKey | None, str]:
    """Return the recorded request most like ``wanted`` and the part that differs.

    ``(None, "")`` when none shares its provider and either host or path.
    Equally near ones are told apart by their canonical text.
    """
    best: tuple[float, str, RequestKey] | None = None
    for candidate in recorded:
        cost = _cost(wanted, candidate)
        if cost is None or (best and cost > best[0]):
            continue
        rank = (cost, candidate.canonical, candidate)
        if best is None or rank[:2] < best[:2]:
            best = rank
    if best is None:
        return None, ""
    return best[2], " and ".join(differences(wanted, best[2]))


def differences(one: RequestKey, other: RequestKey) -> list[str]:
    """Return the names of the parts in which two requests differ."""
    found = []
    left, right = urlsplit(one.url), urlsplit(other.url)
    if one.method != other.method:
        found.append("method")
    if one.provider != other.provider:
        found.append("provider")
    elif (left.scheme, left.netloc) != (right.scheme, right.netloc):
        found.append("host" if left.netloc != right.netloc else "scheme")
    if left.path != right.path:
        found.append("path")
    found.extend(f"query parameter '{name}'" for name in _changed(left.query, right.query))
    if one.accept_language != other.accept_language:
        found.append("Accept-Language")
    if one.body_sha256 != other.body_sha256:
        found.append("body")
    return found


def _changed(left: str, right: str) -> list[str]:
    ours, theirs = _by_name(left), _by_name(right)
    return [name for name in sorted(ours | theirs) if ours.get(name) != theirs.get(name)]


def _by_name(query: str) -> dict[str, list[str]]:
    pairs: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        pairs.setdefault(name, []).append(value)
    return pairs


def _cost(wanted: RequestKey, candidate: RequestKey) -> float | None:
    """Return how far two requests are apart, ``None`` when they have nothing in common."""
    if wanted.provider != candidate.provider:
        return None
    left, right = urlsplit(wanted.url), urlsplit(candidate.url)
    same_host, same_path = left.netloc == right.netloc, left.path == right.path
    if not (same_host or same_path):
        return None
    cost = 0.0
    if not same_host:
        cost += 3.0
    elif left.scheme != right.scheme:
        cost += 1.0
    if not same_path:
        cost += 3.0 + _unlike(left.path, right.path)
    if left.query != right.query:
        ours, theirs = _by_name(left.query), _by_name(right.query)
        for name in ours.keys() | theirs.keys():
            one, other = ours.get(name), theirs.get(name)
            if one is None or other is None:
                cost += 1.5
            elif one != other:
                cost += 1.0 + _unlike(" ".join(one), " ".join(other))
    cost += 1.0 * (wanted.method != candidate.method)
    cost += 0.5 * (wanted.accept_language != candidate.accept_language)
    return cost + 0.5 * (wanted.body_sha256 != candidate.body_sha256)


def _unlike(one: str, other: str) -> float:
    from rapidfuzz.distance import Indel

    # Long texts are compared by their beginning: this ranks, it doesn't decide.
    return Indel.normalized_distance(one[:500], other[:500])
