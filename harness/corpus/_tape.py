"""The transport that records, replays, or does neither.

One tape serves one question: it counts identical requests, so that the n-th
one is answered with the n-th recorded, whatever other questions asked before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import httpx

from harness.clock import Clock, SystemClock
from harness.corpus._body import body_sha256
from harness.corpus._entry import Entry
from harness.corpus._fetch import Fetched, Timing, failure_error, fetch
from harness.corpus._key import RequestKey, request_key
from harness.corpus._miss import Recorded, nearest
from harness.corpus._store import Store
from harness.corpus._values import (
    OUTCOME_EXTENSION,
    PAGE,
    POLICY_EXTENSION,
    Outcome,
    RequestPolicy,
)
from harness.errors import CorpusDamagedError, CorpusMissError

__all__ = ["LiveTape", "RecordTape", "Refresh", "ReplayTape", "Tape"]

Refresh = Literal["missing", "failed", "all"]

# How far past a gap in the ordinals an answer is looked for.  A gap is left by
# a request that was cancelled while an identical one was under way.
_GAP = 8

_DEFAULT_POLICY = RequestPolicy()


class Tape(httpx.AsyncBaseTransport):
    """A transport for ``httpx.AsyncClient``; made by ``Corpus.tape`` or ``live_tape``.

    Reads a :class:`RequestPolicy` from ``request.extensions["hotseat"]`` and
    leaves an :class:`Outcome` in ``request.extensions["hotseat_outcome"]``
    before it returns or raises.  The transport it fetches through belongs to
    the caller: closing a tape does not close it.
    """

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request.

        Raises the httpx exception that fetching it raised, now or when it was
        recorded; :class:`~harness.errors.CorpusMissError` and
        :class:`~harness.errors.CorpusDamagedError` in a replay.
        """
        policy = request.extensions.get(POLICY_EXTENSION, _DEFAULT_POLICY)
        body = await request.aread()
        key = request_key(request.method, request.url, _named(request.headers), body, policy)
        ordinal = self._asked[key.sha256]
        self._asked[key.sha256] += 1
        return await self._respond(request, key, ordinal, policy)

    async def _respond(
        self, request: httpx.Request, key: RequestKey, ordinal: int, policy: RequestPolicy
    ) -> httpx.Response:
        raise NotImplementedError

    async def _fetch(
        self,
        inner: httpx.AsyncBaseTransport,
        request: httpx.Request,
        key: RequestKey,
        policy: RequestPolicy,
        clock: Clock,
        timing: Timing,
    ) -> Fetched:
        try:
            return await fetch(inner, request, policy, clock=clock, timing=timing)
        except BaseException:
            # Cancelled, or refused before it was sent: it never happened.
            self._asked[key.sha256] -= 1
            raise


def _named(headers: httpx.Headers) -> Mapping[str, str]:
    """Return headers by name; httpx takes longer over that than reading a page does."""
    plain = {name: value.decode("latin-1") for name, value in headers.raw if value.isascii()}
    found = {name.decode("latin-1").lower(): value for name, value in plain.items()}
    # Repeated and other headers are put together by httpx's own rules.
    return found if len(found) == len(headers.raw) else headers


class ReplayTape(Tape):
    """Answers from a store alone; there is no way to the network in it."""

    def __init__(self, store: Store, recorded: Callable[[], Recorded]) -> None:
        """Answer from ``store``; ``recorded`` lists what a missing request is compared with."""
        super().__init__()
        self._store = store
        self._recorded = recorded
        self._last: dict[str, int] = {}

    async def _respond(
        self, request: httpx.Request, key: RequestKey, ordinal: int, policy: RequestPolicy
    ) -> httpx.Response:
        try:
            entry = self._find(key, ordinal)
            if entry is None:
                raise self._miss(key)
            body = self._store.body_of(entry)
        except (CorpusMissError, CorpusDamagedError) as error:
            failure = type(error).__name__
            request.extensions[OUTCOME_EXTENSION] = Outcome(
                False, 0.0, False, key.sha256, ordinal, None, failure
            )
            raise
        return _replayed(request, entry, body, key)

    def _find(self, key: RequestKey, ordinal: int) -> Entry | None:
        """Return the recorded answer, the last one when there were fewer."""
        for candidate in _candidates(key):
            sha256 = candidate.sha256
            start = min(ordinal, self._last.get(sha256, ordinal))
            for number in (*range(start, -1, -1), *range(start + 1, start + 1 + _GAP)):
                entry = self._store.read(sha256, number)
                if entry is not None:
                    if number < ordinal:
                        self._last[sha256] = number
                    return entry
                reason = self._store.lost(sha256, number)
                if reason is not None:
                    raise CorpusDamagedError(
                        f"The recorded answer to {key.label} is damaged: {reason}.",
                        remedy="Restore the corpus; 'hotseat corpus verify' lists all damage.",
                    )
        return None

    def _miss(self, key: RequestKey) -> CorpusMissError:
        close, difference = nearest(key, self._recorded().akin(key))
        return CorpusMissError(key.label, close.label if close else None, difference)


class RecordTape(Tape):
    """Answers from a store where it can, and else from the network into the store."""

    def __init__(
        self,
        store: Store,
        inner: httpx.AsyncBaseTransport,
        *,
        refresh: Refresh,
        clock: Clock,
        timing: Timing,
    ) -> None:
        super().__init__()
        self._store = store
        self._inner = inner
        self._refresh = refresh
        self._clock = clock
        self._timing: Timing = timing

    async def _respond(
        self, request: httpx.Request, key: RequestKey, ordinal: int, policy: RequestPolicy
    ) -> httpx.Response:
        stored, healthy = self._stored(key, ordinal)
        if stored is not None and self._is_kept(stored[0]):
            return _replayed(request, *stored, key)
        fetched = await self._fetch(self._inner, request, key, policy, self._clock, self._timing)
        # From here on nothing waits, so a cancellation can't come in between.
        entry = _entry(key, ordinal, fetched)
        if not self._store.put(entry, fetched.body, replace=stored is not None or not healthy):
            # Another tape was faster: answer what a replay will answer.
            stored, _ = self._stored(key, ordinal)
            if stored is not None:
                return _replayed(request, *stored, key)
        return _fetched(request, fetched, key, ordinal)

    def _stored(self, key: RequestKey, ordinal: int) -> tuple[tuple[Entry, bytes] | None, bool]:
        """Return what is stored, and whether it is undamaged (or simply not there)."""
        try:
            entry = self._store.read(key.sha256, ordinal)
            return (None if entry is None else (entry, self._store.body_of(entry))), True
        except CorpusDamagedError:
            return None, False

    def _is_kept(self, entry: Entry) -> bool:
        if self._refresh == "all":
            return False
        return not (self._refresh == "failed" and entry.is_failed)


class LiveTape(Tape):
    """Answers from the network and stores nothing; limits and outcomes are the same."""

    def __init__(self, inner: httpx.AsyncBaseTransport, clock: Clock) -> None:
        super().__init__()
        self._inner = inner
        self._clock = clock

    async def _respond(
        self, request: httpx.Request, key: RequestKey, ordinal: int, policy: RequestPolicy
    ) -> httpx.Response:
        fetched = await self._fetch(self._inner, request, key, policy, self._clock, "measured")
        return _fetched(request, fetched, key, ordinal)


def _candidates(key: RequestKey) -> Iterator[RequestKey]:
    """Yield the keys under which an answer may be recorded, the best first."""
    yield key
    if key.provider == PAGE:
        yield key.in_any_language()


def _entry(key: RequestKey, ordinal: int, fetched: Fetched) -> Entry:
    answered = fetched.failure is None
    return Entry(
        request=key,
        ordinal=ordinal,
        fetched_at=fetched.fetched_at,
        elapsed_s=fetched.elapsed_s,
        truncated=fetched.truncated,
        status=fetched.status,
        headers=fetched.headers,
        body_sha256=body_sha256(fetched.body) if answered else None,
        body_bytes=len(fetched.body),
        failure=fetched.failure,
    )


def _replayed(request: httpx.Request, entry: Entry, body: bytes, key: RequestKey) -> httpx.Response:
    """Answer with what is stored: a response, or the exception it stands for."""
    request.extensions[OUTCOME_EXTENSION] = Outcome(
        recorded=True,
        elapsed_s=entry.elapsed_s,
        truncated=entry.truncated,
        key=key.sha256,
        ordinal=entry.ordinal,
        fetched_at=entry.fetched_at,
        failure=entry.failure.kind if entry.failure else None,
    )
    if entry.failure is not None:
        raise failure_error(entry.failure, request)
    assert entry.status is not None
    return _response(request, entry.status, entry.headers, body)


def _fetched(
    request: httpx.Request, fetched: Fetched, key: RequestKey, ordinal: int
) -> httpx.Response:
    """Answer with what was just fetched, which differs only in what can't be stored."""
    request.extensions[OUTCOME_EXTENSION] = Outcome(
        recorded=False,
        elapsed_s=fetched.elapsed_s,
        truncated=fetched.truncated,
        key=key.sha256,
        ordinal=ordinal,
        fetched_at=fetched.fetched_at,
        failure=fetched.failure.kind if fetched.failure else None,
    )
    if fetched.failure is not None:
        raise failure_error(fetched.failure, request)
    assert fetched.status is not None
    stored = [pair for pair in fetched.headers if pair[0] != "location"]
    return _response(request, fetched.status, [*stored, *fetched.live_headers], fetched.body)


def _response(
    request: httpx.Request, status: int, headers: Iterable[tuple[str, str]], body: bytes
) -> httpx.Response:
    return httpx.Response(
        status,
        headers=list(headers),
        content=body,
        request=request,
        extensions={"http_version": b"HTTP/1.1"},
    )


def live_tape(inner: httpx.AsyncBaseTransport, clock: Clock | None = None) -> Tape:
    """Return a transport that fetches through ``inner`` and stores nothing.

    Limits and outcomes are those of a recording tape.
    """
    return LiveTape(inner, clock or SystemClock())
