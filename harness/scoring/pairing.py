"""Which row of one run belongs to which row of another, and what is known of its truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.scoring.run_table import CLUSTER, RunTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KNOWN", "OPEN", "TWO_TRUTHS", "Pairing", "pair_runs"]

KNOWN, OPEN, TWO_TRUTHS = "known", "open", "two truths"

_OPTIONS = "option_set"
_QUESTION = ("question_key", _OPTIONS)
_KEPT = (
    *("question_id", "question_key", "category", "level", "tags", "gold_text", "refused"),
    *("answer_text", "basis", "degradations", "documents", "passages"),
)
_ONCE = ("question_key", "category", "level", "tags")  # of the first run: the same, or it decides
_PLACE = "place"
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two runs' rows side by side.

    ``pairs`` has the kept columns of either run with ``_a`` or ``_b`` behind
    their names, ``gold`` (what either run knows), ``truth`` (*known*, *open*,
    or *two truths* where the runs contradict each other), ``right_a`` and
    ``right_b`` (null where gold can't tell) and ``cluster``, a number.  ``only_a`` and
    ``only_b`` hold ``question_id``, ``category`` and ``reason`` of rows without
    a partner.  ``clustered`` says by what questions belong together: *game*,
    *repeated question* or, where all are independent, nothing.
    """

    pairs: pl.DataFrame
    only_a: pl.DataFrame
    only_b: pl.DataFrame
    clustered: str


def pair_runs(a: RunTable, b: RunTable) -> Pairing:
    """Return the rows of two runs, paired by question.

    Two rows are of one question when category, text (as ``question_key`` has
    it) and the set of option texts agree: with other options it is another
    question.  Ids only decide between several such rows.  The order of rows
    and of options makes no difference.
    """
    left, right = _keys(a.frame, "a"), _keys(b.frame, "b")
    by_id = _joined(left, right, (*_QUESTION, "question_id"))
    left_rest, right_rest = _without(left, by_id, "a"), _without(right, by_id, "b")
    by_text = _joined(_single(left_rest, "a"), _single(right_rest, "b"), _QUESTION)
    pairs, clustered = _clustered(_judged(_side_by_side(a.frame, b.frame, by_id.vstack(by_text))))
    return Pairing(
        pairs,
        _alone(_without(left_rest, by_text, "a"), right, "a"),
        _alone(_without(right_rest, by_text, "b"), left, "b"),
        clustered,
    )


def _keys(frame: pl.DataFrame, run: str) -> pl.DataFrame:
    """Return what decides on partners, and the place of each row."""
    import polars as pl

    # A hash is enough: it only tells apart option sets of one and the same question.
    options = pl.col("options").list.sort().list.join(_SEPARATOR).hash().alias(_OPTIONS)
    keys = frame.select("question_id", "question_key", "category", options)
    return keys.with_row_index(_PLACE).rename(lambda name: f"{name}_{run}")


def _joined(left: pl.DataFrame, right: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Return the places and ids of rows that agree in ``names``."""
    joined = left.join(
        right,
        left_on=[f"{name}_a" for name in names],
        right_on=[f"{name}_b" for name in names],
        how="inner",
        coalesce=False,
    )
    return joined.select(f"{name}_{run}" for run in "ab" for name in (_PLACE, "question_id"))


def _side_by_side(a: pl.DataFrame, b: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Return the rows themselves, by the first run's ids; only now are they copied."""
    import polars as pl

    ordered = places.sort("question_id_a")
    sides = []
    for run, frame in (("a", a), ("b", b)):
        times = [name for name in frame.columns if name.startswith("t_")]
        given = CLUSTER in frame.columns
        game = pl.col(CLUSTER).cast(pl.String) if given else pl.lit(None, pl.String).alias(CLUSTER)
        columns = [name for name in _KEPT if run == "a" or name not in _ONCE]
        side = frame.select(*columns, *times, game)[ordered[f"{_PLACE}_{run}"]]
        sides.append(side.rename({name: f"{name}_{run}" for name in side.columns}))
    return pl.concat(sides, how="horizontal")


def _without(frame: pl.DataFrame, pairs: pl.DataFrame, run: str) -> pl.DataFrame:
    return frame.join(pairs, on=f"{_PLACE}_{run}", how="anti")


def _single(frame: pl.DataFrame, run: str) -> pl.DataFrame:
    """Return the rows whose question is there once: of several, none is *the* partner."""
    import polars as pl

    return frame.filter(pl.len().over([f"{name}_{run}" for name in _QUESTION]) == 1)


def _alone(rest: pl.DataFrame, other: pl.DataFrame, run: str) -> pl.DataFrame:
    """Return rows without a partner, each with the reason."""
    import polars as pl

    its = "b" if run == "a" else "a"

    def there(name: str) -> Any:
        return pl.col(f"{name}_{run}").is_in(other[f"{name}_{its}"].unique().implode())

    same_question = pl.struct(pl.col(f"{name}_{run}").alias(name) for name in _QUESTION).is_in(
        other.select(
            pl.struct(pl.col(f"{name}_{its}").alias(name) for name in _QUESTION).alias("question")
        )["question"]
        .unique()
        .implode()
    )
    reason = (
        pl.when(same_question)
        .then(pl.lit("asked more than once, under other ids"))
        .when(there("question_key"))
        .then(pl.lit("asked there with other options"))
        .when(there("question_id"))
        .then(pl.lit("another question has this id there"))
        .otherwise(pl.lit("not in the other run"))
    )
    return rest.select(
        pl.col(f"question_id_{run}").alias("question_id"),
        pl.col(f"category_{run}").alias("category"),
        reason.alias("reason"),
    ).sort("question_id")


def _judged(pairs: pl.DataFrame) -> pl.DataFrame:
    """Judge both answers by what either run knows of the truth."""
    import polars as pl

    def refused(text: str) -> Any:
        either = [pl.col(f"refused_{run}").list.contains(pl.col(text)) for run in "ab"]
        return pl.any_horizontal(either).fill_null(False) & pl.col(text).is_not_null()

    gold_a, gold_b = pl.col("gold_text_a"), pl.col("gold_text_b")
    contradicted = (
        (gold_a != gold_b).fill_null(False) | refused("gold_text_a") | refused("gold_text_b")
    )
    truth = (
        pl.when(contradicted)
        .then(pl.lit(TWO_TRUTHS))
        .when(pl.col("gold").is_not_null())
        .then(pl.lit(KNOWN))
        .otherwise(pl.lit(OPEN))
    )

    def right(run: str) -> Any:
        answer = pl.col(f"answer_text_{run}")
        known = (answer == pl.col("gold")).fill_null(False)
        # No answer is never right; a refused one is not, unless the runs contradict each other.
        wrong = answer.is_null() | (refused(f"answer_text_{run}") & (pl.col("truth") != TWO_TRUTHS))
        open_verdict = pl.when(wrong).then(pl.lit(False)).otherwise(pl.lit(None, pl.Boolean))
        return pl.when(pl.col("truth") == KNOWN).then(known).otherwise(open_verdict)

    return (
        pairs.with_columns(pl.coalesce(gold_a, gold_b).alias("gold"))
        .with_columns(truth.alias("truth"))
        .with_columns(right("a").alias("right_a"), right("b").alias("right_b"))
    )


def _clustered(pairs: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Label what belongs together: a game's questions, or one question asked again."""
    import polars as pl

    game = pl.coalesce(pl.col(f"{CLUSTER}_a"), pl.col(f"{CLUSTER}_b"))
    if pairs.select(game.is_not_null().any()).item():
        # A question outside any game stands alone; the prefixes keep the two apart.
        label = pl.coalesce("game " + game, "question " + pl.col("question_id_a"))
        return pairs.with_columns(label.rank("dense").alias("cluster")), "game"
    repeated = pairs["question_key_a"].is_duplicated().any()
    labelled = pairs.with_columns(pl.col("question_key_a").rank("dense").alias("cluster"))
    return labelled, "repeated question" if repeated else ""
