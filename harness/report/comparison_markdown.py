"""A comparison as Markdown, for a pull request or a note."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.scoring.verdict import points

__all__ = ["comparison_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_DIFFERENCES_SHOWN = 20
_TEXT_CHARS = 120


def comparison_markdown(document: Mapping[str, Any]) -> str:
    """Return a comparison's document as Markdown: the verdicts first, then tables.

    ``document`` is that of :func:`harness.scoring.comparison_document`.
    Recorded texts are escaped: none becomes markup.
    """
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    several = len(document["comparisons"]) > 1
    for letter, run in document["runs"].items():
        role = " (baseline)" if letter == document["baseline"] else ""
        yield f"- **{letter}**{role}: {_text(run['path'] or run['name'])}"
    for comparison in document["comparisons"]:
        prefix = f"{comparison['runs'][1]}: " if several else ""
        yield from ("", f"**{_text(prefix + comparison['verdict'])}**")
        if comparison["caveats"]:
            yield ""
            yield from (f"- {_text(sentence)}" for sentence in comparison["caveats"])
    yield from _results(document)
    if not several:
        yield from _seconds(document["comparisons"][0])
        yield from _flips(document["comparisons"][0])
    yield from _differences(document)


def _results(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield one table: all questions and the groups of one run, or a line for each of several."""
    comparisons = document["comparisons"]
    if len(comparisons) == 1:
        groups = comparisons[0]["groups"]
        lines = {"all questions": comparisons[0]["overall"], **groups}
        names = [f"{letter} %" for letter in comparisons[0]["runs"]]
    else:
        lines = {found["runs"][1]: found["overall"] for found in comparisons}
        names = [f"{document['baseline']} %", "own %"]
    interval = f"{100 * document['confidence']:g} % interval"
    rows = [_result(name, found) for name, found in lines.items() if found["n"]]
    head = ["", "n", *names, "lost", "gained", "points", interval, "p", "p Holm"]
    yield from _table(head, rows)


def _result(name: str, found: Mapping[str, Any]) -> list[str]:
    shares = [f"{100 * found[f'accuracy_{side}']['estimate']:.1f}" for side in "ab"]
    counts = [f"{found[key]:,}" for key in ("lost", "gained")]
    limits = f"{points(found['lower'])} to {points(found['upper'])}"
    adjusted = "" if found["p_adjusted"] is None else f"{found['p_adjusted']:.3f}"
    change = [points(found["difference"]), limits, f"{found['p']:.3f}", adjusted]
    return [_text(name), f"{found['n']:,}", *shares, *counts, *change]


def _seconds(comparison: Mapping[str, Any]) -> Iterator[str]:
    first, second = comparison["runs"]
    rows = [
        [
            _stage(line),
            f"{line['n']:,}",
            f"{line['median_a_s']:.3f}",
            f"{line['median_b_s']:.3f}",
            f"{line['ratio']:.3f}",
            "" if line["lower"] is None else f"{line['lower']:.3f} to {line['upper']:.3f}",
        ]
        for line in comparison["times"]
        if line["n"]
    ]
    head = ["seconds", "n", f"median {first}", f"median {second}", "ratio", "interval"]
    yield from _table(head, rows)


def _stage(line: Mapping[str, Any]) -> str:
    if line["stage"] == "total":
        return "together"
    stage = line["stage"].partition("_")[0]
    kind = line["source"].removesuffix(" network")
    return stage if kind == "compute" else f"{stage} ({kind})"


def _flips(comparison: Mapping[str, Any]) -> Iterator[str]:
    shown, total = comparison["flips"], comparison["flipped"]
    if len(shown) < total:
        yield from ("", f"{total:,} questions flipped, {len(shown):,} of them here:")
    rows = [
        [
            flip["change"],
            flip["category"],
            _text(flip.get("question") or flip["question_id"]),
            *(_answer(flip[side]) for side in "ab"),
        ]
        for flip in shown
    ]
    yield from _table(["flip", "category", "question", *comparison["runs"]], rows)


def _answer(side: Mapping[str, Any]) -> str:
    answer = "no answer" if side["answer"] is None else side["answer"]
    return f"{_text(answer)} ({_text(side['basis'])})"


def _differences(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["differences"]
    rows = [
        [_text(f"{line['part']} {line['name']}"), *map(_text, line["values"].values())]
        for line in found[:_DIFFERENCES_SHOWN]
    ]
    yield from _table(["differs", *document["runs"]], rows)
    if len(found) > _DIFFERENCES_SHOWN:
        yield from ("", f"and {len(found) - _DIFFERENCES_SHOWN} more")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _text(value: object) -> str:
    """Return any text as it is: on one line, and no part of it markup."""
    text = "-" if value is None else str(value)
    text = "".join(char if char.isprintable() else " " for char in text)
    if len(text) > _TEXT_CHARS and " " not in text[:_TEXT_CHARS]:
        text = text[: _TEXT_CHARS - 1] + "…"
    return _SPECIAL.sub(r"\\\1", text).replace("&", "&amp;")
