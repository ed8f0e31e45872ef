"""Two runs, or several against a baseline, on the questions that they share.

``docs/comparison.md`` defines every number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from harness.errors import BadInputError
from harness.quiz import Basis, Category
from harness.scoring.holm import holm
from harness.scoring.latency_ratios import TimeRatio, late_counts, time_ratios
from harness.scoring.paired import Design, PairedResult, paired_result
from harness.scoring.pairing import KNOWN, TWO_TRUTHS, Pairing, pair_runs
from harness.scoring.run_table import RunTable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "BasisLine",
    "Comparison",
    "Design",
    "Grouping",
    "compare_all",
    "compare_runs",
    "flips",
]

Grouping = Literal["category", "level", "tag"]
"""What questions can be grouped by; a question with two tags counts in both."""

MAX_RUNS = 26  # they are called by letters
_NO_LEVEL = "no level"
_JUDGED = (  # all that groups of questions are made from
    *("truth", "right_a", "right_b", "cluster", "category_a", "level_a", "tags_a"),
    *("basis_a", "basis_b"),
)


@dataclass(frozen=True, slots=True)
class BasisLine:
    """Answers by what they rest on: how many, and right ones, of each run.

    Which answers fall under a basis differs between the runs, so these
    describe and test nothing.
    """

    basis: str
    n_a: int
    right_a: int
    n_b: int
    right_b: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against its baseline.

    ``questions`` is the number of pairs; ``known`` of them enter ``overall``,
    ``open_truth`` have no known right answer, and ``two_truths`` different
    ones in the two runs.  The difference over *all* pairs lies between
    ``bound_low`` and ``bound_high``, whatever is not known.  ``answers_differ``
    counts pairs with other answers, whether or not the verdict differs.
    ``timed`` pairs have a total time in both runs; ``late_a`` and ``late_b``
    of them took longer than was allowed.
    """

    a: RunTable
    b: RunTable
    names: tuple[str, str]
    design: Design
    pairing: Pairing
    same_results: bool
    questions: int
    known: int
    open_truth: int
    two_truths: int
    overall: PairedResult
    bound_low: float
    bound_high: float
    answers_differ: int
    by: Grouping
    groups: Mapping[str, PairedResult]
    bases: tuple[BasisLine, ...]
    times: tuple[TimeRatio, ...]
    timed: int
    late_a: int
    late_b: int


def compare_all(
    runs: Sequence[RunTable], *, design: Design | None = None, by: Grouping = "category"
) -> list[Comparison]:
    """Return every run against the first, their p-values adjusted for being several.

    Raises :class:`~harness.errors.BadInputError` for fewer than two runs or
    more than 26.
    """
    if not 2 <= len(runs) <= MAX_RUNS:
        raise BadInputError(
            f"Between 2 and {MAX_RUNS} runs can be compared, not {len(runs)}.",
            remedy="Name the baseline first, then what is compared with it.",
        )
    letters = [chr(ord("A") + number) for number in range(len(runs))]
    found = [
        compare_runs(runs[0], run, design=design, by=by, names=(letters[0], letter))
        for run, letter in zip(runs[1:], letters[1:], strict=True)
    ]
    if len(found) == 1:
        return found
    adjusted = holm([comparison.overall.p for comparison in found])
    return [
        replace(comparison, overall=replace(comparison.overall, p_adjusted=p))
        for comparison, p in zip(found, adjusted, strict=True)
    ]


def compare_runs(
    a: RunTable,
    b: RunTable,
    *,
    design: Design | None = None,
    by: Grouping = "category",
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Return run ``b`` compared with its baseline ``a``.

    Raises :class:`~harness.errors.BadInputError` for an unknown grouping, a
    margin outside 0 to 1 or a confidence that is not between 0 and 1.
    """
    import polars as pl

    design = design or Design()
    _check(design, by)
    pairing = pair_runs(a, b)
    pairs = pairing.pairs
    known = pairs.select(_JUDGED).filter(pl.col("truth") == KNOWN)
    groups = {name: _result(part, pairing, design) for name, part in _grouped(known, by)}
    two_truths = int((pairs["truth"] == TWO_TRUTHS).sum())
    allowed_s = (_allowed_s(a), _allowed_s(b))
    timed, late_a, late_b = late_counts(pairs, allowed_s)
    low, high = _bounds(pairs)
    return Comparison(
        a=a,
        b=b,
        names=names,
        design=design,
        pairing=pairing,
        same_results=a.digest is not None and a.digest == b.digest,
        questions=pairs.height,
        known=known.height,
        open_truth=pairs.height - known.height - two_truths,
        two_truths=two_truths,
        overall=_result(known, pairing, design),
        bound_low=low,
        bound_high=high,
        answers_differ=int(
            pairs.select(pl.col("answer_text_a").ne_missing(pl.col("answer_text_b")).sum()).item()
        ),
        by=by,
        groups=_adjusted(groups),
        bases=_bases(known),
        times=tuple(
            time_ratios(pairs, clustered=bool(pairing.clustered), confidence=design.confidence)
        ),
        timed=timed,
        late_a=late_a,
        late_b=late_b,
    )


def flips(comparison: Comparison, limit: int | None = None) -> list[dict[str, Any]]:
    """Return questions whose verdict differs, lost ones first, then by category and id.

    Each as a dictionary: ``change`` (*lost* or *gained*), ``question_id``,
    ``category``, ``gold``, and for ``a`` and ``b`` the answer, its basis,
    degradations, and numbers of documents and passages.  Of more than
    ``limit`` some of either kind are given.
    """
    import polars as pl

    found = comparison.pairing.pairs.filter(
        (pl.col("truth") == KNOWN) & (pl.col("right_a") != pl.col("right_b"))
    ).sort("right_b", "category_a", "question_id_a")
    if limit is not None:
        lost, gained = comparison.overall.lost, comparison.overall.gained
        first = min(lost, max(limit - gained, (limit + 1) // 2))
        found = pl.concat([found.head(first), found.slice(lost, limit - first)])
    return [_flip(row) for row in found.iter_rows(named=True)]


def _flip(row: Mapping[str, Any]) -> dict[str, Any]:
    def side(run: str) -> dict[str, Any]:
        return {
            "question_id": row[f"question_id_{run}"],
            "answer": row[f"answer_text_{run}"],
            "basis": row[f"basis_{run}"],
            "documents": row[f"documents_{run}"],
            "passages": row[f"passages_{run}"],
            "degradations": row[f"degradations_{run}"],
        }

    return {
        "change": "gained" if row["right_b"] else "lost",
        "question_id": row["question_id_a"],
        "category": row["category_a"],
        "gold": row["gold"],
        "a": side("a"),
        "b": side("b"),
    }


def _check(design: Design, by: str) -> None:
    if by not in get_args(Grouping):
        raise BadInputError(f"Questions can't be grouped by '{by}'.")
    if not 0 <= design.margin < 1:
        raise BadInputError("The margin must lie between 0 and 100 points.")
    if not 0 < design.confidence < 1:
        raise BadInputError("The confidence must lie between 0 and 1.")


def _allowed_s(run: RunTable) -> float:
    return run.seconds_setting("time.allowed_s", 30.0)


def _result(pairs: pl.DataFrame, pairing: Pairing, design: Design) -> PairedResult:
    clusters = pairs["cluster"].to_numpy() if pairing.clustered else None
    right = [pairs[f"right_{run}"].cast(bool).to_numpy() for run in "ab"]
    return paired_result(right[0], right[1], clusters, design)


def _grouped(known: pl.DataFrame, by: Grouping) -> list[tuple[str, pl.DataFrame]]:
    """Return the groups in their usual order: the quiz's categories, levels upwards, tags."""
    import polars as pl

    if by == "tag":
        frame = known.with_columns(pl.col("tags_a").list.unique().alias("group"))
        frame = frame.explode("group").filter(pl.col("group").is_not_null())
    else:
        frame = known.with_columns(pl.col(f"{by}_a").alias("group"))
    parts = {key[0]: part for key, part in frame.partition_by("group", as_dict=True).items()}
    place: dict[Any, int] = {category.value: number for number, category in enumerate(Category)}
    if by == "level":
        ordered = sorted(parts, key=lambda level: (level is None, level or 0))
    else:
        ordered = sorted(parts, key=lambda name: (place.get(name, len(place)), name))
    return [(_NO_LEVEL if name is None else str(name), parts[name]) for name in ordered]


def _adjusted(groups: Mapping[str, PairedResult]) -> dict[str, PairedResult]:
    adjusted = holm([result.p for result in groups.values()])
    return {
        name: replace(result, p_adjusted=p)
        for (name, result), p in zip(groups.items(), adjusted, strict=True)
    }


def _bases(known: pl.DataFrame) -> tuple[BasisLine, ...]:
    import polars as pl

    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for run in "ab":
        table = known.group_by(f"basis_{run}").agg(pl.len(), pl.col(f"right_{run}").sum())
        for basis, n, right in table.iter_rows():
            counts.setdefault(basis, {})[run] = (n, right)
    place = {basis.value: number for number, basis in enumerate(Basis)}
    ordered = sorted(counts, key=lambda name: (place.get(name, len(place)), name))
    none = (0, 0)
    return tuple(
        BasisLine(name, *counts[name].get("a", none), *counts[name].get("b", none))
        for name in ordered
    )


def _bounds(pairs: pl.DataFrame) -> tuple[float, float]:
    """Return between what the difference over all pairs lies, whatever is not known.

    Where two answers of open truth are the same text, they are right or wrong
    together.
    """
    import polars as pl

    if not pairs.height:
        return -1.0, 1.0
    a, b = pl.col("right_a"), pl.col("right_b")
    alike = (pl.col("answer_text_a") == pl.col("answer_text_b")).fill_null(False)
    alike &= a.is_null() & b.is_null()

    def least(lower: Any, upper: Any) -> Any:
        """``lower`` as wrong where it is open, less ``upper`` as right where it is open."""
        distance = lower.fill_null(False).cast(int) - upper.fill_null(True).cast(int)
        return pl.when(alike).then(0).otherwise(distance).mean()

    low, high = pairs.select(least(b, a).alias("low"), (-least(a, b)).alias("high")).row(0)
    return float(low), float(high)
