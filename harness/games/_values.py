"""The quiz protocol's values, as :mod:`harness.games.wire` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from harness.errors import BadInputError
from harness.quiz import Category

__all__ = [
    "AnswerResult",
    "Competition",
    "CompetitionConfig",
    "CompetitionRef",
    "GameState",
    "GameStatus",
    "Leaderboard",
    "LeaderboardEntry",
    "Mode",
    "PrizeConfig",
    "PyramidStep",
    "ServedOption",
    "ServedQuestion",
    "User",
]

Mode = Literal["text", "speech"]


class GameStatus(StrEnum):
    """The states of a game that the protocol names."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class User:
    """Who is logged in."""

    id: int
    username: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Competition:
    """One entry of the list of competitions."""

    id: int
    name: str
    max_levels: int
    is_infinite: bool
    description: str | None = None
    created_at: str | None = None
    question_count: int | None = None

    @property
    def category(self) -> Category | None:
        """The category that the name stands for, ``None`` for any other name."""
        try:
            return Category.parse(self.name)
        except BadInputError:
            return None


@dataclass(frozen=True, slots=True)
class CompetitionRef:
    """Which competition a game or a leaderboard belongs to, as far as the server says."""

    id: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PyramidStep:
    """What a level is worth."""

    level: int
    amount: float


@dataclass(frozen=True, slots=True)
class PrizeConfig:
    """How a competition's prizes grow."""

    type: str
    base_amount: float
    growth_rate: float
    milestone_levels: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CompetitionConfig:
    """A competition's levels and prizes."""

    id: int
    name: str
    max_levels: int
    is_infinite: bool
    prizes: PrizeConfig | None = None
    money_pyramid: tuple[PyramidStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedOption:
    """One option as served: its id is a position, its text is null in speech mode."""

    id: int
    text: str | None


@dataclass(frozen=True, slots=True)
class ServedQuestion:
    """A question as served."""

    id: int
    text: str | None
    options: tuple[ServedOption, ...]
    level: int | None = None

    def option(self, option_id: int) -> ServedOption | None:
        """Return the option of that id, ``None`` when there is none."""
        return next((option for option in self.options if option.id == option_id), None)


@dataclass(frozen=True, slots=True)
class GameState:
    """Where a game stands.

    ``question_deadline`` is by the server's clock, and null in speech mode
    until the last option has been delivered.
    """

    session_id: int
    competition: CompetitionRef
    status: str
    earned_amount: float
    current_level: int
    money_pyramid: tuple[PyramidStep, ...]
    question_deadline: datetime | None
    question: ServedQuestion | None
    mode: Mode
    max_level: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, for whatever reason."""
        return self.status != GameStatus.IN_PROGRESS


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """What the server says to an answer; the right option is never revealed.

    ``correct`` is ``None`` where nothing was learned, as for a late answer.
    """

    correct: bool | None
    game_over: bool
    earned_amount: float
    timed_out: bool
    status: str | None = None
    current_level: int | None = None
    reached_level: int | None = None
    question_deadline: datetime | None = None
    question: ServedQuestion | None = None
    money_pyramid: tuple[PyramidStep, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderboardEntry:
    """One line of a leaderboard."""

    id: int
    username: str
    score: float
    reached_level: int
    total_trials: int
    finished_at: str | None = None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A competition's leaderboard in one mode, best first as the server sent it."""

    competition: CompetitionRef
    entries: tuple[LeaderboardEntry, ...]
