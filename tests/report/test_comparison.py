"""The tables of a comparison, as plain text: piped, on a terminal, narrow and wide."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from harness.report.comparison import render_comparison
from harness.scoring.compare import compare_all
from harness.scoring.comparison_document import comparison_document
from harness.scoring.run_table import table_of_rows


@pytest.fixture(scope="module")
def runs() -> ModuleType:
    path = Path(__file__).parents[1] / "scoring" / "run_files.py"
    spec = importlib.util.spec_from_file_location("hotseat_test_report_run_files", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(
    document: dict[str, Any],
    *,
    width: int = 80,
    terminal: bool = False,
    encoding: str = "utf-8",
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(
        file=stream, width=width, force_terminal=terminal, no_color=True,
        color_system=None, legacy_windows=False,
    )  # fmt: skip
    render_comparison(document, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture
def document(runs: ModuleType) -> Any:
    def give(*sides: Any, flip_limit: int | None = None, **manifest: Any) -> dict[str, Any]:
        tables = []
        for number, side in enumerate(sides):
            rows = runs.rows(side) if isinstance(side, str) else side
            own = {name: values[number] for name, values in manifest.items()}
            tables.append(table_of_rows(rows, f"run-{number}", own))
        return comparison_document(compare_all(tables), flip_limit=flip_limit)

    return give


PIPED = """\
A  run-0  (baseline)
B  run-1

What differs                            A                   B
--------------------------------------------------------------------------------
setting retrieval.keep                  40                  60
corpus digest                           aaaaaaaaaaaa        bbbbbbbbbbbb

Accuracy                 right  accuracy   95 % interval  0        50      100 %
--------------------------------------------------------------------------------
A                         4/10    40.0 %    16.8 -  68.7  |   [----o----]      |
B                         8/10    80.0 %    49.0 -  94.3  |         [-----o--] |

       3  right in both
       5  right in B only (gained)
       1  right in A only (lost)
       1  right in neither

Difference  +40.0 points, 95 % interval -8.7 .. +72.0
            by Tango's score; McNemar, mid-p: p = 0.1250
            shown in 4 of 5 comparisons: 61.6 points and more

By category       n     A %     B %  lost gained  points   95 % interval  p Holm
--------------------------------------------------------------------------------
history           4    75.0    75.0     1      1     0.0  -60.4 .. +60.4   1.000
maths             3    33.3   100.0     0      2   +66.7  -26.9 .. +93.9   0.750
news              3     0.0    66.7     0      2   +66.7  -26.9 .. +93.9   0.750

By what the answer rests on              A           B
--------------------------------------------------------------------------------
retrieved passages                     4/9        8/10
failed                                 0/1         0/0
Right of all. Not tested: each run has other answers under a basis.

Seconds, B to A          n   median A   median B   ratio   95 % interval
--------------------------------------------------------------------------------
search (recorded)       11      0.500      0.500   1.000   1.000 - 1.000
generate                11      2.000      2.000   1.000   1.000 - 1.000
network (recorded)      11      0.500      0.500   1.000   1.000 - 1.000
compute                 11      2.000      2.000   1.000   1.000 - 1.000
together                11      2.500      2.500   1.000   1.000 - 1.000

Geometric mean of the questions' ratios. Recorded seconds were not
measured now, and stand beside recorded ones only.
Late of 11: 0 in A, 0 in B.

Flipped questions: 6
--------------------------------------------------------------------------------
lost   history       q003
  A right  red               retrieved passages; 3 passages
  B wrong  blue              retrieved passages; 3 passages
gained history       q009
  A wrong  no answer         failed; 3 passages; no answer came out
  B right  red               retrieved passages; 3 passages
gained maths         q002
  A wrong  blue              retrieved passages; 3 passages
  B right  red               retrieved passages; 3 passages
gained maths         q008
  A wrong  blue              retrieved passages; 3 passages
  B right  red               retrieved passages; 3 passages
gained news          q001
  A wrong  blue              retrieved passages; 3 passages
  B right  red               retrieved passages; 3 passages
gained news          q007
  A wrong  blue              retrieved passages; 3 passages
  B right  red               retrieved passages; 3 passages

In A without a partner: 1
--------------------------------------------------------------------------------
q011: not in the other run

In B without a partner: 1
--------------------------------------------------------------------------------
q012: not in the other run

No difference was shown: B got 8 and A 4 of the same 10 questions, +40.0 points
(95 % interval -8.7 to +72.0; p = 0.125). With these 10 questions a true change
smaller than 61.6 points would go unnoticed in at least one comparison of five.
A loss of more than 2 points is not excluded.
Over all 11 questions the difference is +36.4 points, whatever the truth of the
1 that is not in the test.
1 question of A without a partner, in no number here.
1 question of B without a partner, in no number here.
The recordings differ, so a difference may be theirs and not the agent's.
"""


def test_the_whole_of_it_in_a_pipe(document):
    found = document(
        "RWWRWRRWWF?R-",
        "RRRWWRRRRR?-R",
        settings=({"retrieval.keep": 40}, {"retrieval.keep": 60}),
        corpus=({"digest": "sha256:" + "a" * 64}, {"digest": "sha256:" + "b" * 64}),
    )
    text = shown(found)
    assert text == PIPED
    assert all(cell_len(line) <= 80 for line in text.splitlines())


def test_on_a_terminal_it_is_drawn(document):
    text = shown(document("RWRW", "RRRR"), terminal=True, width=100)
    assert "────" in text
    assert "●" in text
    assert all(cell_len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("width", [40, 72, 80, 120, 200])
def test_lines_keep_to_the_width(document, width: int):
    found = document("RWRWFR?R" * 4, "RRRRWWW?" * 4, machine=({"cpu": "x" * 90}, {"cpu": "y" * 90}))
    for line in shown(found, width=width).splitlines():
        assert cell_len(line) <= max(72, min(width, 120))


def test_recorded_text_steers_no_terminal(document, runs):
    evil = "\x1b[31mred\x07\n"
    a = [runs.row(0, options=[evil, "b", "c", "d"], gold_text=evil, answer_text=evil)]
    b = [runs.row(0, options=[evil, "b", "c", "d"], gold_text=evil, answer_text="b")]
    found = document(a, b)
    found["comparisons"][0]["flips"][0]["question"] = f"What {evil}?"
    text = shown(found, terminal=True)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "lost   history       What ?[31mred???" in text


def test_an_old_encoding_can_show_it(document):
    assert shown(document("RW", "WR"), encoding="ascii")
    assert shown(document("RW", "WR"), encoding="ascii", terminal=True)


def test_flips_with_question_answers_and_evidence(document):
    found = document("RF", "WR")
    flip = found["comparisons"][0]["flips"][0]
    flip["question"] = "What is it?"
    flip["a"]["sources"] = ["http://pages.example/it"]
    lines = shown(found, width=120).splitlines()
    at = lines.index("lost   history       What is it?")
    assert lines[at + 1].split() == [
        *("A", "right", "red", "retrieved", "passages;", "3", "passages;"),
        "http://pages.example/it",
    ]
    assert lines[at + 2].split()[:3] == ["B", "wrong", "blue"]
    assert lines[at + 4].split()[:4] == ["A", "wrong", "no", "answer"]
    assert lines[at + 4].rstrip().endswith("failed; 3 passages; no answer came out")


def test_how_many_flips_there_are(document):
    text = shown(document("R" * 30, "W" * 30, flip_limit=4))
    assert "Flipped questions: 30, 4 of them here" in text
    assert text.count("lost   ") == 4


def test_several_runs_are_a_table_against_the_baseline(document):
    text = shown(document("RW" * 20, "RR" * 20, "RW" * 20, "????"))
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("Against A"))
    assert lines[at].split()[-2:] == ["p", "Holm"]
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == ["B", "C", "D"]
    assert lines[at + 2].split()[1:8] == [
        *("40", "50.0", "100.0", "0", "20", "+50.0", "+35.2"),
    ]
    assert "B: B answers more of such questions right than A" in text
    assert "C: A and C gave the same answer to every question" in text
    assert "Flipped" not in text


def test_runs_with_nothing_in_common(document):
    text = shown(document("R--", "-RR"))
    assert "Nothing can be said: A and B have no question in common." in text
    assert "Accuracy" not in text
    assert "q000: not in the other run" in text


def test_what_is_unmatched_is_listed_in_part(document):
    text = shown(document("R" * 12, "R"))
    assert "In A without a partner: 11" in text
    assert "and 6 more, which --json lists." in text


def test_different_truths_are_listed(document, runs):
    text = shown(document("RR", [runs.row(0), runs.row(1, gold_text="blue")]))
    assert "With two truths: 1" in text
    assert "q001: red / blue" in text


def test_times_that_can_not_be_compared_are_told(document, runs):
    a = [runs.row(n, t_generate_s=None if n else float("nan")) for n in range(3)]
    text = shown(document(a, "RRR"))
    assert "1 pairs of times can't be compared and are in no ratio." in text
    assert "Stages that ran in one run only: 0 in A, 2 in B." in text
