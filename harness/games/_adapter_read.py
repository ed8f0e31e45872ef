"""Values out of a ready client's objects, checked like a reply off the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from harness.games.errors import (
    QuizError,
    QuizLoginError,
    QuizNotFoundError,
    QuizProtocolError,
    QuizRateLimitError,
    QuizRefusedError,
    QuizUnreachableError,
)
from harness.games.wire import (
    AnswerResult,
    Competition,
    CompetitionConfig,
    GameState,
    GameStatus,
    Leaderboard,
    Mode,
    User,
    read_answer,
    read_competitions,
    read_config,
    read_leaderboard,
    read_state,
)

__all__ = [
    "mapped",
    "read_board",
    "read_list",
    "read_one_config",
    "read_result",
    "read_session",
    "read_who",
]

_MAX_WORDS = 200
_KINDS: tuple[tuple[str, type[QuizError]], ...] = (
    ("AuthenticationError", QuizLoginError),
    ("NotFoundError", QuizNotFoundError),
    ("ValidationError", QuizRefusedError),
    ("RateLimitError", QuizRateLimitError),
)


def mapped(operation: str, error: Exception) -> QuizError:
    """Return our error for a ready client's, told apart by the names of its classes."""
    if isinstance(error, QuizError):
        return error
    names = {kind.__name__ for kind in type(error).__mro__}
    kind = next((ours for name, ours in _KINDS if name in names), QuizUnreachableError)
    if kind is QuizLoginError:  # its words may repeat what was sent
        words = ""
    else:
        words = "".join(char if char.isprintable() else " " for char in str(error)[:_MAX_WORDS])
    said = f": {words.rstrip('.')}" if words.strip() else ""
    return kind(
        f"The ready client failed at '{operation}' ({type(error).__name__}){said}.",
        operation=operation,
    )


def read_who(user: Any, username: str) -> User:
    """Return who a login's reply names; one that names nobody is the user who asked."""
    number, name, role = (_get(user, key) for key in ("id", "username", "role"))
    return User(
        number if isinstance(number, int) else 0,
        name if isinstance(name, str) else username,
        role if isinstance(role, str) else "",
    )


def read_list(found: Any) -> tuple[Competition, ...]:
    """Return competitions."""
    names = ("id", "name", "description", "maxLevels", "isInfinite", "questionCount")
    items = [_fields(item, names) | _flag(item, "isInfinite") for item in _listed(found)]
    return read_competitions(_body({"competitions": items}))


def read_one_config(found: Any) -> CompetitionConfig:
    """Return a competition's configuration, without its prize formula."""
    fields = _fields(found, ("id", "name", "maxLevels")) | _flag(found, "isInfinite")
    return read_config(_body(fields | {"moneyPyramid": _pyramid(found)}))


def read_board(found: Any, competition_id: int) -> Leaderboard:
    """Return a leaderboard."""
    names = ("id", "username", "score", "reachedLevel", "finishedAt", "totalTrials")
    entries = []
    for place, item in enumerate(_listed(_get(found, "entries"))):
        entries.append({"id": place, "totalTrials": 0} | _fields(item, names))
    return read_leaderboard(_body({"competition": competition_id, "entries": entries}))


def read_session(session: Any, mode: Mode, competition_id: int | None) -> GameState:
    """Return where a ready client's game stands.

    A game that is not in progress and has no ``status`` gets the status
    ``ended``.
    """
    status, running = _get(session, "status"), _get(session, "inProgress")
    if not isinstance(status, str):
        status = getattr(status, "value", None)  # an enumeration
    if not isinstance(status, str):
        if not isinstance(running, bool):
            raise QuizProtocolError(
                "The ready client's game has neither 'status' nor 'in_progress'.",
                remedy="See docs/quiz-client.md for what it must have.",
                operation="state",
            )
        status = GameStatus.IN_PROGRESS.value if running else "ended"
    names = ("sessionId", "earnedAmount", "currentLevel", "maxLevel", "questionDeadline")
    state = _fields(session, names)
    state |= {"competition": competition_id, "status": status, "mode": mode}
    state |= {"moneyPyramid": _pyramid(session), "question": _question(session)}
    return read_state(_body(state))


def read_result(result: Any) -> AnswerResult:
    """Return what a ready client says of an answer; the next question is not part of it."""
    names = ("correct", "gameOver", "earnedAmount", "timedOut", "status", "currentLevel")
    return read_answer(_body(_fields(result, (*names, "reachedLevel"))))


def _question(session: Any) -> dict[str, Any] | None:
    question = _get(session, "currentQuestion")
    if question is None:
        return None
    options = [_fields(option, ("id", "text")) for option in _listed(_get(question, "options"))]
    return _fields(question, ("id", "text", "level")) | {"options": options}


def _pyramid(thing: Any) -> list[dict[str, Any]]:
    return [_fields(step, ("level", "amount")) for step in _listed(_get(thing, "moneyPyramid"))]


def _flag(item: Any, name: str) -> dict[str, bool]:
    return {name: bool(_get(item, name))}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else []


def _fields(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return attributes by their names on the wire; those that are missing are left out."""
    return {name: value for name in names if (value := _get(thing, name)) is not None}


def _get(thing: Any, name: str) -> Any:
    """Return an attribute or entry, spelt as on the wire or as Python does."""
    python_name = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    for spelling in (python_name, name):
        value = thing.get(spelling) if isinstance(thing, dict) else getattr(thing, spelling, None)
        if value is not None:
            return value
    return None


def _body(fields: dict[str, Any]) -> bytes:
    """Return what the wire would have carried, so that one reader checks both."""
    try:
        return json.dumps(fields, default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        raise QuizProtocolError(
            "The ready client's objects hold something that is neither text nor number.",
            remedy="See docs/quiz-client.md for what they must have.",
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    inner = getattr(value, "value", None)  # an enumeration
    if isinstance(inner, str | int):
        return inner
    raise TypeError(type(value).__name__)
