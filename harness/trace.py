"""The story of one answer: seconds per stage, what went wrong, what was seen.

A :class:`Trace` is filled while a question is answered.  It is written whole
to ``traces.jsonl``; one row of ``answers.parquet`` is cut out of it by
:mod:`harness.replay`.  Time columns are named ``t_…``: everything else is
covered by the results digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from harness.clock import Clock, SystemClock

__all__ = ["STAGES", "Code", "Degradation", "Span", "Trace", "Watcher"]

STAGES = (
    "search",  # network: both searches, in parallel
    "lookup",  # compute: searching the recorded pages, in place of an unrecorded search
    "fetch",  # network: all pages, in parallel
    "extract",  # compute: text out of pages
    "chunk",
    "encode",  # bi-encoder over query and passages, FAISS included
    "rerank",
    "prompt",
    "generate",
    "parse",
)


class Code(StrEnum):
    """Every way in which an answer can be less than it should be."""

    SEARCH_FAILED = "search_failed"
    SEARCH_PARTIAL = "search_partial"  # one of the two searches, or some engines, failed
    NO_RESULTS = "no_results"
    NOT_RECORDED = "not_recorded"
    SEARCHED_CORPUS = "searched_corpus"  # not recorded, so the recorded pages were searched
    CORPUS_DAMAGED = "corpus_damaged"
    PAGE_FAILED = "page_failed"
    PAGE_CUT = "page_cut"
    EXTRACT_FAILED = "extract_failed"
    SNIPPET_USED = "snippet_used"
    NO_DOCUMENTS = "no_documents"
    NOTHING_OVER_THRESHOLD = "nothing_over_threshold"
    CONTEXT_CUT = "context_cut"
    QUESTION_CUT = "question_cut"
    GENERATION_CUT = "generation_cut"
    PREFILL_DROPPED = "prefill_dropped"  # the server would not continue a begun answer
    NO_LOGPROBS = "no_logprobs"  # needed to read the answer, but the server gives none
    ENGINE_FAILED = "engine_failed"
    HEARING_FAILED = "hearing_failed"  # a clip could not be transcribed, or not in time
    ANSWER_NOT_FOUND = "answer_not_found"
    OPTIONS_IDENTICAL = "options_identical"
    ANSWER_FAILED = "answer_failed"


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds that one stage took.

    ``recorded`` marks network seconds read from a corpus: a replayed time is
    never shown as a live one.
    """

    stage: str
    seconds: float
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Degradation:
    """One thing that went less than well, by code, with a sentence for people.

    ``detail`` must not hold measured times or other values that vary between
    replays.
    """

    stage: str
    code: Code
    detail: str = ""


class Watcher(Protocol):
    """Told what a trace hears, in the thread that the answer is made in."""

    def stage(self, name: str, seconds: float) -> None:
        """Hear that a stage is done, or one more part of it."""

    def noted(self, facts: Mapping[str, Any]) -> None:
        """Hear new facts."""


@dataclass(slots=True)
class Trace:
    """A mutable recorder, one per question; ``watcher`` hears its story as it happens."""

    clock: Clock = field(default_factory=SystemClock)
    spans: list[Span] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    watcher: Watcher | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a compute stage; the span is kept also when the stage raises."""
        started = self.clock.monotonic()
        try:
            yield
        finally:
            self._add(Span(name, self.clock.monotonic() - started))

    def network(self, name: str, seconds: float, *, recorded: bool) -> None:
        """Add network seconds: live ones as measured, replayed ones as recorded."""
        self._add(Span(name, seconds, recorded))

    def computed(self, name: str, seconds: float) -> None:
        """Add compute seconds that were measured elsewhere."""
        self._add(Span(name, seconds))

    def degrade(self, stage: str, code: Code, detail: str = "") -> None:
        """Note that something went less than well."""
        self.degradations.append(Degradation(stage, code, detail))

    def note(self, **facts: Any) -> None:
        """Keep facts (JSON values) about this answer; later ones win by name."""
        self.facts.update(facts)
        if self.watcher is not None:
            self.watcher.noted(facts)

    def _add(self, span: Span) -> None:
        self.spans.append(span)
        if self.watcher is not None:
            self.watcher.stage(span.stage, span.seconds)

    def seconds(self, stage: str) -> float | None:
        """Return a stage's seconds summed over its spans, ``None`` if it never ran."""
        found = [span.seconds for span in self.spans if span.stage == stage]
        return sum(found) if found else None

    def codes(self) -> list[str]:
        """Return the distinct degradation codes, sorted."""
        return sorted({item.code.value for item in self.degradations})
