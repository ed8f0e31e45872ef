"""The JSON shapes of the protocol, made from values."""

from __future__ import annotations

from typing import Any

from harness.games.practice._accounts import Account
from harness.games.practice._games import Verdict, View
from harness.games.practice._leaderboard import Entry
from harness.games.practice._pool import Competition
from harness.games.practice._rules import PYRAMID, Game, Mode
from harness.games.practice._time import iso

__all__ = [
    "answer_result",
    "competition_config",
    "competition_item",
    "game_state",
    "leaderboard_reply",
    "user_reply",
]


def user_reply(account: Account) -> dict[str, Any]:
    """Return ``{user: {id, username, role}}``."""
    return {"user": {"id": account.id, "username": account.username, "role": account.role}}


def competition_item(competition: Competition) -> dict[str, Any]:
    """Return a competition as the list shows it."""
    return {
        "id": competition.id,
        "name": competition.name,
        "description": competition.description,
        "maxLevels": competition.max_levels,
        "isInfinite": False,
        "questionCount": len(competition.questions),
    }


def competition_config(competition: Competition) -> dict[str, Any]:
    """Return a competition's configuration.

    There is no ``prizeConfig``: the amounts follow no growth rate.
    """
    return {
        "id": competition.id,
        "name": competition.name,
        "maxLevels": competition.max_levels,
        "isInfinite": False,
        "moneyPyramid": _pyramid(competition.max_levels),
    }


def game_state(view: View, competition: Competition) -> dict[str, Any]:
    """Return GameState; the question and its deadline are null once the game is over."""
    game = view.game
    return {
        "sessionId": game.id,
        "competition": competition_item(competition),
        "mode": game.mode.value,
        "status": game.status.value,
        "earnedAmount": game.earned,
        "currentLevel": game.level,
        "maxLevel": game.max_levels,
        "moneyPyramid": _pyramid(game.max_levels),
        "questionDeadline": _deadline(game),
        "question": _question(view),
    }


def answer_result(verdict: Verdict) -> dict[str, Any]:
    """Return AnswerResult.

    It always carries the pyramid: the official client builds its next state
    from this reply.  It never tells the right option.
    """
    game = verdict.view.game
    return {
        "correct": verdict.correct,
        "gameOver": not game.running,
        "earnedAmount": game.earned,
        "timedOut": verdict.timed_out,
        "status": game.status.value,
        "currentLevel": game.level,
        "reachedLevel": game.reached,
        "questionDeadline": _deadline(game),
        "question": _question(verdict.view),
        "moneyPyramid": _pyramid(game.max_levels),
    }


def leaderboard_reply(competition: Competition, entries: list[Entry]) -> dict[str, Any]:
    """Return a leaderboard, best first."""
    return {
        "competition": competition_item(competition),
        "entries": [
            {
                "id": entry.account_id,
                "username": entry.username,
                "score": entry.score,
                "reachedLevel": entry.reached,
                "finishedAt": iso(entry.finished_wall_s),
                "totalTrials": entry.trials,
            }
            for entry in entries
        ],
    }


def _pyramid(levels: int) -> list[dict[str, int]]:
    return [
        {"level": level, "amount": amount} for level, amount in enumerate(PYRAMID[:levels], start=1)
    ]


def _deadline(game: Game) -> str | None:
    return iso(game.expiry.wall_s) if game.expiry else None


def _question(view: View) -> dict[str, Any] | None:
    serving = view.serving
    if serving is None:
        return None
    shown = view.game.mode is Mode.TEXT
    return {
        "id": serving.question_id,
        "text": serving.text if shown else None,
        "level": serving.level,
        "options": [
            {"id": position, "text": text if shown else None}
            for position, text in enumerate(serving.options)
        ],
    }
