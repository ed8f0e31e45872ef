"""Experiments in a notebook: games under changed settings, one table row a game."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.protocol import Quiz
from harness.games.records import GameListener, GameRecord, Transcriber
from harness.games.wire import Mode
from harness.quiz import Category
from harness.settings import Settings, current, override, resolve, without_login
from harness.trace import STAGES

if TYPE_CHECKING:
    import polars as pl

    from harness.contestant.protocol import Contestant

__all__ = ["STAGE_COLUMNS", "games_table", "run_experiment"]

STAGE_COLUMNS = tuple(f"t_{stage}_s" for stage in ("hear", *STAGES, "wait"))
"""Mean seconds a question by stage; ``wait`` is for the quiz server."""


def run_experiment(
    category: str | Category,
    mode: Mode = "text",
    games: int = 1,
    *,
    overrides: Mapping[str, Any] | None = None,
    server: str = "http://127.0.0.1:8000",
    record: Path | str | None = None,
    preset: str = "cpu",
    search: bool = True,
    credentials: Credentials | None = None,
    quiz: Quiz | None = None,
    load_contestant: Callable[[Settings], Contestant] | None = None,
    transcriber: Transcriber | None = None,
    listener: GameListener | None = None,
) -> pl.DataFrame:
    """Play ``games`` games and return one row each; see :func:`games_table` for the columns.

    ``overrides`` are settings by dotted name, in force for these games only;
    an enclosing ``with harness.settings.override(…)`` counts as well.  The
    other arguments are those of :func:`~harness.games.playing.play_games` and
    its request.  Games that an earlier call left are settled first and are no
    rows.  Interrupted, it returns the rows so far, with a warning.

    Raises :class:`~harness.errors.SettingError` for an unknown setting, before
    a model is loaded, and as ``play_games`` does.
    """
    changes = dict(overrides or {})
    outside, plain = current().flat(), resolve().settings.flat()
    in_force = {name: value for name, value in outside.items() if value != plain[name]}
    with override(changes) as settings:  # refuses unknown names, puts the former values back
        # As they were understood, which is JSON: "60", 60 and numpy's 60 are one experiment.
        values = settings.flat()
        told = {name: values[name] for name in {**in_force, **changes}}
        request = PlayRequest(
            server=server,
            plan=((str(category), mode),),
            games=games,
            record=Path(record) if record is not None else None,
            preset=preset,
            assignments={**in_force, **changes},
            search=search,
        )
        outcome = play_games(
            request,
            credentials=credentials,
            quiz=quiz,
            load_contestant=load_contestant,
            transcriber=transcriber,
            listener=listener,
        )
    for problem in outcome.problems:
        warnings.warn(problem, stacklevel=2)
    if outcome.interrupted:
        warnings.warn(
            f"Interrupted after {len(outcome.records)} of {games} games; these are the rows.",
            stacklevel=2,
        )
    return games_table(outcome.records, overrides=told)


def games_table(
    records: Iterable[GameRecord], *, overrides: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Return games as a table with the same columns and types for any number of them.

    ``game`` numbers them from 1, ``seconds`` is how long a game took,
    ``question_s`` the mean seconds from serving to answer; columns ``t_…_s``
    are means over a game's questions, null for a stage that never ran.
    ``asked``, ``judged``, ``right`` and ``late`` count questions.
    ``overrides`` is a JSON object, so tables of several experiments can be
    put together and told apart; a login inside an address is left out.
    """
    import polars as pl

    shown = {name: without_login(value) for name, value in (overrides or {}).items()}
    # What JSON doesn't know becomes text: played games are not lost over a name.
    told = json.dumps(shown, sort_keys=True, ensure_ascii=False, default=str)
    rows = [_row(number, record, told) for number, record in enumerate(records, start=1)]
    return pl.DataFrame(rows, schema=_schema(), strict=True)


def _row(number: int, record: GameRecord, overrides: str) -> dict[str, Any]:
    questions = record.questions
    means: dict[str, float | None] = {}
    for column in STAGE_COLUMNS:
        stage = column.removeprefix("t_").removesuffix("_s")
        ran = any(stage in one.seconds for one in questions)
        total = sum(one.seconds.get(stage, 0.0) for one in questions)
        means[column] = total / len(questions) if ran else None
    return {
        "game": number,
        "server": record.server,
        "player": record.player,
        "competition": record.competition,
        "category": str(record.category) if record.category else None,
        "mode": record.mode,
        "session_id": record.session_id,
        "started": record.started,
        "seconds": _seconds(record),
        "level_reached": record.level_reached,
        "max_level": record.max_level,
        "prize": record.prize,
        "end": record.end.value,
        "asked": len(questions),
        "judged": record.judged,
        "right": record.right,
        "late": sum(one.timed_out for one in questions),
        "question_s": fmean(one.taken_s for one in questions) if questions else None,
        **means,
        "overhead_s": fmean(one.overhead_s for one in questions) if questions else None,
        "resumed": record.resumed,
        "problem": record.problem,
        "overrides": overrides,
    }


def _seconds(record: GameRecord) -> float | None:
    if record.finished is None:
        return None
    begun, over = datetime.fromisoformat(record.started), datetime.fromisoformat(record.finished)
    return (over - begun).total_seconds()


def _schema() -> pl.Schema:
    import polars as pl

    texts = ("server", "player", "competition", "category", "mode")
    counts = ("asked", "judged", "right", "late")
    return pl.Schema(
        {
            "game": pl.Int64(),
            **dict.fromkeys(texts, pl.String()),
            "session_id": pl.Int64(),
            "started": pl.String(),
            "seconds": pl.Float64(),
            "level_reached": pl.Int64(),
            "max_level": pl.Int64(),
            "prize": pl.Float64(),
            "end": pl.String(),
            **dict.fromkeys(counts, pl.Int64()),
            "question_s": pl.Float64(),
            **dict.fromkeys(STAGE_COLUMNS, pl.Float64()),
            "overhead_s": pl.Float64(),
            "resumed": pl.Boolean(),
            "problem": pl.String(),
            "overrides": pl.String(),
        }
    )
