"""Small runs for tests: rows from a pattern of letters, and run folders by the real writer.

A pattern has a letter a question: R right, W wrong, F failed over known gold,
? an answer over unknown gold, - no row at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.replay.rows import COLUMNS
from harness.replay.run_folder import RunFolder
from harness.replay.traces import encode_line

CATEGORIES = ("history", "news", "maths")
OPTIONS = ("red", "blue", "green", "yellow")


def row(number: int, letter: str = "R", **changes: Any) -> dict[str, Any]:
    """Return one row of the schema; the right answer is always ``red``."""
    known = letter != "?"
    answer = {"R": "red", "W": "blue", "F": None, "?": "green"}[letter]
    values: dict[str, Any] = {
        "question_id": f"q{number:03}",
        "question_key": f"key-{number:03}",
        "category": CATEGORIES[number % 3],
        "level": number % 5 + 1,
        "tags": ["even"] if number % 2 == 0 else [],
        "options": [f"{text}" for text in OPTIONS],
        "option_ids": [0, 1, 2, 3],
        "gold_kind": "known" if known else "unknown",
        "gold_text": "red" if known else None,
        "refused": [],
        "status": "failed" if letter == "F" else "answered",
        "answer_id": None if answer is None else OPTIONS.index(answer),
        "answer_text": answer,
        "correct": {"R": True, "W": False, "F": False, "?": None}[letter],
        "basis": "failed" if letter == "F" else "retrieved passages",
        "parsed_by": None if letter == "F" else "text",
        "degradations": ["answer_failed"] if letter == "F" else [],
        "passages": 3,
        "documents": 2,
        "t_search_s": 0.5,
        "t_generate_s": 2.0,
        "t_network_recorded_s": 0.5,
        "t_network_live_s": 0.0,
        "t_compute_s": 2.0,
        "t_total_s": 2.5,
    }
    values.update(changes)
    return {column.name: values.get(column.name) for column in COLUMNS}


def rows(pattern: str, **changes: Any) -> list[dict[str, Any]]:
    """Return the rows of a pattern; blanks in it only help the eye."""
    letters = pattern.replace(" ", "")
    return [row(number, x, **changes) for number, x in enumerate(letters) if x != "-"]


def write_run(
    path: Path, found: list[dict[str, Any]], *, finish: bool = True, **manifest: Any
) -> Path:
    """Write a run folder as a replay does."""
    document = {
        "name": path.name,
        "digest": None,
        "settings": {"time.allowed_s": 30.0, "retrieval.keep": 40},
        "questions": {"digest": "sha256:q", "n": len(found)},
        "corpus": {"name": "sample", "digest": "sha256:c"},
        "machine": {"cpu": "abacus"},
        **manifest,
    }
    with RunFolder.create(path, document) as folder:
        for each in found:
            used = [{"url": f"http://pages.example/{each['question_id']}", "score": 1.0}]
            story = {"spans": [], "degradations": [], "facts": {"passages_used": used}}
            stem = f"What of {each['question_id']}?"
            folder.append(each, encode_line({"question": stem, "row": each, "trace": story}))
        if finish:
            folder.finish(finished="2026-01-01T00:00:00+00:00")
    return path
