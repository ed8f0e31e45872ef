"""A finished run as a table: read whole, checked by columns, named for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import BadInputError, MissingError
from harness.replay.digest import results_digest
from harness.replay.rows import COLUMNS, schema, to_frame
from harness.replay.run_folder import ANSWERS, FORMAT, MANIFEST, RunDamagedError, read_manifest

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CLUSTER", "RunTable", "load_run", "table_of_rows"]

CLUSTER = "game"
"""Column that names the game of a question, where rows have one."""

_HEAVY = ("output", "option_ids")  # large, and no comparison looks at them
_SLICE = 2_000  # rows whose text is held at a time while the digest is checked
_FORMAT_FAMILY = "hotseat-run/"


@dataclass(frozen=True, slots=True)
class RunTable:
    """A run's rows as a polars table with the columns of ``answers.parquet``.

    The models' outputs and the option ids are left out.  A further column
    ``game`` names the game of a question, where it is there.
    """

    name: str
    frame: pl.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def digest(self) -> str | None:
        """The results digest, where the manifest names one."""
        return self.manifest.get("digest")

    @property
    def expected(self) -> int:
        """How many questions were to be played."""
        questions = self.manifest.get("questions")
        n = questions.get("n") if isinstance(questions, Mapping) else None
        return n if isinstance(n, int) else self.frame.height

    def seconds_setting(self, name: str, default_s: float) -> float:
        """Return a setting of seconds from the manifest."""
        settings = self.manifest.get("settings")
        value = settings.get(name) if isinstance(settings, Mapping) else None
        return float(value) if isinstance(value, int | float) else default_s


def table_of_rows(
    rows: Iterable[Mapping[str, Any]], name: str, manifest: Mapping[str, Any] | None = None
) -> RunTable:
    """Return rows as a table, as :func:`load_run` does for a run folder."""
    import polars as pl

    found = list(rows)
    games = [row.get(CLUSTER) for row in found]
    plain = [{c.name: row[c.name] for c in COLUMNS} for row in found]
    frame = to_frame(plain)
    if any(game is not None for game in games):
        of = {str(row["question_id"]): game for row, game in zip(plain, games, strict=True)}
        named = [of[question_id] for question_id in frame["question_id"]]
        frame = frame.with_columns(pl.Series(CLUSTER, named, dtype=pl.String))
    _check_rows(frame, name)
    return RunTable(name, frame.drop(_HEAVY), manifest or {})


def load_run(path: Path, name: str = "") -> RunTable:
    """Return a finished run.

    Raises :class:`~harness.errors.MissingError` where there is none,
    :class:`~harness.errors.BadInputError` for one that is unfinished, comes
    from another version of Hotseat or holds a question twice, and
    :class:`~harness.replay.run_folder.RunDamagedError` when its table is
    missing, unreadable or no longer has the digest that its manifest names.
    """
    import polars as pl

    manifest = _manifest(path)
    if manifest["status"] != "finished":
        raise BadInputError(
            f"The run in {path} is not finished, so there is nothing to compare yet.",
            remedy=f"hotseat replay --resume {path}",
        )
    file = path / ANSWERS
    try:
        columns = _columns(file, pl.read_parquet_schema(file))
        frame = pl.read_parquet(file, columns=columns).select(columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0][:200]
        raise RunDamagedError(f"{file} can't be read: {first}") from None
    _check_rows(frame, str(file))
    if not _has_digest(frame, manifest.get("digest")):
        raise RunDamagedError(
            f"{file} does not have the results digest that its manifest names.",
            remedy="It was changed after the run; replay it again.",
        )
    return RunTable(name or path.name or str(path), frame.drop(_HEAVY), manifest, path)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        return read_manifest(path)
    except MissingError:
        raise
    except RunDamagedError:
        found = _format(path / MANIFEST)
        if found is None or not found.startswith(_FORMAT_FAMILY):
            raise
        raise BadInputError(
            f"The run in {path} has the format {found[:40]}; this Hotseat reads {FORMAT}.",
            remedy="Update Hotseat, or replay it with this version.",
        ) from None


def _format(file: Path) -> str | None:
    """Return the format that a manifest names, where it can be made out at all."""
    try:
        with file.open("rb") as source:
            named = json.loads(source.read(1 << 20)).get("format")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return named if isinstance(named, str) and named != FORMAT else None


def _columns(file: Path, found: Mapping[str, Any]) -> list[str]:
    """Return the columns to read; raises when they are not those of this version."""
    wanted = schema()
    odd = [name for name, kind in wanted.items() if found.get(name) != kind]
    if odd:
        some = ", ".join(odd[:3]) + (f" and {len(odd) - 3} more" if len(odd) > 3 else "")
        raise RunDamagedError(
            f"{file} was written by another version: it lacks the columns {some}, "
            "or holds something else in them.",
            remedy="Replay it with this version.",
        )
    game = [CLUSTER] if CLUSTER in found and CLUSTER not in wanted else []
    return [*wanted, *game]


def _check_rows(frame: pl.DataFrame, where: str) -> None:
    """Refuse a table in which a question counts twice or a needed value is missing."""
    import polars as pl

    needed = [column.name for column in COLUMNS if not column.nullable]
    gaps = [name for name in needed if frame[name].null_count()]
    known = (pl.col("gold_kind") == "known") != pl.col("gold_text").is_not_null()
    if gaps or frame.select(known.any()).item():
        raise RunDamagedError(f"A row of {where} lacks its {gaps[0] if gaps else 'gold_text'}.")
    twice = frame.filter(pl.col("question_id").is_duplicated())["question_id"].unique().sort()
    if len(twice):
        more = f", and so have {len(twice) - 1} others" if len(twice) > 1 else ""
        raise BadInputError(
            f"Question '{twice[0]}' has more than one row in {where}{more}.",
            remedy="It would count twice in every number: compare one run at a time.",
        )


def _has_digest(frame: pl.DataFrame, wanted: object) -> bool:
    """Whether a table has a results digest.

    The text that is hashed is first written by polars, many times faster than
    by Python.  Where it comes out differently the rows decide, one by one.
    """
    import polars as pl

    names = sorted(column.name for column in COLUMNS if not column.is_time)
    ordered = frame.select(names)
    if not ordered["question_id"].is_sorted():  # as it was written, it is
        ordered = ordered.sort("question_id")
    state = hashlib.sha256(b"[")
    for start in range(0, ordered.height, _SLICE):
        part = ordered.slice(start, _SLICE).select(pl.struct(pl.all()).struct.json_encode())
        text = ",".join(part.to_series().to_list())
        state.update(("," if start else "").encode() + text.encode())
    state.update(b"]")
    if f"sha256:{state.hexdigest()}" == wanted:
        return True
    return results_digest(ordered.iter_rows(named=True)) == wanted
