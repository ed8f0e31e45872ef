"""Games and their questions as rows of the database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from harness.games.practice._pool import Serving
from harness.games.practice._rules import Expiry, Game, Mode, Status

__all__ = ["add_game", "read_game", "read_serving", "ticking_games", "write_game"]

_COLUMNS = (
    "id, account_id, competition_id, mode, max_levels, status, level, reached, clips, "
    "expiry_monotonic_s, expiry_wall_s, expiry_boot, expiry_set_wall_s, finished_wall_s"
)


def add_game(
    connection: sqlite3.Connection,
    account_id: int,
    competition_id: int,
    mode: Mode,
    servings: Sequence[Serving],
    started_wall_s: float,
) -> Game:
    """Add a game with all questions that it will ask; none is served yet."""
    done = connection.execute(
        "INSERT INTO game (account_id, competition_id, mode, max_levels, status, level, "
        "reached, clips, earned, started_wall_s) VALUES (?, ?, ?, ?, ?, 1, 0, 0, 0, ?)",
        (
            account_id,
            competition_id,
            mode.value,
            len(servings),
            Status.IN_PROGRESS.value,
            started_wall_s,
        ),
    )
    assert done.lastrowid is not None
    connection.executemany(
        "INSERT INTO serving (game_id, level, question_id, text, options, right) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (done.lastrowid, s.level, s.question_id, s.text, json.dumps(s.options), s.right)
            for s in servings
        ],
    )
    return Game(
        done.lastrowid,
        account_id,
        competition_id,
        mode,
        len(servings),
        Status.IN_PROGRESS,
        level=1,
        reached=0,
        clips=0,
        expiry=None,
    )


def read_game(connection: sqlite3.Connection, game_id: int, account_id: int) -> Game | None:
    """Return a player's game, ``None`` where this player has no such game."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM game WHERE id = ? AND account_id = ?",  # noqa: S608
        (game_id, account_id),
    ).fetchone()
    return _game(row) if row else None


def ticking_games(connection: sqlite3.Connection, competition_id: int, mode: Mode) -> list[Game]:
    """Return the games whose current question has its clock running."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM game WHERE status = 'in_progress' "  # noqa: S608
        "AND competition_id = ? AND mode = ? AND expiry_boot IS NOT NULL",
        (competition_id, mode.value),
    )
    return [_game(row) for row in rows]


def read_serving(connection: sqlite3.Connection, game: Game) -> Serving:
    """Return the current question of a game."""
    number, text, options, right = connection.execute(
        "SELECT question_id, text, options, right FROM serving WHERE game_id = ? AND level = ?",
        (game.id, game.level),
    ).fetchone()
    return Serving(game.level, number, text, tuple(json.loads(options)), right)


def _game(row: tuple[Any, ...]) -> Game:
    number, account, competition, mode, levels, status, level, reached, clips, *times = row
    monotonic_s, wall_s, boot, set_wall_s, finished_wall_s = times
    expiry = None if boot is None else Expiry(monotonic_s, wall_s, boot, set_wall_s)
    return Game(
        number,
        account,
        competition,
        Mode(mode),
        levels,
        Status(status),
        level,
        reached,
        clips,
        expiry,
        finished_wall_s,
    )


def write_game(connection: sqlite3.Connection, game: Game) -> Game:
    """Store how a game stands, and return it."""
    expiry = game.expiry
    times = (expiry.monotonic_s, expiry.wall_s, expiry.boot, expiry.set_wall_s) if expiry else ()
    connection.execute(
        "UPDATE game SET status = ?, level = ?, reached = ?, clips = ?, earned = ?, "
        "expiry_monotonic_s = ?, expiry_wall_s = ?, expiry_boot = ?, expiry_set_wall_s = ?, "
        "finished_wall_s = ? WHERE id = ?",
        (
            game.status.value,
            game.level,
            game.reached,
            game.clips,
            game.earned,
            *(times or (None,) * 4),
            game.finished_wall_s,
            game.id,
        ),
    )
    return game
