"""The row schema: one row a question, cut out of its trace.

Columns named ``t_…`` hold seconds and vary between replays; every other
column is covered by the results digest (:mod:`harness.replay.digest`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import BadInputError
from harness.quiz import Answer, Basis, Question
from harness.trace import STAGES, Trace

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "Column", "Row", "check_row", "make_row", "schema", "to_frame"]

Row = dict[str, Any]
"""One row as JSON values, with exactly the keys of ``COLUMNS`` in their order."""

Kind = Literal["text", "texts", "int", "ints", "bool", "seconds"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; ``nullable`` ones may be missing on a row."""

    name: str
    kind: Kind
    nullable: bool = False

    @property
    def is_time(self) -> bool:
        """Whether the column holds measured or recorded seconds."""
        return self.name.startswith("t_")


COLUMNS: tuple[Column, ...] = (
    Column("question_id", "text"),
    Column("question_key", "text"),
    Column("category", "text"),
    Column("level", "int", nullable=True),
    Column("tags", "texts"),
    Column("options", "texts"),
    Column("option_ids", "ints"),
    Column("gold_kind", "text"),  # known, partial, unknown
    Column("gold_text", "text", nullable=True),
    Column("refused", "texts"),
    Column("status", "text"),  # answered, failed
    Column("answer_id", "int", nullable=True),
    Column("answer_text", "text", nullable=True),
    Column("correct", "bool", nullable=True),  # null where gold can't tell
    Column("basis", "text"),  # harness.quiz.Basis
    Column("parsed_by", "text", nullable=True),  # harness.quiz.ParseStep
    Column("degradations", "texts"),  # distinct codes, sorted
    Column("hits", "int", nullable=True),
    Column("documents", "int", nullable=True),
    Column("passages", "int", nullable=True),
    Column("context_tokens", "int", nullable=True),
    Column("prompt_tokens", "int", nullable=True),
    Column("output_tokens", "int", nullable=True),
    Column("output", "text", nullable=True),
    *(Column(f"t_{stage}_s", "seconds", nullable=True) for stage in STAGES),
    Column("t_network_recorded_s", "seconds"),  # as the corpus remembers them
    Column("t_network_live_s", "seconds"),
    Column("t_compute_s", "seconds"),  # measured on this machine
    Column("t_total_s", "seconds"),  # recorded, live and compute together
)

_COUNTS = ("hits", "documents", "passages", "context_tokens", "prompt_tokens", "output_tokens")
_NETWORK_STAGES = ("search", "fetch")
_BY_NAME = {column.name: column for column in COLUMNS}


def make_row(question: Question, answer: Answer | None, trace: Trace) -> Row:
    """Return the row of one question; ``answer`` is ``None`` when it failed.

    A failed question over known gold is not correct: it stays in the
    denominator.
    """
    text = answer.option.text if answer else None
    recorded = sum(span.seconds for span in trace.spans if span.recorded)
    live = sum(s.seconds for s in trace.spans if not s.recorded and s.stage in _NETWORK_STAGES)
    total = sum(span.seconds for span in trace.spans)
    row: Row = {
        "question_id": question.id,
        "question_key": question.key,
        "category": question.category.value,
        "level": question.level,
        "tags": list(question.tags),
        "options": [option.text for option in question.options],
        "option_ids": [option.id for option in question.options],
        "gold_kind": question.gold.kind.value,
        "gold_text": question.gold.answer,
        "refused": list(question.gold.refused),
        "status": "answered" if answer else "failed",
        "answer_id": answer.option.id if answer else None,
        "answer_text": text,
        "correct": question.judge(text),
        "basis": answer.basis.value if answer else Basis.FAILED.value,
        "parsed_by": answer.parsed_by.value if answer else None,
        "degradations": trace.codes(),
        **{name: _count(trace.facts.get(name)) for name in _COUNTS},
        "output": trace.facts.get("output"),
        **{f"t_{stage}_s": trace.seconds(stage) for stage in STAGES},
        "t_network_recorded_s": float(recorded),
        "t_network_live_s": float(live),
        "t_compute_s": max(0.0, float(total - recorded - live)),
        "t_total_s": float(total),
    }
    check_row(row)
    return row


def _count(fact: object) -> object:
    return len(fact) if isinstance(fact, list | tuple) else fact


def check_row(row: Mapping[str, Any]) -> None:
    """Raise :class:`~harness.errors.BadInputError` unless ``row`` fits the schema."""
    if list(row) != list(_BY_NAME):
        odd = sorted(set(row) ^ set(_BY_NAME)) or ["another order"]
        raise BadInputError(f"A result row does not have the expected columns: {', '.join(odd)}.")
    for column in COLUMNS:
        value = row[column.name]
        if not (column.nullable if value is None else _fits(value, column.kind)):
            raise BadInputError(
                f"Column '{column.name}' of a result row can't hold {str(value)[:80]!r}."
            )


def _fits(value: object, kind: Kind) -> bool:
    match kind:
        case "text":
            return isinstance(value, str) and _encodes(value)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "seconds":
            return isinstance(value, float | int) and not isinstance(value, bool)
        case "texts":
            return isinstance(value, list) and all(_fits(item, "text") for item in value)
        case "ints":
            return isinstance(value, list) and all(_fits(item, "int") for item in value)


def _encodes(text: str) -> bool:
    """Whether a text can be written as UTF-8: it holds no half surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def schema() -> pl.Schema:
    """Return the polars schema of ``answers.parquet``."""
    import polars as pl

    kinds: dict[Kind, Any] = {
        "text": pl.String(),
        "texts": pl.List(pl.String()),
        "int": pl.Int64(),
        "ints": pl.List(pl.Int64()),
        "bool": pl.Boolean(),
        "seconds": pl.Float64(),
    }
    return pl.Schema({column.name: kinds[column.kind] for column in COLUMNS})


def to_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table sorted by question id, the order of ``answers.parquet``."""
    import polars as pl

    ordered = sorted(rows, key=lambda row: str(row["question_id"]))
    return pl.DataFrame(ordered, schema=schema(), strict=True)
