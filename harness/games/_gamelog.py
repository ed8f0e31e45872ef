"""One game's part of the journal, and the record that it comes to."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from harness.errors import HotseatError
from harness.games._fold import GameFold
from harness.games.journal import Journal
from harness.games.records import End, GameRecord, PlayedQuestion
from harness.games.verdict import Asked
from harness.games.wire import Competition, GameState, Mode

__all__ = ["GameLog"]


class GameLog:
    """Writes what happens in one game and knows what it comes to.

    What can't be written is taken into ``record`` all the same, and ``failure``
    says why: the game has then to be stopped as soon as its answer has left.
    """

    def __init__(self, journal: Journal, fold: GameFold, now: Callable[[], datetime]) -> None:
        self._journal = journal
        self._fold = fold
        self._now = now
        self.failure: HotseatError | None = None

    @classmethod
    def start(
        cls,
        journal: Journal,
        state: GameState,
        competition: Competition,
        mode: Mode,
        *,
        server: str,
        player: str,
        now: Callable[[], datetime],
    ) -> GameLog:
        """Begin the log of a game that has just been started."""
        event = {
            "event": "started",
            "game": secrets.token_hex(8),
            "server": server,
            "player": player,
            "session_id": state.session_id,
            "competition_id": competition.id,
            "competition": competition.name,
            "category": competition.category.value if competition.category else None,
            "mode": mode,
            "max_level": state.max_level or competition.max_levels,
            "level": state.current_level,
            "at": _stamp(now()),
        }
        log = cls(journal, GameFold(event), now)
        log._write(event)
        return log

    @property
    def record(self) -> GameRecord:
        """The game so far."""
        return self._fold.record

    @property
    def question(self) -> PlayedQuestion:
        """The last question asked."""
        assert self._fold.question is not None, "a question was asked"
        return self._fold.question

    @property
    def pending(self) -> Asked | None:
        """The question without a verdict, if there is one."""
        return self._fold.pending

    @property
    def sent(self) -> bool:
        """Whether an answer to it may have been sent."""
        return self._fold.sent

    def resumed(self) -> None:
        """Tell that this process plays a game which another one began."""
        self._add("resumed", at=_stamp(self._now()))

    def asked(
        self,
        asked: Asked,
        question_id: str,
        text: str,
        options: tuple[str, ...],
        clips: tuple[str, ...] = (),
    ) -> PlayedQuestion:
        """Write a question down; ``clips`` are the hashes of question and options as heard."""
        self._add(
            "asked",
            level=asked.level,
            served_id=asked.question_id,
            question_id=question_id,
            text=text,
            options=list(options),
            clips=list(clips),
            at=_stamp(self._now()),
        )
        return self.question

    def answering(self, option_id: int, chosen: str, told: Mapping[str, Any]) -> PlayedQuestion:
        """Write down what is about to be sent; ``told`` are the further fields of the event."""
        assert self.pending is not None, "a question was asked"
        self._add(
            "answering",
            level=self.pending.level,
            served_id=self.pending.question_id,
            option_id=option_id,
            chosen=chosen,
            **told,
        )
        return self.question

    def judged(
        self,
        correct: bool | None,
        *,
        timed_out: bool,
        earned: float,
        overhead_s: float = 0.0,
        waited_s: float = 0.0,
        notes: tuple[str, ...] = (),
    ) -> PlayedQuestion:
        """Write down the verdict on the last question; ``waited_s``: for the quiz server."""
        self._add(
            "judged",
            level=self.question.level,
            correct=correct,
            timed_out=timed_out,
            earned=earned,
            overhead_s=overhead_s,
            waited_s=waited_s,
            notes=list(notes),
        )
        return self.question

    def ended(self, end: End, *, prize: float | None = None, problem: str = "") -> GameRecord:
        """Write down that the game is over; one that was ``STOPPED`` is not, and can go on."""
        earned = self.record.prize if prize is None else prize
        values = {"end": end.value, "prize": earned, "problem": problem, "at": _stamp(self._now())}
        if end is End.STOPPED:
            self._fold.add({"event": "ended", **values})
        else:
            self._add("ended", **values)
        return self.record

    def _add(self, event: str, **values: Any) -> None:
        document = {"event": event, "game": self._fold.game, **values}
        self._fold.add(document)
        self._write(document)

    def _write(self, document: Mapping[str, Any]) -> None:
        try:
            self._journal.write(document)
        except HotseatError as error:
            self.failure = self.failure or error


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
