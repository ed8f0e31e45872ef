"""``hotseat compare`` and ``hotseat gate`` over run folders that the real writer made."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from harness.cli import main

BEFORE = "RRWWR RWRWW RRRWR FWRWR"
AFTER_ = "RRRWR RRRWR RWRRR RWRWR"


@pytest.fixture(scope="module")
def runs() -> ModuleType:
    path = Path(__file__).parents[1] / "scoring" / "run_files.py"
    spec = importlib.util.spec_from_file_location("hotseat_test_cli_run_files", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def hotseat(
    runs: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Return the command line in a folder whose runs are *before* and *after*."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    runs.write_run(Path("runs/before"), runs.rows(BEFORE))
    runs.write_run(
        Path("runs/after"), runs.rows(AFTER_), settings={"retrieval.keep": 60}, machine={}
    )

    def call(*arguments: str) -> SimpleNamespace:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


def document(done: SimpleNamespace) -> dict[str, Any]:
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_two_runs_by_path_or_by_name(hotseat):
    by_path = document(hotseat("compare", "runs/before", "runs/after", "--json"))
    by_name = document(hotseat("compare", "before", "after", "--json"))
    assert by_path == by_name
    found = by_name["comparisons"][0]
    assert (found["overall"]["lost"], found["overall"]["gained"]) == (1, 5)
    assert by_name["runs"]["A"]["path"] == "runs/before"
    assert {"part": "setting", "name": "retrieval.keep", "values": {"A": 40, "B": 60}} in (
        by_name["differences"]
    )
    assert len(found["flips"]) == found["flipped"] == 6


def test_the_table_tells_everything_once(hotseat):
    done = hotseat("compare", "before", "after")
    assert done.code == 0
    assert done.err == ""
    for part in (
        "What differs",
        "setting retrieval.keep",
        "Difference  +20.0 points",
        "by Tango's score; McNemar, mid-p: p = 0.1250",
        "By category",
        "By what the answer rests on",
        "Seconds, B to A",
        "Flipped questions: 6",
        "What of q002?",
        "No difference was shown: B got 15 and A 11",
        "The machines differ",
    ):
        assert done.out.count(part) == 1, part


def test_flips_are_as_many_as_are_asked_for(hotseat):
    for count in (0, 2, 6):
        found = document(hotseat("compare", "before", "after", "--json", "--flips", str(count)))
        assert len(found["comparisons"][0]["flips"]) == count
    assert "Flipped" not in hotseat("compare", "before", "after", "--flips", "0").out
    assert "Flipped questions: 6, 2 of them here" in (
        hotseat("compare", "before", "after", "--flips", "2").out
    )


def test_another_baseline_turns_the_comparison_round(hotseat):
    there = document(hotseat("compare", "before", "after", "--json"))
    back = document(hotseat("compare", "before", "after", "--baseline", "after", "--json"))
    assert back["runs"]["A"]["name"] == "after"
    assert (
        back["comparisons"][0]["overall"]["difference"]
        == -(there["comparisons"][0]["overall"]["difference"])
    )
    alone = document(hotseat("compare", "after", "--baseline", "before", "--json"))
    assert alone == there


def test_several_runs(hotseat, runs):
    runs.write_run(Path("runs/other"), runs.rows("R" * 20))
    done = hotseat("compare", "before", "after", "other")
    assert "Against A" in done.out
    assert "B: " in done.out
    assert "C: " in done.out
    found = document(hotseat("compare", "before", "after", "other", "--json"))
    assert [each["runs"] for each in found["comparisons"]] == [["A", "B"], ["A", "C"]]
    assert all(each["overall"]["p_adjusted"] is not None for each in found["comparisons"])


def test_a_line_a_question_as_csv(hotseat):
    done = hotseat("compare", "before", "after", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(done.out)))
    assert len(lines) == 20
    assert lines[15]["answer_text_a"] == ""
    assert (lines[15]["right_a"], lines[15]["right_b"]) == ("false", "true")


def test_markdown_for_a_pull_request(hotseat, runs):
    done = hotseat("compare", "before", "after", "--format", "md", "--flips", "2")
    assert done.code == 0
    assert "**No difference was shown: B got 15 and A 11 of the same 20 questions" in done.out
    assert "| all questions | 20 | 55.0 | 75.0 | 1 | 5 | +20.0 |" in done.out
    assert "6 questions flipped, 2 of them here:" in done.out
    assert "What of q" in done.out
    runs.write_run(Path("runs/other"), runs.rows("R" * 20))
    several = hotseat("compare", "before", "after", "other", "--format", "md").out
    assert "| C | 20 | 55.0 | 100.0 |" in several
    assert "flip" not in several


def test_margins_and_confidence(hotseat):
    wide = document(
        hotseat(
            *("compare", "before", "after", "--json"),
            *("--margin", "20 points", "--confidence", "0.9"),
        )
    )
    assert (wide["margin"], wide["confidence"]) == (0.2, 0.9)
    assert wide["comparisons"][0]["overall"]["noninferior"] == "shown"
    narrow = document(hotseat("compare", "before", "after", "--json", "--margin", "0.5%"))
    assert narrow["margin"] == 0.005
    assert (
        wide["comparisons"][0]["overall"]["lower"] > (narrow["comparisons"][0]["overall"]["lower"])
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "before"], "name at least two runs"),
        (["compare", "before", "runs/before"], "names the run runs/before twice"),
        (["compare", "before", "after", "--margin", "2"], "could be a share or points; write 2pp"),
        (["compare", "before", "after", "--margin", "much"], "is no difference"),
        (["compare", "before", "after", "--margin", "200pp"], "more than there is"),
        (["compare", "before", "after", "--confidence", "95"], "between 0 and 1"),
        (["compare", "before", "after", "--by", "colour"], "colour"),
        (["gate", "before", "--baseline", "after", "--max-latency", "0x"], "is no ratio"),
        (["gate", "before", "--baseline", "after", "--max-drop", "-1pp"], "is no difference"),
        (["gate", "before"], "--baseline"),
    ],
)
def test_wrong_usage(hotseat, arguments: list[str], message: str):
    done = hotseat(*arguments)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", "").split())


def test_a_run_that_is_not_there(hotseat):
    done = hotseat("compare", "before", "aftr")
    assert done.code == 3
    assert "There is no run 'aftr'" in done.err
    assert "Did you mean 'after'?" in done.err


def test_a_run_cut_off_in_the_middle(hotseat, runs):
    runs.write_run(Path("runs/cut"), runs.rows("RR"), finish=False)
    done = hotseat("compare", "before", "cut")
    assert done.code == 2
    assert done.err == (
        "hotseat: The run in runs/cut is not finished, so there is nothing to compare yet. "
        "hotseat replay --resume runs/cut\n"
    )


def test_a_run_of_a_newer_version(hotseat):
    file = Path("runs/after/manifest.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": "hotseat-run/9"}))
    for command in (["compare", "before", "after"], ["gate", "before", "--baseline", "after"]):
        done = hotseat(*command)
        assert done.code == 2
        assert "has the format hotseat-run/9; this Hotseat reads hotseat-run/1" in done.err
        assert done.err.count("\n") == 1


def test_a_run_with_a_question_twice(hotseat):
    file = Path("runs/after/answers.parquet")
    frame = pl.read_parquet(file)
    pl.concat([frame, frame.head(1)]).write_parquet(file)
    done = hotseat("compare", "before", "after")
    assert done.code == 2
    assert "Question 'q000' has more than one row" in done.err


def test_runs_of_other_questions_and_of_none(hotseat, runs):
    runs.write_run(Path("runs/none"), [])
    runs.write_run(Path("runs/others"), [runs.row(n) for n in range(50, 53)])
    for other in ("none", "others"):
        done = hotseat("compare", "before", other)
        assert done.code == 0
        assert "A and B have no question in common." in " ".join(done.out.split())
        assert hotseat("gate", other, "--baseline", "before").code == 2


def test_identical_runs(hotseat, runs):
    runs.write_run(Path("runs/again"), runs.rows(BEFORE))
    done = hotseat("compare", "before", "again")
    assert "A and B are the same: their results digests agree" in done.out
    assert "No setting, model, recording or question differs." in done.out


def test_a_gate_that_holds(hotseat):
    done = hotseat("gate", "after", "--baseline", "before", "--max-latency", "1.1x")
    assert done.code == 0
    assert done.out == (
        "The gate holds: +20.0 points on 20 shared questions, 1.00 times the seconds.\n"
    )
    assert "another machine" in done.err


def test_a_gate_that_does_not_hold(hotseat):
    done = hotseat("gate", "before", "--baseline", "after", "--max-drop", "2pp")
    assert done.code == 1
    assert done.out == ""
    assert (
        "Accuracy fell by 20.0 points (4 fewer right), 2.0 points are allowed "
        "(-20.0 points on 20 shared questions)." in done.err
    )
    assert done.err.count("\n") == 1
    assert hotseat("gate", "before", "--baseline", "after", "--max-drop", "20pp").code == 0
    sure = hotseat("gate", "before", "--baseline", "after", "--max-drop", "20pp", "--certain")
    assert sure.code == 1


def test_a_gate_for_programs(hotseat):
    done = hotseat("gate", "before", "--baseline", "after", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["passed"] is False
    assert found["sentence"].startswith("Accuracy fell by 20.0 points")
    assert any("machines differ" in sentence for sentence in found["caveats"])
