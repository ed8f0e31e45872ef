"""What somebody who watches may see of others' games."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from harness.games.practice._game_rows import read_game
from harness.games.practice._games import Games, View
from harness.games.practice._refusal import Refusal
from harness.games.practice._rules import Mode

__all__ = ["Past", "Seen", "running_games", "seen_game"]

_MAX_LISTED = 50
_MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Past:
    """A question that was answered: its texts are ``None`` in speech mode."""

    level: int
    text: str | None
    chosen: str | None
    right: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A game as it is watched."""

    username: str
    view: View
    past: tuple[Past, ...]


def running_games(
    connection: sqlite3.Connection, games: Games, *, account_id: int | None = None
) -> list[Seen]:
    """Return the games that run, or a player's, the newest first, 50 at most.

    Those whose time is up are ended.
    """
    rows = connection.execute(
        "SELECT id FROM game WHERE status = 'in_progress' AND account_id = ifnull(?, account_id) "
        "ORDER BY id DESC LIMIT ?",
        (account_id, _MAX_LISTED),
    ).fetchall()
    found = [seen_game(connection, games, number) for (number,) in rows]
    return [one for one in found if one.view.game.running]


def seen_game(connection: sqlite3.Connection, games: Games, game_id: int) -> Seen:
    """Return a game of anybody's, and what was answered in it.

    Raises :class:`Refusal` 404 when there is none.
    """
    row = None
    if game_id <= _MAX_ID:
        row = connection.execute(
            "SELECT account.id, account.username FROM game JOIN account "
            "ON account.id = game.account_id WHERE game.id = ?",
            (game_id,),
        ).fetchone()
    if row is None or read_game(connection, game_id, row[0]) is None:
        raise Refusal(404, "There is no such game.")
    view = games.state(connection, row[0], game_id)
    shown = view.game.mode is Mode.TEXT
    past = []
    for level, text, options, right, answered in connection.execute(
        "SELECT level, text, options, right, answered FROM serving "
        "WHERE game_id = ? AND answered IS NOT NULL ORDER BY level",
        (game_id,),
    ):
        texts = json.loads(options)
        past.append(
            Past(
                level,
                text if shown else None,
                texts[answered] if shown else None,
                texts[answered] == texts[right],
            )
        )
    return Seen(row[1], view, tuple(past))
