"""What is known of played games: values only, made by the game loop, read by everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from harness.games.audio import Clip
from harness.games.wire import Mode
from harness.quiz import Basis, Category

__all__ = ["End", "GameListener", "GamePlan", "GameRecord", "PlayedQuestion", "Transcriber"]


class End(StrEnum):
    """Why a game is over, or why we stopped playing it."""

    WON = "won"  # every level answered right
    WRONG = "wrong answer"
    LATE = "too late"
    BROKEN = "broken off"  # the server can't be reached, or says what can't be understood
    STOPPED = "stopped"  # by the player: Ctrl-C, a signal, a full disk


@dataclass(frozen=True, slots=True)
class PlayedQuestion:
    """One question of a game, and what came of it.

    ``question_id`` is its name in a question file that games add to, and
    ``options`` are the texts as served, by position.  ``chosen`` is the option
    text that was sent, ``None`` when nothing was.  ``correct`` is ``None`` for
    a late answer and where the server's verdict was never heard.  Seconds:
    ``seconds`` by stage of the answer (``search``, ``generate``, …, and
    ``wait`` for the quiz server), ``taken_s`` from the serving to the moment
    the answer was sent, ``left_s`` what was left of the allowance then,
    ``overhead_s`` what the loop itself took: everything but stages and waiting.
    """

    level: int
    question_id: str
    text: str
    options: tuple[str, ...]
    chosen: str | None = None
    correct: bool | None = None
    timed_out: bool = False
    basis: Basis | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    taken_s: float = 0.0
    left_s: float | None = None
    overhead_s: float = 0.0
    degradations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game: which, how far it came, and why it ended.

    ``level_reached`` counts the levels answered right, ``prize`` is what the
    server says was earned.  ``started`` and ``finished`` are ISO 8601 in UTC.
    ``resumed`` says that more than one process played it.  ``problem`` is a
    sentence where the end is ``BROKEN`` or ``STOPPED``.
    """

    server: str
    player: str
    session_id: int
    competition_id: int
    competition: str
    category: Category | None
    mode: Mode
    started: str
    finished: str | None
    max_level: int
    level_reached: int
    prize: float
    end: End
    questions: tuple[PlayedQuestion, ...] = ()
    resumed: bool = False
    problem: str = ""

    @property
    def judged(self) -> int:
        """How many answers the server judged, late ones included: the denominator."""
        return sum(one.correct is not None or one.timed_out for one in self.questions)

    @property
    def right(self) -> int:
        """How many answers were judged right."""
        return sum(one.correct is True for one in self.questions)


@dataclass(frozen=True, slots=True)
class GamePlan:
    """One game that is about to be played: the ``number``-th of ``total`` (from 1)."""

    number: int
    total: int
    competition: str
    mode: Mode


class GameListener:
    """Told what happens while games are played; this one does nothing with it.

    Called from the thread of the game loop, never concurrently, and never for
    long: what it does is part of the loop's overhead.
    """

    def planned(self, plan: GamePlan) -> None:
        """Hear that a game is about to start."""

    def started(self, record: GameRecord, *, resumed: bool) -> None:
        """Hear that a game runs; ``resumed``: it was begun by an earlier process."""

    def asked(self, record: GameRecord, question: PlayedQuestion, left_s: float | None) -> None:
        """Hear a question, before anything is done about it."""

    def stage(self, name: str, seconds: float) -> None:
        """Hear that a stage of the answer is done and what it took."""

    def noted(self, facts: Mapping[str, Any]) -> None:
        """Hear facts of the answer as :meth:`harness.trace.Trace.note` gets them.

        ``query``, ``hits``, ``documents``, ``passages``, ``output``, …: JSON values.
        """

    def answering(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Hear what is about to be sent."""

    def judged(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Hear the verdict on it."""

    def ended(self, record: GameRecord) -> None:
        """Hear that a game is over, or that we stopped playing it."""

    def problem(self, sentence: str) -> None:
        """Hear what went less than well, in one sentence."""


class Transcriber(Protocol):
    """Hears clips; the game loop calls it from a thread of its own, one clip at a time."""

    def transcribe(self, clip: Clip, *, category: Category | None, prompt: str) -> str:
        """Return the text of a clip; ``prompt`` is what was heard before it in the question.

        An option comes with its spoken label ("Option A."), which is not part
        of the text returned.
        """
