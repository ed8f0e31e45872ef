"""Leaderboards: each player's best game of a competition and mode."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from harness.games.practice._games import Games, settle_expired
from harness.games.practice._rules import Mode

__all__ = ["Entry", "leaderboard"]

# Best amount first; of equal games the earlier one, then the smaller account id.
_QUERY = """
WITH finished AS (
    SELECT account_id, earned, reached, finished_wall_s, ROW_NUMBER() OVER (
        PARTITION BY account_id ORDER BY earned DESC, finished_wall_s, id
    ) AS place
    FROM game
    WHERE competition_id = :competition AND mode = :mode AND status <> 'in_progress'
)
SELECT a.id, a.username, f.earned, f.reached, f.finished_wall_s, (
    SELECT count(*) FROM game AS g
    WHERE g.competition_id = :competition AND g.mode = :mode AND g.account_id = a.id
)
FROM finished AS f JOIN account AS a ON a.id = f.account_id
WHERE f.place = 1
ORDER BY f.earned DESC, f.finished_wall_s, a.id
LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line; ``trials`` counts all games of the player here, running ones included."""

    account_id: int
    username: str
    score: int
    reached: int
    finished_wall_s: float
    trials: int


def leaderboard(
    connection: sqlite3.Connection, competition_id: int, mode: Mode, limit: int, games: Games
) -> list[Entry]:
    """Return the best players, at most ``limit``; games whose time ran out are settled first."""
    settle_expired(connection, competition_id, mode, games)
    rows = connection.execute(
        _QUERY, {"competition": competition_id, "mode": mode.value, "limit": limit}
    )
    return [Entry(*row) for row in rows]
