"""The rules of the game as values and functions, without I/O.

Fifteen levels, 30 seconds a question, no milestones: the first wrong or late
answer ends the game and keeps the amount of the last level answered right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

__all__ = [
    "GRACE_S",
    "LEVELS",
    "LIMIT_S",
    "OPTIONS",
    "PYRAMID",
    "Expiry",
    "Game",
    "Mode",
    "Moment",
    "Status",
    "after_answer",
    "clip_delivered",
    "expired",
    "on_time",
    "started",
]

PYRAMID = (
    100,
    200,
    300,
    500,
    1_000,
    2_000,
    4_000,
    8_000,
    16_000,
    32_000,
    64_000,
    128_000,
    256_000,
    512_000,
    1_024_000,
)
LEVELS = len(PYRAMID)
OPTIONS = 4
LIMIT_S = 30.0
# An answer that left in time may wait this long for a busy server to look at its clock.
GRACE_S = 0.05


class Mode(StrEnum):
    """How questions are asked."""

    TEXT = "text"
    SPEECH = "speech"


class Status(StrEnum):
    """How a game stands, in the protocol's words."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Moment:
    """A reading of both clocks.

    ``monotonic_s`` readings compare only within one ``boot``; ``wall_s`` is
    seconds since 1970 and can be put back by whoever sets the clock.
    """

    monotonic_s: float
    wall_s: float
    boot: str


@dataclass(frozen=True, slots=True)
class Expiry:
    """When a question's time is up, and when that was decided, on both clocks."""

    monotonic_s: float
    wall_s: float
    boot: str
    set_wall_s: float

    @classmethod
    def after(cls, limit_s: float, now: Moment) -> Expiry:
        """Return the expiry ``limit_s`` seconds from ``now``."""
        return cls(now.monotonic_s + limit_s, now.wall_s + limit_s, now.boot, now.wall_s)

    def remaining_s(self, now: Moment) -> float:
        """Return the seconds left; negative when the time is up.

        Within one boot of the machine, server restarts included, the
        monotonic clock decides.  Afterwards only the wall clock is left; one
        that was put back can't tell how long it was, so the time is up.
        """
        if now.boot == self.boot:
            return self.monotonic_s - now.monotonic_s
        if now.wall_s < self.set_wall_s:
            return float("-inf")
        return self.wall_s - now.wall_s


@dataclass(frozen=True, slots=True)
class Game:
    """One game: who plays what, how far it is, and the clock of its question.

    ``level`` is that of the current question, from 1, and stays where the game
    ended; ``reached`` counts the levels answered right; ``clips`` the options
    of the current question that were delivered as speech.
    """

    id: int
    account_id: int
    competition_id: int
    mode: Mode
    max_levels: int
    status: Status
    level: int
    reached: int
    clips: int
    expiry: Expiry | None
    finished_wall_s: float | None = None

    @property
    def running(self) -> bool:
        """Whether a question is waiting for its answer."""
        return self.status is Status.IN_PROGRESS

    @property
    def earned(self) -> int:
        """The amount of the last level answered right."""
        return PYRAMID[self.reached - 1] if self.reached else 0


def started(game: Game, now: Moment, limit_s: float) -> Game:
    """Return ``game`` with its current question served at ``now``."""
    expiry = Expiry.after(limit_s, now) if game.mode is Mode.TEXT else None
    return replace(game, clips=0, expiry=expiry)


def on_time(game: Game, arrived: Moment, grace_s: float) -> bool:
    """Return whether something that arrived then may still count for the question."""
    return game.expiry is None or game.expiry.remaining_s(arrived) >= -grace_s


def expired(game: Game, now: Moment) -> Game:
    """Return ``game`` ended by the clock, as of when its time was up."""
    ended_wall_s = game.expiry.wall_s if game.expiry else now.wall_s
    return replace(game, status=Status.TIMEOUT, expiry=None, finished_wall_s=ended_wall_s)


def after_answer(game: Game, right: bool, now: Moment, limit_s: float) -> Game:
    """Return ``game`` after an answer in time: over, or with the next question served."""
    if not right:
        return replace(game, status=Status.FAILED, expiry=None, finished_wall_s=now.wall_s)
    game = replace(game, reached=game.level)
    if game.level >= game.max_levels:
        return replace(game, status=Status.COMPLETED, expiry=None, finished_wall_s=now.wall_s)
    return started(replace(game, level=game.level + 1), now, limit_s)


def clip_delivered(game: Game, options: int, now: Moment, limit_s: float) -> Game:
    """Return ``game`` after the next option's clip; the last one starts the clock."""
    clips = game.clips + 1
    return replace(
        game,
        clips=clips,
        expiry=Expiry.after(limit_s, now) if clips == options else game.expiry,
    )
