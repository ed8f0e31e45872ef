"""Accuracy over known gold, with bounds where gold is partial or unknown.

``docs/scoring.md`` defines every number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import BadInputError
from harness.quiz import Basis, Category, ParseStep
from harness.scoring._rows import ResultRow, Rows, is_known, read_rows
from harness.scoring.intervals import wilson

__all__ = ["NOT_PARSED", "Accuracy", "Score", "score"]

NOT_PARSED = "not parsed"
"""Name of the group of rows without a parse step: failed ones and the solver's."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Right answers among questions, and what that says.

    ``questions`` counts all of them; ``known`` those whose right answer is
    known, ``correct`` the right ones among these and ``estimate`` their share
    (``None`` over no known gold) with its 95 % Wilson interval ``lower`` to
    ``upper``.  ``failed`` questions got no answer: with known gold they are
    wrong.  ``bound_low`` to ``bound_high`` hold the accuracy over *all*
    questions, whatever the truth that is not known.
    """

    questions: int
    known: int
    correct: int
    estimate: float | None
    lower: float
    upper: float
    bound_low: float
    bound_high: float
    failed: int


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy of a run, overall and in groups.

    A question with several tags counts in each; one without tags in none.
    ``missing`` questions were expected but have no row.
    """

    overall: Accuracy
    by_category: Mapping[str, Accuracy]
    by_basis: Mapping[str, Accuracy]
    by_parse_step: Mapping[str, Accuracy]
    by_tag: Mapping[str, Accuracy]
    missing: int = 0


def score(rows: Rows, *, expected: int | None = None) -> Score:
    """Return the accuracy of a run's rows.

    ``expected`` is the number of questions that were to be played, fixed
    before the run; questions without a row widen the overall bounds.  Without
    it, the rows are taken to be all.

    Raises :class:`~harness.errors.BadInputError` for a question with two rows
    or for more rows than were expected.
    """
    found = read_rows(rows)
    missing = 0 if expected is None else expected - len(found)
    if missing < 0:
        raise BadInputError(f"There are {len(found)} result rows for {expected} questions.")
    return Score(
        overall=_accuracy(found, missing),
        by_category=_grouped(found, lambda row: [row["category"]], list(Category)),
        by_basis=_grouped(found, lambda row: [row["basis"]], list(Basis)),
        by_parse_step=_grouped(found, _parse_step, [*ParseStep, NOT_PARSED]),
        by_tag=_grouped(found, lambda row: sorted(set(row["tags"])), []),
        missing=missing,
    )


def _parse_step(row: ResultRow) -> list[str]:
    return [row["parsed_by"] or NOT_PARSED]


def _grouped(
    rows: Iterable[ResultRow],
    names: Callable[[ResultRow], Iterable[str]],
    order: Sequence[str],
) -> dict[str, Accuracy]:
    """Return the accuracy by group: those of ``order`` first, then by name."""
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        for name in names(row):
            groups.setdefault(str(name), []).append(row)
    place = {str(name): number for number, name in enumerate(order)}
    ordered = sorted(groups, key=lambda name: (place.get(name, len(place)), name))
    return {name: _accuracy(groups[name], 0) for name in ordered}


def _accuracy(rows: Sequence[ResultRow], missing: int) -> Accuracy:
    questions = len(rows) + missing
    known = sum(map(is_known, rows))
    correct = sum(is_known(row) and row["correct"] is True for row in rows)
    open_rows = sum(map(_may_be_right, rows))
    interval = wilson(correct, known)
    return Accuracy(
        questions=questions,
        known=known,
        correct=correct,
        estimate=correct / known if known else None,
        lower=interval.lower,
        upper=interval.upper,
        bound_low=correct / questions if questions else 0.0,
        bound_high=(correct + open_rows + missing) / questions if questions else 1.0,
        failed=sum(row["status"] == "failed" for row in rows),
    )


def _may_be_right(row: ResultRow) -> bool:
    """Whether an answer that gold can't judge could be right.

    It can't where its text was refused, nor where the question failed and
    there is no answer.
    """
    answer = row["answer_text"]
    return not is_known(row) and answer is not None and answer not in row["refused"]
