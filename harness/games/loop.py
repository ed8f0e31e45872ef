"""The game loop: question, answer, verdict, until the game is over."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from harness.clock import Clock, SystemClock
from harness.contestant.protocol import Contestant
from harness.errors import HotseatError
from harness.games._answerer import Chosen, Research, answer_text, told
from harness.games._gamelog import GameLog
from harness.games._speech_loop import SpokenAsk
from harness.games._thinking import Thinker
from harness.games.errors import QuizError, QuizProtocolError
from harness.games.learned import LearnedQuestions, UnkeepableError
from harness.games.presented import Presented, present
from harness.games.protocol import Game
from harness.games.records import End, GameListener, GameRecord, Transcriber
from harness.games.verdict import AnswerOutcome, Asked
from harness.games.wire import GameState, GameStatus, ServedQuestion
from harness.settings import Settings

if TYPE_CHECKING:
    from harness.games.clips import ClipStore

__all__ = ["Table", "learn", "play_on", "stop"]

T = TypeVar("T")
_ENDS = {
    GameStatus.COMPLETED.value: End.WON,
    GameStatus.FAILED.value: End.WRONG,
    GameStatus.TIMEOUT.value: End.LATE,
}


@dataclass(slots=True)
class Table:
    """Everybody and everything that sits at the table, for all games of a session.

    ``problems`` collects sentences for the user; each is told once.
    """

    contestant: Contestant
    thinker: Thinker
    research: Research
    settings: Settings
    listener: GameListener
    learned: LearnedQuestions | None = None
    clips: ClipStore | None = None
    transcriber: Transcriber | None = None
    clock: Clock = field(default_factory=SystemClock)
    problems: list[str] = field(default_factory=list)

    def tell(self, sentence: str) -> None:
        """Tell the user something, once."""
        if sentence and sentence not in self.problems:
            self.problems.append(sentence)
            self.listener.problem(sentence)


async def play_on(table: Table, game: Game, log: GameLog) -> GameRecord:
    """Play a running game until it is over, or can't be played any more.

    What the quiz server does wrong ends the game as ``BROKEN``; a journal that
    can't be written, as ``STOPPED``, once the answer under way has left.
    """
    try:
        while not game.state.is_over:
            await _Turn(table, game, log).play()
            if log.failure is not None and not game.state.is_over:
                return stop(table, log)
    except QuizError as error:
        table.tell(str(error))
        return _finish(table, log, End.BROKEN, str(error))
    return finish(table, game.state, log)


def stop(table: Table, log: GameLog) -> GameRecord:
    """Stop playing a game whose story can't be written down any more."""
    table.tell(str(log.failure))
    return _finish(table, log, End.STOPPED, str(log.failure))


def finish(table: Table, state: GameState, log: GameLog) -> GameRecord:
    """Write down the end of a game that is over at the server."""
    end = _ENDS.get(state.status, End.BROKEN)
    problem = "" if end is not End.BROKEN else f"The game ended as '{state.status[:40]}'."
    return _finish(table, log, end, problem, state.earned_amount)


def _finish(
    table: Table, log: GameLog, end: End, problem: str = "", prize: float | None = None
) -> GameRecord:
    record = log.ended(end, prize=prize, problem=problem)
    table.listener.ended(record)
    return record


class _Turn:
    """One question, and the seconds that were spent waiting for others."""

    def __init__(self, table: Table, game: Game, log: GameLog) -> None:
        self._table = table
        self._game = game
        self._log = log
        self._clock = table.clock
        self._waited_s = 0.0
        self._heard_s = 0.0

    async def play(self) -> None:
        started_s = self._clock.monotonic()
        served = await self._question()
        asked = Asked.by(self._game.state)
        assert asked is not None, "the game goes on"
        if self._game.state.mode == "speech":
            presented, chosen = await self._spoken(served, asked)
        else:
            presented, chosen = await self._written(served, asked)
        table, log = self._table, self._log
        if chosen.problem:
            table.tell(chosen.problem)
        if chosen.full is not None and log.failure is None:
            log.failure = chosen.full
        left_s = self._game.remaining_s()
        taken_s = self._clock.monotonic() - started_s
        option_id = presented.served_id(chosen.option)
        details = told(chosen, taken_s=taken_s, left_s=left_s)
        question = log.answering(option_id, chosen.option.text, details)
        table.listener.answering(log.record, question)
        outcome = await self._waiting(self._game.answer(option_id))
        spent_s = self._clock.monotonic() - started_s
        others_s = chosen.thought_s + self._waited_s + self._heard_s
        overhead_s = max(0.0, spent_s - others_s)
        self._judged(outcome, presented, chosen, overhead_s)

    async def _question(self) -> ServedQuestion:
        if self._game.state.question is None:
            await self._waiting(self._game.refresh())
        question = self._game.state.question
        if question is None:
            raise QuizProtocolError(
                "The game goes on, but the quiz server asks nothing.", operation="state"
            )
        return question

    async def _written(self, served: ServedQuestion, asked: Asked) -> tuple[Presented, Chosen]:
        table, log = self._table, self._log
        options = tuple((option.id, option.text or "") for option in served.options)
        if not served.text or not options:
            raise QuizProtocolError(
                "The quiz server asks a question without a text or options.", operation="state"
            )
        category = log.record.category
        assert category is not None, "only competitions of a category are played"
        presented = present(category, served.text, options, level=asked.level, known=table.learned)
        question = log.asked(asked, presented.question.id, served.text, presented.served_texts)
        learn(self._table, self._log, presented, None, None)
        table.listener.asked(log.record, question, self._game.remaining_s())
        chosen = await answer_text(
            presented,
            table.contestant,
            table.thinker,
            table.research,
            limit_s=self._limit_s(),
            clock=self._clock,
        )
        return presented, chosen

    async def _spoken(self, served: ServedQuestion, asked: Asked) -> tuple[Presented, Chosen]:
        ask = SpokenAsk(
            self._game,
            self._log.record,
            self._table,
            served,
            asked,
            wait=self._waiting,
            limit_s=self._limit_s,
        )
        presented = await ask.hear()
        self._heard_s = ask.busy_s
        question = self._log.asked(
            asked,
            presented.question.id,
            presented.question.text,
            presented.served_texts,
            tuple(ask.clips),
        )
        learn(self._table, self._log, presented, None, None)
        self._table.listener.asked(self._log.record, question, self._game.remaining_s())
        return presented, await ask.answer(presented)

    def _limit_s(self) -> float:
        """Return the seconds until an answer has to leave."""
        settings = self._table.settings
        left_s = self._game.remaining_s()
        if left_s is None:
            return settings.time.budget_s
        return max(0.0, min(settings.time.budget_s, left_s - settings.play.reserve_s))

    async def _waiting(self, call: Awaitable[T]) -> T:
        started_s = self._clock.monotonic()
        try:
            return await call
        finally:
            self._waited_s += self._clock.monotonic() - started_s

    def _judged(
        self, outcome: AnswerOutcome, presented: Presented, chosen: Chosen, overhead_s: float
    ) -> None:
        result = outcome.result
        question = self._log.judged(
            result.correct,
            timed_out=result.timed_out,
            earned=result.earned_amount,
            overhead_s=round(overhead_s, 6),
            waited_s=round(self._waited_s, 6),
            notes=outcome.notes,
        )
        learn(self._table, self._log, presented, chosen.option.text, result.correct)
        self._table.listener.judged(self._log.record, question)


def learn(
    table: Table, log: GameLog, presented: Presented, chosen: str | None, correct: bool | None
) -> None:
    """Add what is known of a question to the question file, if games are recorded.

    A question that no file can hold is told of; a file that can't be written
    becomes the log's ``failure``.
    """
    if table.learned is None:
        return
    try:
        noted = table.learned.note(presented.question, chosen, correct)
    except UnkeepableError as error:
        table.tell(str(error))
    except HotseatError as error:
        log.failure = log.failure or error
    else:
        if noted.contradiction:
            table.tell(f"'{presented.question.text[:80]}': {noted.contradiction}")
