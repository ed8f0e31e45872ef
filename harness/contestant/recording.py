"""Researching a set of questions once, so that it can be replayed for ever.

Each question goes through the very research that a replay will run, over a
recording tape.  Questions come one after the other: the searches and pages of
one run in parallel already, and a page that two questions share is then
fetched once, in the same order every time.  What is stored is not fetched
again, so a recording that was cut short goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from harness.clock import Clock, SystemClock
from harness.contestant._record_target import (
    open_for_play,
    open_recording,
    recording_into,
)
from harness.contestant.research import search_documents_async
from harness.errors import (
    BadInputError,
    DiskFullError,
    HotseatError,
    MissingError,
    is_disk_full,
)
from harness.trace import Trace

if TYPE_CHECKING:
    import httpx

    from harness.corpus import Corpus, Refresh
    from harness.quiz import Question
    from harness.settings import Settings

__all__ = [
    "RecordProgress",
    "RecordReport",
    "open_for_play",
    "open_recording",
    "record_questions",
    "recording_into",
]

PAUSE_S = 0.5
# So many questions in a row without a single answered search end a recording.
_PATIENCE = 3


@dataclass(frozen=True, slots=True)
class RecordProgress:
    """Where a recording stands after a question.

    ``fetched`` counts requests to the network so far, ``kept`` those that were
    stored already; ``left_s`` is ``None`` while nothing had to be fetched.
    """

    done: int
    total: int
    question: Question
    fetched: int
    kept: int
    left_s: float | None


@dataclass(frozen=True, slots=True)
class RecordReport:
    """What a recording gave.

    ``fetched`` counts requests to the network, ``kept`` those that were stored
    already.  ``searches`` and ``pages`` count all, ``searches_failed`` and
    ``pages_failed`` the failed ones by reason; ``without_results`` counts
    questions for which no page was found at all.  ``broken`` holds id and fault
    of each question whose research broke down; it counts among ``questions``.
    """

    questions: int
    fetched: int
    kept: int
    searches: int
    searches_failed: Mapping[str, int]
    pages: int
    pages_failed: Mapping[str, int]
    without_results: int
    broken: tuple[tuple[str, str], ...] = ()


def record_questions(
    questions: Sequence[Question],
    corpus: Corpus,
    *,
    settings: Settings,
    inner: httpx.AsyncBaseTransport | None = None,
    proxy: str | None = None,
    refresh: Refresh = "missing",
    clock: Clock | None = None,
    timing: Literal["measured", "declared"] = "measured",
    pause_s: float = PAUSE_S,
    progress: Callable[[RecordProgress], None] | None = None,
) -> RecordReport:
    """Research every question and keep all that comes back in ``corpus``.

    ``inner`` is the transport to fetch through, ``None`` the guarded way to
    the web (through ``proxy`` if given).  ``refresh`` says what is fetched
    although it is stored; with ``"failed"`` this includes replies in which
    every engine failed.  ``clock`` and ``timing`` are those of the tape.
    ``pause_s`` lies between questions that needed the network.

    Raises :class:`~harness.errors.MissingError` when the search server or the
    proxy can't be reached at first, or no longer, and
    :class:`~harness.errors.SearchFailedError` when its first reply is of no
    use; neither is stored; :class:`~harness.errors.DiskFullError` when there is
    no room for more.  What was recorded before any error is kept.  Any
    other error ends the research of its question only, and is in the report.
    """
    from harness.web.network import network_transport

    if not settings.search.enabled:
        raise BadInputError(
            "There is nothing to record while search.enabled is false.", remedy="Set it to true."
        )

    async def work() -> RecordReport:
        network = inner or network_transport(settings.fetch, proxy=proxy)
        try:
            recorder = _Recorder(
                corpus, settings, network, refresh, clock or SystemClock(), timing, proxy
            )
            return await recorder.run(questions, pause_s, progress)
        finally:
            if inner is None:
                await network.aclose()

    return asyncio.run(work())


@dataclass(slots=True)
class _Tally:
    """The sums that become a report."""

    fetched: int = 0
    kept: int = 0
    searches: int = 0
    pages: int = 0
    without_results: int = 0
    broken: list[tuple[str, str]] = field(default_factory=list)
    searches_failed: Counter[str] = field(default_factory=Counter)
    pages_failed: Counter[str] = field(default_factory=Counter)

    def add(self, trace: Trace) -> None:
        for search in trace.facts.get("searches", ()):
            self.searches += 1
            if search["failure"]:
                self.searches_failed[search["failure"]] += 1
        for page in trace.facts.get("pages", ()):
            self.pages += 1
            if page["failure"]:
                self.pages_failed[page["failure"]] += 1
        self.without_results += not trace.facts.get("hits")

    def report(self, questions: int) -> RecordReport:
        return RecordReport(
            questions,
            self.fetched,
            self.kept,
            self.searches,
            _commonest_first(self.searches_failed),
            self.pages,
            _commonest_first(self.pages_failed),
            self.without_results,
            tuple(self.broken),
        )


class _Recorder:
    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        network: httpx.AsyncBaseTransport,
        refresh: Refresh,
        clock: Clock,
        timing: Literal["measured", "declared"],
        proxy: str | None,
    ) -> None:
        from harness.contestant._record_transports import FirstContact, place_of
        from harness.web.searxng import search_address

        self._corpus = corpus
        self._settings = settings
        self._address, _ = search_address(settings.search.url)
        self._network = FirstContact(network, self._address, proxy)
        self._wait_for = f"server and the proxy {place_of(proxy)} are" if proxy else "server is"
        self._refresh: Refresh = refresh
        self._clock = clock
        self._timing: Literal["measured", "declared"] = timing
        self._tally = _Tally()
        self._failed_in_a_row = 0

    async def run(
        self,
        questions: Sequence[Question],
        pause_s: float,
        progress: Callable[[RecordProgress], None] | None,
    ) -> RecordReport:
        watch = SystemClock()  # people wait in real time, whatever the tape is told
        spent_s, busy = 0.0, 0
        for done, question in enumerate(questions, start=1):
            started_s = watch.monotonic()
            fetched = await self._record_alone(question)
            last = done == len(questions)
            if fetched and not last:
                await asyncio.sleep(pause_s)
            if fetched:
                spent_s, busy = spent_s + watch.monotonic() - started_s, busy + 1
            if progress is not None:
                left_s = spent_s / busy * (len(questions) - done) if busy else None
                tally = self._tally
                progress(
                    RecordProgress(
                        done, len(questions), question, tally.fetched, tally.kept, left_s
                    )
                )
        return self._tally.report(len(questions))

    async def _record_alone(self, question: Question) -> int:
        """Research one question; a fault in it must not cost the others their recording."""
        before = self._tally.fetched
        try:
            return await self._record(question)
        except HotseatError:  # raised on purpose, to end the recording
            raise
        except OSError as error:
            if is_disk_full(error):  # so would every other question
                raise DiskFullError(self._corpus.path) from error
            return self._broken(question, error, before)
        except Exception as error:  # noqa: BLE001 - pages hold anything; it is told in the report
            return self._broken(question, error, before)

    def _broken(self, question: Question, error: Exception, before: int) -> int:
        fault = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        self._tally.broken.append((question.id, fault))
        return self._tally.fetched - before

    async def _record(self, question: Question) -> int:
        """Research one question; returns how many requests went to the network."""
        trace, fetched, kept_searches = await self._research(question, self._refresh)
        if self._refresh == "failed" and kept_searches and _failures(trace):
            # A reply whose engines all failed is a sound answer to the tape.
            trace, more, _ = await self._research(question, "failed", searches="all")
            fetched += more
        self._tally.add(trace)
        self._check_patience(trace, fetched)
        return fetched

    async def _research(
        self, question: Question, pages: Refresh, *, searches: Refresh | None = None
    ) -> tuple[Trace, int, int]:
        from harness.contestant._record_transports import CountingTransport

        counting = CountingTransport(self._tape(pages), self._tape(searches or pages))
        trace = Trace(clock=self._clock)
        try:
            await search_documents_async(
                question.text,
                question.category,
                settings=self._settings,
                transport=counting,
                trace=trace,
            )
        finally:
            self._tally.fetched += counting.fetched
            self._tally.kept += counting.kept
        return trace, counting.fetched, counting.kept_searches

    def _tape(self, refresh: Refresh) -> httpx.AsyncBaseTransport:
        return self._corpus.tape(
            "record",
            inner=self._network,
            refresh=refresh,
            clock=self._clock,
            timing=self._timing,
        )

    def _check_patience(self, trace: Trace, fetched: int) -> None:
        failures = _failures(trace)
        if failures and len(failures) == len(trace.facts["searches"]) and fetched:
            self._failed_in_a_row += 1
        else:
            self._failed_in_a_row = 0
        if self._failed_in_a_row >= _PATIENCE:
            raise MissingError(
                f"The searches of {_PATIENCE} questions in a row failed at {self._address}: "
                f"{failures[0]}",
                remedy=f"When the {self._wait_for} well again, run the same command with "
                "--refresh failed; what was recorded is kept.",
            )


def _failures(trace: Trace) -> list[str]:
    found = (search["failure"] for search in trace.facts.get("searches", ()))
    return [failure for failure in found if failure]


def _commonest_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
