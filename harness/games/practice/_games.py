"""What can be done to a game, each inside one transaction.

Every function reads the game, lets :mod:`_rules` decide and writes the
outcome, so that whatever was acknowledged is stored and an answer counts once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from harness.games.practice._game_rows import (
    add_game,
    read_game,
    read_serving,
    ticking_games,
    write_game,
)
from harness.games.practice._pool import Competition, Serving
from harness.games.practice._refusal import Refusal
from harness.games.practice._rules import (
    Game,
    Mode,
    Moment,
    Status,
    after_answer,
    clip_delivered,
    expired,
    on_time,
    started,
)
from harness.games.practice._time import ServerTime

__all__ = ["Clip", "Games", "Verdict", "View", "settle_expired"]

_UNKNOWN = "There is no such game."
_MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class View:
    """A game and, while it runs, the question it waits for."""

    game: Game
    serving: Serving | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an answer: ``correct`` is ``None`` where nothing was judged."""

    view: View
    correct: bool | None
    timed_out: bool


@dataclass(frozen=True, slots=True)
class Clip:
    """Something to be spoken: option ``position`` of a level, or the question (``None``)."""

    text: str
    level: int
    position: int | None


@dataclass(frozen=True, slots=True)
class Games:
    """The operations, with the clock and limits they are judged by.

    Each takes the connection and the player's account id first, and raises
    :class:`Refusal` where the protocol says 400 or 404.
    """

    time: ServerTime
    limit_s: float
    grace_s: float

    def start(
        self,
        connection: sqlite3.Connection,
        account_id: int,
        competition: Competition,
        mode: Mode,
        material: Callable[[int], str],
    ) -> View:
        """Start a game: all its questions are drawn and kept, the first is served.

        ``material`` turns the number of this trial (the player's n-th game
        here in this mode, from 1) into what the draw depends on.
        """
        (before,) = connection.execute(
            "SELECT count(*) FROM game WHERE competition_id = ? AND mode = ? AND account_id = ?",
            (competition.id, mode.value, account_id),
        ).fetchone()
        servings = competition.draw(material(before + 1))
        game = add_game(
            connection, account_id, competition.id, mode, servings, self.time.now().wall_s
        )
        game = write_game(connection, started(game, self.time.now(), self.limit_s))
        return View(game, servings[0])

    def state(self, connection: sqlite3.Connection, account_id: int, game_id: int) -> View:
        """Return how a game stands now."""
        return _view(connection, self._load(connection, account_id, game_id))

    def answer(
        self,
        connection: sqlite3.Connection,
        account_id: int,
        game_id: int,
        position: int,
        arrived: Moment,
    ) -> Verdict:
        """Judge an answer that arrived then, and serve the next question if it was right.

        A late answer, also a repeated one, is told that the time was up; any
        other finished game refuses answers.
        """
        game = self._load(connection, account_id, game_id, arrived)
        if game.status is Status.TIMEOUT:
            return Verdict(View(game, None), None, True)
        serving = read_serving(connection, _running(game))
        if not 0 <= position < len(serving.options):
            raise Refusal(400, f"optionId must be 0 to {len(serving.options) - 1}.")
        right = serving.options[position] == serving.options[serving.right]
        now = self.time.now()
        connection.execute(
            "UPDATE serving SET answered = ?, answered_wall_s = ? WHERE game_id = ? AND level = ?",
            (position, now.wall_s, game.id, game.level),
        )
        game = write_game(connection, after_answer(game, right, self.time.now(), self.limit_s))
        return Verdict(_view(connection, game), right, False)

    def time_out(
        self, connection: sqlite3.Connection, account_id: int, game_id: int, arrived: Moment
    ) -> Verdict:
        """Take a player's word that the time is up, if it is.

        Otherwise the game goes on, and the verdict says so.
        """
        game = self._load(connection, account_id, game_id, arrived)
        if game.running and game.expiry and game.expiry.remaining_s(arrived) <= 0:
            game = write_game(connection, expired(game, self.time.now()))
        if game.status is Status.TIMEOUT:
            return Verdict(View(game, None), None, True)
        return Verdict(_view(connection, _running(game)), None, False)

    def question_clip(self, connection: sqlite3.Connection, account_id: int, game_id: int) -> Clip:
        """Return the current question as something to be spoken."""
        game, serving = self._spoken(connection, account_id, game_id)
        return Clip(serving.text, game.level, None)

    def next_clip(self, connection: sqlite3.Connection, account_id: int, game_id: int) -> Clip:
        """Return the option whose turn it is; nothing counts as delivered yet."""
        game, serving = self._spoken(connection, account_id, game_id)
        if game.clips >= len(serving.options):
            raise Refusal(400, "All options of this question have been delivered.")
        return _option_clip(game, serving, game.clips)

    def given_clip(
        self, connection: sqlite3.Connection, account_id: int, game_id: int, position: int
    ) -> Clip:
        """Return an option that was delivered before."""
        game, serving = self._spoken(connection, account_id, game_id)
        if not 0 <= position < game.clips:
            raise Refusal(400, "This option has not been delivered yet.")
        return _option_clip(game, serving, position)

    def deliver(
        self, connection: sqlite3.Connection, account_id: int, game_id: int, clip: Clip
    ) -> bool:
        """Count an option's clip as delivered; the last one starts the clock.

        ``False`` when the game has moved on since the clip was asked for.
        """
        game, serving = self._spoken(connection, account_id, game_id)
        if (game.level, game.clips) != (clip.level, clip.position):
            return False
        write_game(
            connection, clip_delivered(game, len(serving.options), self.time.now(), self.limit_s)
        )
        return True

    def _load(
        self,
        connection: sqlite3.Connection,
        account_id: int,
        game_id: int,
        arrived: Moment | None = None,
    ) -> Game:
        """Return a player's game, ended by the clock where its time is up."""
        game = read_game(connection, game_id, account_id) if game_id <= _MAX_ID else None
        if game is None:
            raise Refusal(404, _UNKNOWN)
        if game.running and not on_time(game, arrived or self.time.now(), self.grace_s):
            game = write_game(connection, expired(game, self.time.now()))
        return game

    def _spoken(
        self, connection: sqlite3.Connection, account_id: int, game_id: int
    ) -> tuple[Game, Serving]:
        game = self._load(connection, account_id, game_id)
        if game.mode is not Mode.SPEECH:
            raise Refusal(400, "This game is played in text; it has no audio.")
        return game, read_serving(connection, _running(game))


def settle_expired(
    connection: sqlite3.Connection, competition_id: int, mode: Mode, games: Games
) -> None:
    """End the games of a leaderboard whose players never came back in time."""
    now = games.time.now()
    for game in ticking_games(connection, competition_id, mode):
        if not on_time(game, now, games.grace_s):
            write_game(connection, expired(game, now))


def _running(game: Game) -> Game:
    if not game.running:
        raise Refusal(400, f"This game is over: {game.status.value}.")
    return game


def _option_clip(game: Game, serving: Serving, position: int) -> Clip:
    label = f"Option {'ABCDEFGH'[position]}."
    return Clip(f"{label} {serving.options[position]}", game.level, position)


def _view(connection: sqlite3.Connection, game: Game) -> View:
    return View(game, read_serving(connection, game) if game.running else None)
