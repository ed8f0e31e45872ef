"""The questions' texts and the pages read, for the few rows that are looked at closely."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.replay.traces import TRACES

__all__ = ["Story", "read_stories", "with_stories"]

_READ_BYTES = 64 * 1024 * 1024
_BEGIN = b'"row":{"question_id":'
_ID_BYTES = 4096
_SOURCES = 3


@dataclass(frozen=True, slots=True)
class Story:
    """A question's text, and the addresses of the passages its answer was given, best first."""

    question: str
    sources: tuple[str, ...]


def read_stories(run: Path | None, ids: Collection[str]) -> dict[str, Story]:
    """Return the stories of some questions of a run, as far as its traces tell them.

    Only the first 64 MB of the traces are read, and lines of other questions
    are passed over unread: this is for people who look at a few flips.
    """
    found: dict[str, Story] = {}
    wanted = set(ids)
    file = run / TRACES if run is not None else None
    if file is None or not file.is_file() or not wanted:
        return found
    left = _READ_BYTES
    try:
        with file.open("rb") as source:
            while left > 0 and len(found) < len(wanted) and (raw := source.readline(left)):
                left -= len(raw)
                question_id = _question_id(raw)
                if question_id in wanted and (story := _story(raw)) is not None:
                    found[question_id] = story
    except OSError:  # the numbers stand without it
        return found
    return found


def with_stories(
    flips: Collection[dict[str, Any]], run_a: Path | None, run_b: Path | None
) -> list[dict[str, Any]]:
    """Return flips with ``question``, and ``sources`` in ``a`` and ``b``, where they are told."""
    stories = {
        side: read_stories(run, [flip[side]["question_id"] for flip in flips])
        for side, run in (("a", run_a), ("b", run_b))
    }
    told = []
    for flip in flips:
        both = {side: stories[side].get(flip[side]["question_id"]) for side in "ab"}
        text = next((story.question for story in both.values() if story), None)
        sides = {
            side: {**flip[side], "sources": list(story.sources) if story else []}
            for side, story in both.items()
        }
        told.append({**flip, "question": text, **sides})
    return told


def _question_id(raw: bytes) -> str | None:
    start = raw.find(_BEGIN)
    if start < 0:
        return None
    start += len(_BEGIN)
    try:
        text = raw[start : start + _ID_BYTES].decode("utf-8", "replace")
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _story(raw: bytes) -> Story | None:
    try:
        document = json.loads(raw)
        question = document["question"]
        passages = document["trace"]["facts"].get("passages_used") or []
        urls = dict.fromkeys(str(passage["url"]) for passage in passages)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(question, str):
        return None
    return Story(question, tuple(list(urls)[:_SOURCES]))
