"""The quiz protocol's replies as values, read strictly and within bounds.

Fields that the protocol does not know are ignored; a nullable field may be
missing.  Every reader raises :class:`~harness.games.errors.QuizProtocolError`,
and nothing else, for bytes that don't fit.

Bounds: ids and levels are whole numbers below 2**63; a question's text has at
most 20,000 characters, an option's 5,000; 2 to 8 options with ids of their
own; a pyramid of at most 1,000 steps.
"""

from __future__ import annotations

from typing import get_args

from harness.errors import BadInputError
from harness.games._fields import MAX_INT, Fields, parse_json
from harness.games._values import (
    AnswerResult,
    Competition,
    CompetitionConfig,
    CompetitionRef,
    GameState,
    GameStatus,
    Leaderboard,
    LeaderboardEntry,
    Mode,
    PrizeConfig,
    PyramidStep,
    ServedOption,
    ServedQuestion,
    User,
)
from harness.quiz import MAX_OPTIONS, MIN_OPTIONS

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
    "parse_mode",
    "read_answer",
    "read_competitions",
    "read_config",
    "read_leaderboard",
    "read_state",
    "read_user",
]

_MAX_QUESTION_CHARS = 20_000
_MAX_OPTION_CHARS = 5_000
_MAX_DESCRIPTION_CHARS = 5_000
_MAX_STEPS = 1_000
_MAX_COMPETITIONS = 1_000
_MAX_ENTRIES = 1_000


def parse_mode(text: str) -> Mode:
    """Return the mode; raises :class:`~harness.errors.BadInputError` for another word."""
    if text == "text":
        return "text"
    if text == "speech":
        return "speech"
    raise BadInputError(
        f"Unknown mode '{text}'.", remedy=f"The modes are {' and '.join(get_args(Mode))}."
    )


def read_user(body: bytes, operation: str = "login") -> User:
    """Read the reply to *login* and *me*."""
    user = parse_json(body, operation).inner("user")
    return User(user.whole("id"), user.text("username"), user.maybe(user.text, "role") or "")


def read_competitions(body: bytes, operation: str = "competitions") -> tuple[Competition, ...]:
    """Read the list of competitions; every id may come once."""
    reply = parse_json(body, operation)
    if not reply.has("competitions"):
        raise reply.fault("'competitions' is missing")
    found = tuple(map(_competition, reply.objects("competitions", most=_MAX_COMPETITIONS)))
    if len({competition.id for competition in found}) < len(found):
        raise reply.fault("two competitions share one id")
    return found


def read_config(body: bytes, operation: str = "config") -> CompetitionConfig:
    """Read one competition's configuration."""
    reply = parse_json(body, operation)
    return CompetitionConfig(
        id=reply.whole("id"),
        name=reply.text("name"),
        max_levels=reply.whole("maxLevels"),
        is_infinite=reply.flag("isInfinite"),
        prizes=_prizes(reply.inner("prizeConfig")) if reply.has("prizeConfig") else None,
        money_pyramid=_pyramid(reply),
    )


def read_state(body: bytes, operation: str = "state") -> GameState:
    """Read where a game stands: the reply to *start* and *state*."""
    reply = parse_json(body, operation)
    mode = reply.text("mode")
    if mode not in get_args(Mode):
        raise reply.fault("'mode' is neither text nor speech")
    return GameState(
        session_id=reply.whole("sessionId"),
        competition=_ref(reply),
        status=reply.text("status", limit=64),
        earned_amount=reply.amount("earnedAmount"),
        current_level=reply.whole("currentLevel"),
        money_pyramid=_pyramid(reply),
        question_deadline=reply.maybe(reply.moment, "questionDeadline"),
        question=_question(reply),
        mode=parse_mode(mode),
        max_level=reply.maybe(reply.whole, "maxLevel"),
    )


def read_answer(body: bytes, operation: str = "answer") -> AnswerResult:
    """Read the reply to *answer* and *timeout*."""
    reply = parse_json(body, operation)
    return AnswerResult(
        correct=reply.maybe(reply.flag, "correct"),
        game_over=reply.flag("gameOver"),
        earned_amount=reply.amount("earnedAmount"),
        timed_out=reply.flag("timedOut"),
        status=reply.maybe(reply.text, "status"),
        current_level=reply.maybe(reply.whole, "currentLevel"),
        reached_level=reply.maybe(reply.whole, "reachedLevel"),
        question_deadline=reply.maybe(reply.moment, "questionDeadline"),
        question=_question(reply),
        money_pyramid=_pyramid(reply),
    )


def read_leaderboard(body: bytes, operation: str = "leaderboard") -> Leaderboard:
    """Read a leaderboard."""
    reply = parse_json(body, operation)
    entries = tuple(
        LeaderboardEntry(
            id=entry.whole("id"),
            username=entry.text("username"),
            score=entry.number("score"),
            reached_level=entry.whole("reachedLevel"),
            total_trials=entry.whole("totalTrials"),
            finished_at=entry.maybe(entry.text, "finishedAt"),
        )
        for entry in reply.objects("entries", most=_MAX_ENTRIES)
    )
    return Leaderboard(_ref(reply), entries)


def _competition(item: Fields) -> Competition:
    return Competition(
        id=item.whole("id"),
        name=item.text("name"),
        max_levels=item.whole("maxLevels"),
        is_infinite=item.flag("isInfinite"),
        description=item.maybe(
            lambda name: item.text(name, limit=_MAX_DESCRIPTION_CHARS), "description"
        ),
        created_at=item.maybe(item.text, "createdAt"),
        question_count=item.maybe(item.whole, "questionCount"),
    )


def _ref(reply: Fields) -> CompetitionRef:
    """Read ``competition``, whose shape the protocol leaves open: object, id or name."""
    value = reply.raw("competition")
    if isinstance(value, dict):
        inner = reply.inner("competition")
        return CompetitionRef(inner.maybe(inner.whole, "id"), inner.maybe(inner.text, "name"))
    if isinstance(value, str):
        return CompetitionRef(name=reply.text("competition"))
    return CompetitionRef(id=reply.maybe(reply.whole, "competition"))


def _prizes(item: Fields) -> PrizeConfig:
    levels = item.items("milestoneLevels", most=_MAX_STEPS)
    if not all(
        isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MAX_INT for n in levels
    ):
        raise item.fault("'milestoneLevels' holds something that is no level")
    return PrizeConfig(
        item.text("type"), item.amount("baseAmount"), item.number("growthRate"), tuple(levels)
    )


def _pyramid(reply: Fields) -> tuple[PyramidStep, ...]:
    return tuple(
        PyramidStep(step.whole("level"), step.amount("amount"))
        for step in reply.objects("moneyPyramid", most=_MAX_STEPS)
    )


def _question(reply: Fields) -> ServedQuestion | None:
    if not reply.has("question"):
        return None
    item = reply.inner("question")
    options = tuple(map(_option, item.objects("options", most=MAX_OPTIONS)))
    if len(options) < MIN_OPTIONS:
        raise item.fault(f"the question has fewer than {MIN_OPTIONS} options")
    if len({option.id for option in options}) < len(options):
        raise item.fault("two options share one id")
    return ServedQuestion(
        id=item.whole("id"),
        text=item.maybe(lambda name: item.text(name, limit=_MAX_QUESTION_CHARS), "text"),
        options=options,
        level=item.maybe(item.whole, "level"),
    )


def _option(item: Fields) -> ServedOption:
    text = item.text("text", limit=_MAX_OPTION_CHARS) if item.has("text") else None
    return ServedOption(item.whole("id"), text)
