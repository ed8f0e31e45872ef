"""What a replay, a game or a test needs of whoever sits in the hot seat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx

    from harness.evidence import Evidence
    from harness.quiz import Answer, Category, Question
    from harness.trace import Trace

__all__ = ["Contestant", "TwoHalves"]


class Contestant(Protocol):
    """A player that answers one question at a time.

    What it answers may depend on the question and on what the transport
    returns, never on the questions it was asked before: results must be the
    same in every order.
    """

    def describe(self) -> dict[str, Any]:
        """Return its identity as JSON values: engine, encoder, reranker, prompt hashes.

        It goes into the manifest and is part of a run's identity, so it holds
        everything that has to be equal for results to be equal and nothing
        that may differ otherwise (no paths, no times).
        """

    def play(
        self, question: Question, transport: httpx.AsyncBaseTransport | None, trace: Trace
    ) -> Answer:
        """Answer ``question``, telling the story to ``trace``.

        All research goes through ``transport``, which serves this question
        only and which the contestant closes; ``None`` means no research.
        Stages and degradations go to the trace, and these facts by
        :meth:`~harness.trace.Trace.note`, as counts or as lists whose length
        is the count: ``hits``, ``documents``, ``passages``; as counts:
        ``context_tokens``, ``prompt_tokens``, ``output_tokens``; as text:
        ``output``, what the model wrote.  A fact that does not apply is left
        out.  Facts are JSON values and, but for the spans, the same in every
        replay.

        Raises a :class:`~harness.errors.HotseatError` when no answer can be
        had; the trace then tells how far it came.
        """

    def close(self) -> None:
        """Free the models; the contestant can't play any more."""


class TwoHalves(Contestant, Protocol):
    """A contestant whose research can run before the options are known, as speech needs it.

    :meth:`Contestant.play` is one half after the other.
    """

    def research(
        self,
        text: str,
        category: Category,
        transport: httpx.AsyncBaseTransport | None,
        trace: Trace,
    ) -> Evidence:
        """Find evidence for a question's text; ``transport`` as in :meth:`Contestant.play`."""

    def answer(self, question: Question, evidence: Evidence, trace: Trace) -> Answer:
        """Answer a question from evidence."""
