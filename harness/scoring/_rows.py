"""Reading result rows, whichever way they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, cast

from harness.errors import BadInputError

__all__ = ["Frame", "ResultRow", "Rows", "is_known", "read_rows"]

ResultRow: TypeAlias = Mapping[str, Any]
"""One row of ``answers.parquet``, by column name."""

_NEEDED = frozenset(
    {"question_id", "category", "tags", "options", "gold_kind", "gold_text", "refused", "status"}
    | {"answer_text", "correct", "basis", "parsed_by", "degradations"}
)


class Frame(Protocol):
    """What is used of a :class:`polars.DataFrame`."""

    def iter_rows(self, *, named: bool) -> Iterable[Any]:
        """Yield rows as dictionaries."""


Rows: TypeAlias = Iterable[ResultRow] | Frame


def read_rows(rows: Rows) -> list[ResultRow]:
    """Return rows as a list, in their order.

    Raises :class:`~harness.errors.BadInputError` for a row that lacks a column
    and for a question that appears twice: it would count twice in every number.
    """
    given: Iterable[Any] = (
        cast("Frame", rows).iter_rows(named=True) if hasattr(rows, "iter_rows") else rows
    )
    found: list[ResultRow] = list(given)
    seen: set[str] = set()
    for row in found:
        lacking = sorted(_NEEDED - set(row))
        if lacking:
            raise BadInputError(f"A result row lacks the columns {', '.join(lacking)}.")
        question_id = str(row["question_id"])
        if question_id in seen:
            raise BadInputError(
                f"Question '{question_id}' has more than one result row.",
                remedy="Score one run at a time.",
            )
        seen.add(question_id)
    return found


def is_known(row: ResultRow) -> bool:
    """Whether the right answer of a row's question is known."""
    return bool(row["gold_kind"] == "known")
