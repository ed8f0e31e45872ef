"""Flipped questions, told with both answers and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.report._drawing import Pen
from harness.report._words import degradation_words

__all__ = ["flip_lines"]


def flip_lines(comparison: Mapping[str, Any], pen: Pen) -> Iterator[tuple[str, str]]:
    """Yield the lines of a comparison's flipped questions, each with its style."""
    shown, total = comparison["flips"], comparison["flipped"]
    if not shown:
        return
    title = f"Flipped questions: {total:,}"
    if len(shown) < total:
        title += f", {len(shown)} of them here"
    yield title, "bold cyan"
    yield ("─" if pen.fine else "-") * pen.width, "dim"
    for flip in shown:
        style = "green" if flip["change"] == "gained" else "red"
        text = flip.get("question") or flip["question_id"]
        yield pen.cell(f"{flip['change']:<7}{flip['category']:<14}{text}", pen.width), style
        for letter, side in zip(comparison["runs"], "ab", strict=True):
            yield _answer(letter, flip[side], right=flip[side]["answer"] == flip["gold"], pen=pen)
    yield "", ""


def _answer(letter: str, side: Mapping[str, Any], *, right: bool, pen: Pen) -> tuple[str, str]:
    answer = "no answer" if side["answer"] is None else str(side["answer"])
    told = [side["basis"]]
    if side["passages"] is not None:
        told.append(f"{side['passages']} passage{'' if side['passages'] == 1 else 's'}")
    told += side.get("sources", [])[:1]
    told += [degradation_words(code) for code in side["degradations"][:2]]
    mark = "right" if right else "wrong"
    width = max(16, pen.width // 3 - 10)
    head = f"  {letter} {mark}  {pen.cell(answer, width)}  "
    return head + pen.cell("; ".join(told), pen.width - len(head)), ""
