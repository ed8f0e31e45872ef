from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.trace import STAGES

_numbers = itertools.count()


def make_result_row(**changes: Any) -> dict[str, Any]:
    """Return a row of the result schema: a right answer over known gold, unless changed.

    ``gold`` is short for a known text; ``right`` sets answer and verdict.
    """
    row: dict[str, Any] = {
        "question_id": f"q{next(_numbers)}",
        "question_key": "k",
        "category": "history",
        "level": None,
        "tags": [],
        "options": ["red", "blue", "green", "yellow"],
        "option_ids": [0, 1, 2, 3],
        "gold_kind": "known",
        "gold_text": "red",
        "refused": [],
        "status": "answered",
        "answer_id": 0,
        "answer_text": "red",
        "correct": True,
        "basis": "retrieved passages",
        "parsed_by": "text",
        "degradations": [],
        "hits": 3,
        "documents": 2,
        "passages": 2,
        "context_tokens": 100,
        "prompt_tokens": 300,
        "output_tokens": 40,
        "output": "ANSWER: 0 red",
        **{f"t_{stage}_s": None for stage in STAGES},
        "t_network_recorded_s": 0.0,
        "t_network_live_s": 0.0,
        "t_compute_s": 0.0,
        "t_total_s": 0.0,
    }
    kind = changes.pop("kind", None)
    row.update(KINDS[kind] if kind else {})
    row.update(changes)
    return row


KINDS: dict[str, dict[str, Any]] = {
    "right": {},
    "wrong": {"answer_id": 1, "answer_text": "blue", "correct": False},
    "failed": {
        "status": "failed",
        "answer_id": None,
        "answer_text": None,
        "correct": False,
        "basis": "failed",
        "parsed_by": None,
    },
    "refused": {
        "gold_kind": "partial",
        "gold_text": None,
        "refused": ["red"],
        "correct": False,
    },
    "open": {  # partial gold that refused another text
        "gold_kind": "partial",
        "gold_text": None,
        "refused": ["blue"],
        "correct": None,
    },
    "unknown": {"gold_kind": "unknown", "gold_text": None, "correct": None},
    "failed unknown": {
        "gold_kind": "unknown",
        "gold_text": None,
        "status": "failed",
        "answer_id": None,
        "answer_text": None,
        "correct": None,
        "basis": "failed",
        "parsed_by": None,
    },
}


@pytest.fixture(scope="session")
def make_row() -> Callable[..., dict[str, Any]]:
    return make_result_row


@pytest.fixture(scope="session")
def kinds() -> list[str]:
    return list(KINDS)


@pytest.fixture(scope="session")
def runs() -> ModuleType:
    """Return the module that makes small runs."""
    path = Path(__file__).parent / "run_files.py"
    spec = importlib.util.spec_from_file_location("hotseat_test_run_files", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
