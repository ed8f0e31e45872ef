"""One text question: research and answer in the time there is, or the fallback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.clock import Clock
from harness.contestant.protocol import Contestant
from harness.errors import DiskFullError, HotseatError, MissingError, SearchFailedError
from harness.games._thinking import Thinker, TooLateError
from harness.games.presented import Presented
from harness.quiz import Answer, Basis, Option
from harness.trace import Code, Trace

if TYPE_CHECKING:
    import httpx

__all__ = ["Chosen", "Research", "answer_text", "settle", "told", "words_of"]

Research = Callable[[], "httpx.AsyncBaseTransport | None"]
"""Gives the transport of one question, ``None`` for no research."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be sent, on what it rests, and what is to be told about it.

    ``problem`` is a sentence for the user, ``full`` that a disk is.
    """

    option: Option
    basis: Basis
    trace: Trace
    notes: tuple[str, ...] = ()
    problem: str = ""
    full: DiskFullError | None = None
    thought_s: float = 0.0


async def answer_text(
    presented: Presented,
    contestant: Contestant,
    thinker: Thinker,
    research: Research,
    *,
    limit_s: float,
    clock: Clock,
) -> Chosen:
    """Let the contestant play a question for at most ``limit_s`` seconds.

    Where it is late or fails, the fallback is chosen, and the basis says so.
    A search server that can't be reached, or a full disk, costs the research
    only.
    """
    trace = thinker.trace()
    started_s = clock.monotonic()
    troubles: list[HotseatError] = []

    def play() -> Answer:
        try:
            return contestant.play(presented.question, research(), trace)
        except (MissingError, SearchFailedError, DiskFullError) as error:
            troubles.append(error)
            trace.degrade("search", Code.SEARCH_FAILED, error.message)
            return contestant.play(presented.question, None, trace)

    return await settle(presented, thinker, play, trace, troubles, limit_s, started_s, clock)


async def settle(
    presented: Presented,
    thinker: Thinker,
    work: Callable[[], Answer],
    trace: Trace,
    troubles: list[HotseatError],
    limit_s: float,
    started_s: float,
    clock: Clock,
) -> Chosen:
    """Run ``work`` for at most ``limit_s`` seconds and make of it what is sent."""
    notes: tuple[str, ...] = ()
    try:
        answer = await thinker.finish(thinker.begin(work), limit_s)
        option, basis = presented.check(answer), answer.basis
    except TooLateError:
        option, basis = presented.fallback(), Basis.DEADLINE
        notes = (f"no answer after {limit_s:.1f} s, so the longest option was taken",)
    except Exception as error:  # noqa: BLE001 - whatever a model does, an answer leaves
        option, basis = presented.fallback(), Basis.FAILED
        trace.degrade("generate", Code.ANSWER_FAILED, words_of(error))
        notes = (f"the contestant failed ({words_of(error)}), so the longest option was taken",)
    full = next((one for one in troubles if isinstance(one, DiskFullError)), None)
    other = next((one for one in troubles if not isinstance(one, DiskFullError)), None)
    return Chosen(
        option,
        basis,
        trace,
        notes,
        problem=str(other) if other else "",
        full=full,
        thought_s=clock.monotonic() - started_s,
    )


def told(chosen: Chosen, *, taken_s: float, left_s: float | None) -> dict[str, Any]:
    """Return what the journal is told of an answer, as JSON values."""
    spans = tuple(chosen.trace.spans)  # the contestant may still be at work on a late one
    seconds: dict[str, float] = {}
    for span in spans:
        seconds[span.stage] = round(seconds.get(span.stage, 0.0) + span.seconds, 6)
    return {
        "basis": chosen.basis.value,
        "seconds": seconds,
        "taken_s": round(taken_s, 6),
        "left_s": None if left_s is None else round(left_s, 6),
        "degradations": chosen.trace.codes(),
        "notes": list(chosen.notes),
    }


def words_of(error: Exception) -> str:
    """Return an error as a phrase."""
    if isinstance(error, HotseatError):
        return error.message.rstrip(".")
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
