"""Comparisons as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.scoring.compare import Comparison, flips
from harness.scoring.manifest_differences import manifest_differences
from harness.scoring.paired import PairedResult
from harness.scoring.pairing import TWO_TRUTHS
from harness.scoring.run_table import RunTable
from harness.scoring.verdict import caveats, verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["comparison_document", "pairs_csv"]


def comparison_document(
    comparisons: Sequence[Comparison], *, flip_limit: int | None = None
) -> dict[str, Any]:
    """Return comparisons with one baseline as JSON values; nothing is NaN.

    Keys: ``runs`` (by letter, the baseline first), ``differences`` between
    their manifests, ``margin``, ``confidence``, ``seed``, ``by`` and
    ``comparisons``, one a run.  ``flip_limit`` bounds the flipped questions of
    each; ``None`` gives all.
    """
    first = comparisons[0]
    runs = [first.a, *(comparison.b for comparison in comparisons)]
    letters = [first.names[0], *(comparison.names[1] for comparison in comparisons)]
    return {
        "baseline": letters[0],
        "runs": {letter: _run(run) for letter, run in zip(letters, runs, strict=True)},
        "differences": [
            {
                "part": found.part,
                "name": found.name,
                "values": dict(zip(letters, found.values, strict=True)),
            }
            for found in manifest_differences(run.manifest for run in runs)
        ],
        "margin": first.design.margin,
        "confidence": first.design.confidence,
        "seed": first.design.seed,
        "by": first.by,
        "comparisons": [_comparison(comparison, flip_limit) for comparison in comparisons],
    }


def pairs_csv(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as CSV: one line a pair, with both answers and verdicts."""
    import polars as pl

    columns = ["question_id_a", "question_id_b", "category_a", "level_a", "truth", "gold"]
    columns += [f"{name}_{run}" for run in "ab" for name in ("answer_text", "right", "basis")]
    columns += ["t_compute_s_a", "t_compute_s_b", "t_total_s_a", "t_total_s_b"]
    parts = [
        comparison.pairing.pairs.select(
            pl.lit(comparison.names[0]).alias("run_a"),
            pl.lit(comparison.names[1]).alias("run_b"),
            *columns,
        )
        for comparison in comparisons
    ]
    return str(pl.concat(parts).write_csv())


def _run(run: RunTable) -> dict[str, Any]:
    return {
        "name": run.name,
        "path": str(run.path) if run.path else None,
        "digest": run.digest,
        "questions": run.expected,
        "rows": run.frame.height,
    }


def _comparison(comparison: Comparison, flip_limit: int | None) -> dict[str, Any]:
    result = comparison.overall
    return {
        "runs": list(comparison.names),
        "verdict": verdict(comparison),
        "caveats": caveats(comparison),
        "same_results": comparison.same_results,
        "questions": comparison.questions,
        "known": comparison.known,
        "open_truth": comparison.open_truth,
        "two_truths": comparison.two_truths,
        "two_truth_ids": _two_truths(comparison.pairing.pairs),
        "overall": _result(result),
        "bound_low": comparison.bound_low,
        "bound_high": comparison.bound_high,
        "answers_differ": comparison.answers_differ,
        "groups": {name: _result(group) for name, group in comparison.groups.items()},
        "by_basis": [asdict(line) for line in comparison.bases],
        "unmatched": {
            "a": comparison.pairing.only_a.to_dicts(),
            "b": comparison.pairing.only_b.to_dicts(),
        },
        "flipped": result.lost + result.gained,
        "flips": flips(comparison, flip_limit),
        "times": [_rounded(asdict(line)) for line in comparison.times],
        "timed": comparison.timed,
        "late_a": comparison.late_a,
        "late_b": comparison.late_b,
    }


def _result(result: PairedResult) -> dict[str, Any]:
    n = result.n
    return {
        **asdict(result),
        "accuracy_a": _accuracy(result.right_a, n, asdict(result.accuracy_a)),
        "accuracy_b": _accuracy(result.right_b, n, asdict(result.accuracy_b)),
    }


def _accuracy(right: int, n: int, interval: Mapping[str, float]) -> dict[str, Any]:
    return {"right": right, "n": n, "estimate": right / n if n else None, **interval}


def _two_truths(pairs: pl.DataFrame) -> list[dict[str, Any]]:
    import polars as pl

    found = pairs.filter(pl.col("truth") == TWO_TRUTHS)
    return found.select(
        pl.col("question_id_a").alias("question_id"),
        pl.col("category_a").alias("category"),
        pl.col("gold_text_a").alias("gold_a"),
        pl.col("gold_text_b").alias("gold_b"),
    ).to_dicts()


def _rounded(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value for name, value in line.items()
    }
