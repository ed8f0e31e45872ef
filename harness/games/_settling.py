"""Games that an earlier process left: their verdicts are learned, and they are played on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from harness.games._fold import GameFold
from harness.games._gamelog import GameLog
from harness.games.errors import QuizNotFoundError, QuizProtocolError
from harness.games.journal import Journal
from harness.games.loop import Table, learn, play_on
from harness.games.presented import present
from harness.games.protocol import Game
from harness.games.records import End, GameRecord
from harness.games.verdict import infer
from harness.games.wire import AnswerResult

__all__ = ["left_games", "settle_game"]


def left_games(journal: Journal, *, server: str, player: str) -> list[GameFold]:
    """Return the games of a player at a server that were begun and never ended."""
    return [
        fold
        for fold in journal.folds.values()
        if not fold.ended and (fold.record.server, fold.record.player) == (server, player)
    ]


async def settle_game(
    table: Table,
    quiz: Any,
    journal: Journal,
    fold: GameFold,
    *,
    now: Callable[[], datetime],
    began: Callable[[GameLog], None] = lambda log: None,
) -> GameRecord | None:
    """Learn what became of a game, and play on if it goes on; ``None`` if nobody can tell.

    ``began`` gets the log of a game before it is played on.

    Raises a :class:`~harness.games.errors.QuizError` when the server can't say.
    """
    resume = getattr(quiz, "resume", None)
    if resume is None:
        table.tell(
            f"Game {fold.record.session_id} was left, and this client can't go on with it; it "
            "ends by its time limit."
        )
        return None
    log = GameLog(journal, fold, now)
    record = log.record
    log.resumed()
    began(log)
    try:
        game: Game = await resume(record.session_id)
    except QuizNotFoundError:
        return _broken(table, log, "The quiz server does not know the game any more.")
    state = game.state
    if state.competition.id not in (None, record.competition_id) or state.mode != record.mode:
        return _broken(table, log, "The quiz server has another game under its number.")
    table.listener.started(log.record, resumed=True)
    try:
        _catch_up(table, log, game)
    except QuizProtocolError as error:
        return _broken(table, log, str(error))
    return await play_on(table, game, log)


def _catch_up(table: Table, log: GameLog, game: Game) -> None:
    """Write down the verdict on the question that was open, and what may be unwritten of it."""
    asked, sent = log.pending, log.sent
    if not log.record.questions:
        return
    if asked is None:
        _learn(table, log)  # the question file may have been left behind
        return
    found: AnswerResult | None = infer(asked, game.state)
    if found is None:
        return
    ours = sent and game.state.current_level <= asked.level + 1
    question = log.judged(
        found.correct if ours else None,
        timed_out=found.timed_out,
        earned=found.earned_amount,
        notes=(
            "learned from the game's state after a restart"
            if ours
            else "somebody else answered, or the verdict was lost",
        ),
    )
    _learn(table, log)
    table.listener.judged(log.record, question)


def _learn(table: Table, log: GameLog) -> None:
    question, category = log.question, log.record.category
    if category is None:
        return
    presented = present(
        category,
        question.text,
        tuple(enumerate(question.options)),
        level=question.level,
        known=table.learned,
    )
    learn(table, log, presented, question.chosen, question.correct)


def _broken(table: Table, log: GameLog, why: str) -> GameRecord:
    record = log.ended(End.BROKEN, problem=why)
    table.listener.ended(record)
    return record
