"""The loop of a replay: play, commit, report; whatever a question does."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.clock import Clock
from harness.contestant.protocol import Contestant
from harness.errors import HotseatError
from harness.quiz import Answer, Question
from harness.replay.rows import Row, make_row
from harness.replay.run_folder import RunFolder
from harness.replay.traces import encode_line
from harness.trace import Code, Trace

if TYPE_CHECKING:
    import httpx

__all__ = ["Progress", "play_all"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, after one more question.

    ``done`` counts questions of earlier, interrupted attempts too; ``played``
    and ``elapsed_s`` only this process's.
    """

    done: int
    total: int
    failed: int
    played: int
    elapsed_s: float
    row: Row

    @property
    def left_s(self) -> float:
        """Seconds still to go, from the mean of the questions played so far."""
        return self.elapsed_s / self.played * (self.total - self.done)


def play_all(
    folder: RunFolder,
    questions: Sequence[Question],
    contestant: Contestant,
    tape: Callable[[], httpx.AsyncBaseTransport | None],
    *,
    clock: Clock,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Play every question that ``folder`` has no row of, committing each at once.

    ``tape`` gives one transport a question (``None``: no research).  A
    question that fails becomes a row of status ``failed``; the loop goes on.
    :class:`KeyboardInterrupt` marks the run as interrupted and passes on.
    """
    started_s = clock.monotonic()
    played = 0
    try:
        for question in questions:
            if question.id in folder.rows:
                continue
            row, line = _play(question, contestant, tape, clock)
            folder.append(row, line)
            played += 1
            on_progress(
                Progress(
                    done=len(folder.rows),
                    total=len(questions),
                    failed=sum(row["status"] == "failed" for row in folder.rows.values()),
                    played=played,
                    elapsed_s=clock.monotonic() - started_s,
                    row=row,
                )
            )
    except KeyboardInterrupt:
        folder.update(status="interrupted")
        raise


def _play(
    question: Question,
    contestant: Contestant,
    tape: Callable[[], httpx.AsyncBaseTransport | None],
    clock: Clock,
) -> tuple[Row, bytes]:
    trace = Trace(clock=clock)
    try:
        answer = contestant.play(question, tape(), trace)
        return _commit(question, answer, trace, None)
    except HotseatError as error:
        return _failed(question, trace, error, {"message": error.message, "remedy": error.remedy})
    except Exception as error:  # noqa: BLE001 - one broken question must not end a long run;
        # it is counted as failed, reported, and its traceback kept.
        return _failed(
            question,
            trace,
            error,
            {"message": _sentence(error), "traceback": traceback.format_exc()},
        )


def _failed(
    question: Question, trace: Trace, error: Exception, story: dict[str, Any]
) -> tuple[Row, bytes]:
    trace.degrade("answer", Code.ANSWER_FAILED, _sentence(error))
    story = {"type": type(error).__name__, **story}
    try:
        return _commit(question, None, trace, story)
    except (HotseatError, TypeError, ValueError):
        # What the contestant noted is what can't be written: go on without it.
        trace.facts, trace.spans = {}, []
        return _commit(question, None, trace, story)


def _sentence(error: Exception) -> str:
    text = error.message if isinstance(error, HotseatError) else f"{type(error).__name__}: {error}"
    return text.strip()[:2_000]


def _commit(
    question: Question, answer: Answer | None, trace: Trace, error: dict[str, Any] | None
) -> tuple[Row, bytes]:
    row = make_row(question, answer, trace)
    document: dict[str, Any] = {
        "question": question.text,
        "row": row,
        "trace": {
            "spans": [
                {"stage": span.stage, "seconds": span.seconds, "recorded": span.recorded}
                for span in trace.spans
            ],
            "degradations": [
                {"stage": item.stage, "code": item.code.value, "detail": item.detail}
                for item in trace.degradations
            ],
            "facts": trace.facts,
        },
    }
    if error:
        document["error"] = error
    return row, encode_line(document)
