"""What a game loop may ask of a quiz, whichever way it is reached.

:class:`~harness.games.client.QuizClient` speaks the protocol itself;
:class:`~harness.games.adapter.ReadyClient` wraps a client object that is
there already.
"""

from __future__ import annotations

from typing import Protocol

from harness.games.audio import Clip
from harness.games.verdict import AnswerOutcome
from harness.games.wire import Competition, CompetitionConfig, GameState, Leaderboard, Mode, User

__all__ = ["Game", "Quiz"]


class Game(Protocol):
    """One game.  Calls are made one after the other."""

    @property
    def state(self) -> GameState:
        """Where the game stood when it was last heard of."""

    def remaining_s(self) -> float | None:
        """Return the seconds left to answer, by the safest estimate.

        ``None`` while no time runs: the game is over, or a spoken question's
        last option has not been asked for.
        """

    async def refresh(self) -> GameState:
        """Ask where the game stands."""

    async def answer(self, option_id: int) -> AnswerOutcome:
        """Answer the question that ``state`` asks; never sent twice blindly."""

    async def declare_timeout(self) -> AnswerOutcome:
        """Tell the server that the time is over."""

    async def question_audio(self) -> Clip:
        """Return the spoken question."""

    async def next_option_audio(self) -> Clip:
        """Return the next spoken option, in order; the last one starts the clock."""

    async def option_audio(self, place: int) -> Clip:
        """Return a spoken option that has been delivered before, from 0."""


class Quiz(Protocol):
    """A quiz server.  Every method may raise a :class:`~harness.games.errors.QuizError`."""

    async def login(self) -> User:
        """Log in."""

    async def competitions(self) -> tuple[Competition, ...]:
        """Return the competitions."""

    async def config(self, competition_id: int) -> CompetitionConfig:
        """Return a competition's levels and prizes."""

    async def leaderboard(
        self, competition_id: int, *, mode: Mode = "text", limit: int = 10
    ) -> Leaderboard:
        """Return a competition's leaderboard."""

    async def start(self, competition_id: int, mode: Mode = "text") -> Game:
        """Start a game."""

    async def aclose(self) -> None:
        """Hang up."""
