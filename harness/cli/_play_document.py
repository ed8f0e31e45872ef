"""What came of played games as one JSON document."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.scoring.intervals import wilson

if TYPE_CHECKING:
    from pathlib import Path

    from harness.games.playing import PlayOutcome
    from harness.games.records import GameRecord, PlayedQuestion

__all__ = ["games_document"]


def games_document(
    outcome: PlayOutcome,
    *,
    server: str,
    corpus: Path | None = None,
    replay: str | None = None,
) -> dict[str, Any]:
    """Return the numbers of games as JSON values.

    Accuracy is over all questions that were judged, late ones among them as
    wrong: a game stops at its first error, so a mean of the games' own shares
    would be too low.
    """
    games = [*outcome.settled, *outcome.records]
    questions = [question for game in games for question in game.questions]
    prizes = [game.prize for game in games]
    return {
        "server": server,
        "player": games[0].player if games else None,
        "games": [_game(game) for game in outcome.records],
        "settled": [_game(game) for game in outcome.settled],
        "accuracy": _accuracy(questions),
        "best_prize": max(prizes, default=None),
        "mean_prize": statistics.fmean(prizes) if prizes else None,
        "best_level": max((game.level_reached for game in games), default=None),
        "mean_level": statistics.fmean(game.level_reached for game in games) if games else None,
        "late": sum(question.timed_out for question in questions),
        "by_category": _groups(games, lambda game: str(game.category)),
        "by_competition": _competitions(games),
        "by_basis": _bases(questions),
        "by_end": dict(Counter(game.end.value for game in games).most_common()),
        "degradations": dict(
            Counter(code for question in questions for code in question.degradations).most_common()
        ),
        "stages": _stages(questions),
        "seconds": _seconds([question.taken_s for question in questions]),
        "overhead": _seconds([question.overhead_s for question in questions]),
        "problems": list(outcome.problems),
        "interrupted": outcome.interrupted,
        "leaderboards": [
            {
                "competition": competition.name,
                "mode": mode,
                "entries": [asdict(entry) for entry in board.entries],
            }
            for competition, mode, board in outcome.leaderboards
        ],
        "corpus": str(corpus) if corpus is not None else None,
        "replay": replay,
    }


def _game(game: GameRecord) -> dict[str, Any]:
    return {
        "session_id": game.session_id,
        "competition": game.competition,
        "category": str(game.category) if game.category else None,
        "mode": game.mode,
        "started": game.started,
        "finished": game.finished,
        "level_reached": game.level_reached,
        "max_level": game.max_level,
        "prize": game.prize,
        "end": game.end.value,
        "problem": game.problem,
        "resumed": game.resumed,
        "judged": game.judged,
        "right": game.right,
        "late": sum(question.timed_out for question in game.questions),
        "seconds": _seconds([question.taken_s for question in game.questions]),
        "questions": [asdict(question) for question in game.questions],
    }


def _accuracy(questions: Sequence[PlayedQuestion]) -> dict[str, Any]:
    judged = [one for one in questions if one.correct is not None or one.timed_out]
    right = sum(one.correct is True for one in judged)
    interval = wilson(right, len(judged))
    return {
        "judged": len(judged),
        "right": right,
        "estimate": right / len(judged) if judged else None,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _groups(
    games: Iterable[GameRecord], key: Callable[[GameRecord], str]
) -> dict[str, dict[str, Any]]:
    found: dict[str, list[PlayedQuestion]] = defaultdict(list)
    for game in games:
        found[key(game)].extend(game.questions)
    return {name: _accuracy(questions) for name, questions in found.items()}


def _competitions(games: Sequence[GameRecord]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[GameRecord]] = defaultdict(list)
    for game in games:
        found[game.competition, game.mode].append(game)
    return [
        {
            "competition": competition,
            "category": str(some[0].category) if some[0].category else None,
            "mode": mode,
            "games": len(some),
            "best_level": max(game.level_reached for game in some),
            "mean_level": statistics.fmean(game.level_reached for game in some),
            "max_level": some[0].max_level,
            "best_prize": max(game.prize for game in some),
            "accuracy": _accuracy([one for game in some for one in game.questions]),
            "seconds": _seconds([one.taken_s for game in some for one in game.questions]),
        }
        for (competition, mode), some in found.items()
    ]


def _bases(questions: Sequence[PlayedQuestion]) -> dict[str, dict[str, Any]]:
    found: dict[str, list[PlayedQuestion]] = defaultdict(list)
    for question in questions:
        if question.basis is not None:
            found[question.basis.value].append(question)
    return {name: _accuracy(some) for name, some in found.items()}


def _stages(questions: Sequence[PlayedQuestion]) -> dict[str, Any]:
    found: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        for stage, seconds in question.seconds.items():
            found[stage].append(seconds)
    return {stage: _seconds(some) for stage, some in found.items()}


def _seconds(values: Sequence[float]) -> Mapping[str, float | int] | None:
    if not values:
        return None
    ordered = sorted(values)
    place = max(0, -(-9 * len(ordered) // 10) - 1)  # nearest rank
    return {
        "n": len(ordered),
        "median_s": round(statistics.median(ordered), 4),
        "p90_s": round(ordered[place], 4),
        "max_s": round(ordered[-1], 4),
    }
