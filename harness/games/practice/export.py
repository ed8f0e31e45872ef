"""A server's games as the journal that Hotseat's own games are written in.

People who play on the page are recorded like agents, so they are one of the
baselines: ``hotseat games FOLDER`` reads what this writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.atomic import atomic_file
from harness.errors import BadInputError
from harness.games.learned import question_name
from harness.games.practice._database import Database
from harness.games.practice._pool import COMPETITIONS
from harness.games.practice._rules import PYRAMID, Status
from harness.games.presented import present
from harness.games.records import End
from harness.quiz import Category

__all__ = ["export_games"]

_ENDS = {
    Status.COMPLETED: End.WON,
    Status.FAILED: End.WRONG,
    Status.TIMEOUT: End.LATE,
}
_GAMES = (
    "SELECT game.id, username, competition_id, mode, max_levels, status, reached, earned, "
    "started_wall_s, finished_wall_s FROM game JOIN account ON account.id = game.account_id "
    "WHERE status != 'in_progress' {which} ORDER BY game.id"
)


def export_games(database: Database, folder: Path, *, player: str | None = None) -> int:
    """Write the finished games of ``player`` (``None``: of everybody) as a journal.

    ``folder/games.jsonl`` appears whole or not at all.  Returns how many games
    that were.  Raises :class:`~harness.errors.BadInputError` when there are
    none, a journal is there already, or it can't be written.
    """
    path = folder / "games.jsonl"
    if path.exists():
        raise BadInputError(f"{path} is there already.", remedy="Name another folder.")
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, exclusive=True) as file:
            for events in database.transact(lambda connection: list(_games(connection, player))):
                for event in events:
                    file.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")
                count += 1
            if not count:
                whose = f"'{player}'" if player is not None else "anybody"
                raise BadInputError(f"There is no finished game of {whose}.")
    except OSError as error:
        raise BadInputError(f"Can't write to {folder}: {error.strerror or error}.") from None
    return count


def _games(connection: sqlite3.Connection, player: str | None) -> Iterator[list[dict[str, Any]]]:
    which, values = ("AND username = ?", (player,)) if player is not None else ("", ())
    for row in connection.execute(_GAMES.format(which=which), values).fetchall():
        yield _events(connection, row)


def _events(connection: sqlite3.Connection, row: tuple[Any, ...]) -> list[dict[str, Any]]:
    number, username, competition, mode, levels, status, _, earned, begun_s, over_s = row
    name, category = COMPETITIONS[competition]
    game = {"game": f"practice-{number}"}
    events: list[dict[str, Any]] = [
        {
            "event": "started",
            **game,
            "server": "practice",
            "player": username,
            "session_id": number,
            "competition_id": competition,
            "competition": name,
            "category": category.value,
            "mode": mode,
            "max_level": levels,
            "level": 1,
            "at": _stamp(begun_s),
        }
    ]
    served_s = begun_s
    for level, text, options, right, answered, answered_s in connection.execute(
        "SELECT level, text, options, right, answered, answered_wall_s FROM serving "
        "WHERE game_id = ? ORDER BY level",
        (number,),
    ).fetchall():
        late = answered is None
        texts = json.loads(options)
        asked = {"level": level, "served_id": level}
        events.append({"event": "asked", **game, **asked, **_question(category, text, texts)})
        if not late:
            events.append({"event": "answering", **game, **asked, **_answer(answered, texts)})
            events[-1]["taken_s"] = round(max(0.0, answered_s - served_s), 3)
        correct = None if late else texts[answered] == texts[right]
        events.append(
            {
                "event": "judged",
                **game,
                "level": level,
                "correct": correct,
                "timed_out": late,
                "earned": _earned(level if correct else level - 1),
                "overhead_s": 0.0,
                "waited_s": 0.0,
                "notes": [],
            }
        )
        if not correct:
            break
        served_s = answered_s
    end = _ENDS[Status(status)].value
    over = {"end": end, "prize": earned, "problem": "", "at": _stamp(over_s or served_s)}
    return [*events, {"event": "ended", **game, **over}]


def _earned(levels: int) -> int:
    return PYRAMID[levels - 1] if levels else 0


def _question(category: Category, text: str, texts: list[str]) -> dict[str, Any]:
    presented = present(category, text, tuple(enumerate(texts)), level=None)
    return {"question_id": question_name(presented.question), "text": text, "options": texts}


def _answer(position: int, texts: list[str]) -> dict[str, Any]:
    return {
        "option_id": position,
        "chosen": texts[position],
        "basis": None,
        "seconds": {},
        "left_s": None,
        "degradations": [],
        "notes": [],
    }


def _stamp(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds")
