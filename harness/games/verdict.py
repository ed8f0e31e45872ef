"""What a game's state tells of an answer whose reply was lost.  No I/O.

The server moves on by one level for a right answer and ends the game for any
other, so the state afterwards says what became of an answer, or that it never
arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.games.errors import QuizProtocolError
from harness.games.wire import AnswerResult, GameState, GameStatus

__all__ = ["AnswerOutcome", "Asked", "Learned", "infer"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that an answer was for: enough to recognise it after a restart."""

    session_id: int
    level: int
    question_id: int

    @classmethod
    def by(cls, state: GameState) -> Asked | None:
        """Return what ``state`` asks, ``None`` when it asks nothing."""
        if state.is_over or state.question is None:
            return None
        return cls(state.session_id, state.current_level, state.question.id)


class Learned(StrEnum):
    """Where a verdict comes from."""

    REPLY = "the reply"
    STATE = "the game's state"


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """What became of an answer, and how that is known.

    ``sends`` counts how often the answer was sent; ``notes`` tell what went
    wrong on the way, one phrase each.
    """

    result: AnswerResult
    learned: Learned
    sends: int = 1
    notes: tuple[str, ...] = ()


def infer(asked: Asked, after: GameState) -> AnswerResult | None:
    """Return the verdict that ``after`` implies, ``None`` when the question is still open.

    The verdict is about *an* answer to the question: if two players share a
    game, either may have given it.  Raises
    :class:`~harness.games.errors.QuizProtocolError` for a state that can't
    follow: another game, a lower level, another question at the same level.
    """
    if after.session_id != asked.session_id:
        raise _odd(f"is of game {after.session_id} instead of {asked.session_id}")
    if after.is_over:
        return _ended(after)
    if after.current_level > asked.level:
        return AnswerResult(
            correct=True,
            game_over=False,
            earned_amount=after.earned_amount,
            timed_out=False,
            status=after.status,
            current_level=after.current_level,
            question_deadline=after.question_deadline,
            question=after.question,
            money_pyramid=after.money_pyramid,
        )
    if after.current_level < asked.level:
        raise _odd(f"went back from level {asked.level} to {after.current_level}")
    if after.question is not None and after.question.id != asked.question_id:
        raise _odd(f"asks another question at level {asked.level} than before")
    return None


def _ended(after: GameState) -> AnswerResult:
    correct = {GameStatus.COMPLETED.value: True, GameStatus.FAILED.value: False}.get(after.status)
    return AnswerResult(
        correct=correct,
        game_over=True,
        earned_amount=after.earned_amount,
        timed_out=after.status == GameStatus.TIMEOUT,
        status=after.status,
        current_level=after.current_level,
        money_pyramid=after.money_pyramid,
    )


def _odd(what: str) -> QuizProtocolError:
    return QuizProtocolError(
        f"The game's state {what}.",
        remedy="Is another player using the same game?",
        operation="state",
    )
