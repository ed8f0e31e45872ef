"""``traces.jsonl``: one line a question, its row and the full story of its answer.

A line is an object with ``question`` (the stem), ``row``
(:mod:`harness.replay.rows`), ``trace`` (``spans``, ``degradations``,
``facts``) and, where the question failed, ``error`` (``type``, ``message``,
and a ``remedy`` or a ``traceback``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import HotseatError
from harness.replay._files import write_atomic
from harness.replay.rows import COLUMNS, Row, check_row

__all__ = ["TRACES", "encode_line", "read_traces", "repair"]

TRACES = "traces.jsonl"
_MAX_LINE_BYTES = 64 * 1024 * 1024


def encode_line(document: Mapping[str, Any]) -> bytes:
    """Return one line of ``traces.jsonl``; ``document`` holds JSON values only.

    Raises :class:`TypeError` or :class:`ValueError` when it does not.
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # What UTF-8 can't hold (half a surrogate pair) becomes the JSON escape of the same.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def read_traces(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run's traces; torn or damaged ones are passed over."""
    file = run / TRACES
    if not file.is_file():
        return
    with file.open("rb") as source:
        while raw := source.readline(_MAX_LINE_BYTES):
            document = _read_line(raw)
            if document is not None:
                yield document


def repair(file: Path) -> tuple[dict[str, Row], int]:
    """Keep only good lines; return their rows by question id, and how many lines went."""
    rows: dict[str, Row] = {}
    good: list[tuple[int, int]] = []  # offset and length in bytes
    dropped = offset = 0
    if not file.is_file():
        return rows, dropped
    with file.open("rb") as source:
        while raw := source.readline(_MAX_LINE_BYTES):
            document = _read_line(raw)
            row: Row | None = document["row"] if document else None
            if row is None or row["question_id"] in rows:
                dropped += 1
            else:
                rows[row["question_id"]] = row
                good.append((offset, len(raw)))
            offset += len(raw)

        def copy_good(target: BinaryIO) -> None:
            for start, length in good:
                source.seek(start)
                target.write(source.read(length))

        if dropped:
            write_atomic(file, copy_good)
    return rows, dropped


def _read_line(raw: bytes) -> dict[str, Any] | None:
    """Return a line's document, ``None`` when the line is torn or damaged."""
    if not raw.endswith(b"\n"):
        return None
    try:
        document = json.loads(raw)
        row = document["row"]
        check_row(row)
        document["row"] = {column.name: row[column.name] for column in COLUMNS}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, HotseatError):
        return None
    return dict(document)
