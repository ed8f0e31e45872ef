"""A comparison as Markdown: whole tables, and no recorded text that becomes markup."""

from __future__ import annotations

from typing import Any

import pytest

from harness.report.comparison_markdown import comparison_markdown


def result(n: int = 4, **changes: Any) -> dict[str, Any]:
    share = {"estimate": 0.5, "lower": 0.2, "upper": 0.8}
    return {
        "n": n, "lost": 1, "gained": 0, "difference": -0.25, "lower": -0.6, "upper": 0.2,
        "p": 0.5, "p_adjusted": None, "accuracy_a": share, "accuracy_b": share, **changes,
    }  # fmt: skip


@pytest.fixture
def document() -> dict[str, Any]:
    """A document by hand, with what a hostile question file could put into it."""
    evil = "<img src=x> | *b* [a](http://x) `c`\n# & _u_"
    side = {"answer": evil, "basis": "snippets only"}
    time = {
        "stage": "network_recorded", "source": "recorded network", "n": 4, "median_a_s": 1.0,
        "median_b_s": 2.0, "ratio": 2.0, "lower": None, "upper": None,
    }  # fmt: skip
    return {
        "baseline": "A",
        "confidence": 0.9,
        "runs": {"A": {"name": "a", "path": "runs/a_b"}, "B": {"name": "b", "path": None}},
        "differences": [
            {"part": "setting", "name": f"x{n}", "values": {"A": n, "B": None}} for n in range(22)
        ],
        "comparisons": [
            {
                "runs": ["A", "B"],
                "verdict": "Nothing much.",
                "caveats": ["Take care."],
                "overall": result(),
                "groups": {evil: result(p_adjusted=1.0), "empty": result(0)},
                "times": [time, {**time, "n": 0}],
                "flipped": 3,
                "flips": [
                    {
                        "change": "lost", "category": "news", "question_id": "q", "question": evil,
                        "a": side, "b": {**side, "answer": None},
                    }
                ],
            }
        ],
    }  # fmt: skip


def test_what_it_holds(document):
    text = comparison_markdown(document)
    assert text.startswith(
        "- **A** (baseline): runs/a\\_b\n- **B**: b\n\n**Nothing much.**\n\n- Take care.\n"
    )
    assert "|  | n | A % | B % | lost | gained | points | 90 % interval | p | p Holm |" in text
    assert "| all questions | 4 | 50.0 | 50.0 | 1 | 0 | -25.0 | -60.0 to +20.0 | 0.500 |  |" in text
    assert "| network (recorded) | 4 | 1.000 | 2.000 | 2.000 |  |" in text
    assert "3 questions flipped, 1 of them here:" in text
    assert "| setting x0 | 0 | - |" in text
    assert text.endswith("\nand 2 more\n")
    assert "empty" not in text


def test_no_recorded_text_is_markup(document):
    lines = comparison_markdown(document).splitlines()
    flip = next(line for line in lines if line.startswith("| lost"))
    assert "\\<img src=x\\> \\| \\*b\\* \\[a\\](http://x) \\`c\\` \\# &amp; \\_u\\_" in flip
    assert flip.replace("\\|", "").count("|") == 6
    assert "no answer (snippets only)" in flip
