"""From the journal's events to the record of a game.  No I/O.

An event is a JSON object with ``event`` and ``game``, a token that is new for
every game.  In order:

``started``   server, player, session_id, competition_id, competition, category,
              mode, max_level, level (that it stood at), at
``resumed``   at: another process plays on
``asked``     level, served_id (the server's number), question_id, text,
              options (texts as served), clips (hashes, where spoken), at
``answering`` level, served_id, option_id, chosen, basis, seconds, taken_s,
              left_s, degradations, notes: written before the answer is sent
``judged``    level, correct, timed_out, earned, notes, overhead_s, waited_s (for the
              quiz server, the answer's own call included)
``ended``     end, prize, problem, at
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.games.records import End, GameRecord, PlayedQuestion
from harness.games.verdict import Asked
from harness.quiz import Basis, Category

__all__ = ["Event", "GameFold"]

Event = Mapping[str, Any]


class GameFold:
    """What is known of one game, event by event.

    ``pending`` is the question that was asked and has no verdict yet, with
    ``sent`` telling whether an answer may have been sent.
    """

    def __init__(self, started: Event) -> None:
        """Begin with the event ``started``; raises :class:`KeyError` where it lacks something."""
        self.game = str(started["game"])
        category = started["category"]
        self.record = GameRecord(
            server=str(started["server"]),
            player=str(started["player"]),
            session_id=int(started["session_id"]),
            competition_id=int(started["competition_id"]),
            competition=str(started["competition"]),
            category=Category(category) if category else None,
            mode=started["mode"],
            started=str(started["at"]),
            finished=None,
            max_level=int(started["max_level"]),
            level_reached=max(0, int(started["level"]) - 1),
            prize=0.0,
            end=End.STOPPED,
        )
        self.ended = False
        self.pending: Asked | None = None
        self.sent = False

    @property
    def question(self) -> PlayedQuestion | None:
        """The last question asked."""
        return self.record.questions[-1] if self.record.questions else None

    def add(self, event: Event) -> None:
        """Take in the next event; raises :class:`KeyError` or :class:`ValueError` for a bad one."""
        kind = event["event"]
        if kind == "resumed":
            self.record = replace(self.record, resumed=True)
        elif kind == "asked":
            self._asked(event)
        elif kind == "answering":
            self.sent = True
            self._change(
                chosen=event["chosen"],
                basis=Basis(event["basis"]) if event["basis"] else None,  # people have none
                seconds=dict(event["seconds"]),
                taken_s=float(event["taken_s"]),
                left_s=event["left_s"],
                degradations=tuple(event["degradations"]),
                notes=tuple(event["notes"]),
            )
        elif kind == "judged":
            self._judged(event)
        elif kind == "ended":
            self._ended(event)

    def _asked(self, event: Event) -> None:
        asked = Asked(self.record.session_id, int(event["level"]), int(event["served_id"]))
        again = asked == self.pending
        question = PlayedQuestion(
            level=asked.level,
            question_id=str(event["question_id"]),
            text=str(event["text"]),
            options=tuple(event["options"]),
        )
        kept = self.record.questions[:-1] if again else self.record.questions
        self.record = replace(self.record, questions=(*kept, question))
        self.pending, self.sent = asked, self.sent and again

    def _judged(self, event: Event) -> None:
        self.pending, self.sent = None, False
        question = self.question
        if question is None:
            return
        waited_s = float(event["waited_s"])
        self._change(
            seconds={**question.seconds, "wait": waited_s} if waited_s else question.seconds,
            correct=event["correct"],
            timed_out=bool(event["timed_out"]),
            notes=(*question.notes, *event["notes"]),
            overhead_s=float(event["overhead_s"]),
        )
        reached = self.record.level_reached
        if event["correct"]:
            reached = max(reached, question.level)
        self.record = replace(self.record, level_reached=reached, prize=float(event["earned"]))

    def _ended(self, event: Event) -> None:
        end = End(event["end"])
        reached = self.record.level_reached
        self.ended = True
        self.record = replace(
            self.record,
            end=end,
            finished=str(event["at"]),
            prize=float(event["prize"]),
            problem=str(event["problem"]),
            level_reached=self.record.max_level if end is End.WON else reached,
        )

    def _change(self, **values: Any) -> None:
        question = self.question
        if question is not None:
            changed = replace(question, **values)
            self.record = replace(self.record, questions=(*self.record.questions[:-1], changed))
