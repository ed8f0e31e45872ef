from __future__ import annotations

import json
import sys

import pytest

from harness.cli import _console
from harness.cli._console import Counter, PullDisplay, duration_text, printable, size_text
from harness.models import PullEvent


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3600, "1 h 00 min"),
        (4200, "1 h 10 min"),
    ],
)
def test_durations(seconds: float, text: str):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (22_928_619, "23 MB"), (1_117_320_768, "1.1 GB")],
)
def test_sizes(size_bytes: int, text: str):
    assert size_text(size_bytes) == text


def test_recorded_text_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]):
    assert printable("a\x1b[2J\r\nb\u202e é") == "a\ufffd[2J\ufffd\nb\ufffd é"
    _console.say("\x1b[31mred")
    _console.warn("\x1b[31mred")
    assert "\x1b" not in capsys.readouterr().err


def test_json_goes_to_stdout_whole(capsys: pytest.CaptureFixture[str]):
    _console.print_json({"a": ["é", None]})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"a": ["é", None]}
    assert "é" in out
    assert err == ""


def test_a_counter_says_a_line_now_and_then(capsys: pytest.CaptureFixture[str]):
    with Counter("questions", total=16, done=4) as counter:
        for done in range(5, 17):
            counter.moved(done, "x" if done < 16 else "")
    assert capsys.readouterr().err.splitlines() == [
        *(f"questions: {done}/16, x" for done in (6, 8, 10, 12, 14)),
        "questions: 16/16",
    ]


def test_a_slow_counter_speaks_sooner(capsys: pytest.CaptureFixture[str], monkeypatch):
    now = 0.0
    monkeypatch.setattr(_console.time, "monotonic", lambda: now)
    with Counter("questions", total=1000) as counter:
        for done in range(1, 5):
            now += 8
            counter.moved(done, "")
    assert capsys.readouterr().err.splitlines() == ["questions: 2/1000", "questions: 4/1000"]


def test_a_pull_says_a_line_every_tenth(capsys: pytest.CaptureFixture[str]):
    with PullDisplay() as display:
        display.hear(PullEvent("m", 0, 1000, "from the hub"))
        for done in range(0, 1001, 50):
            display.hear(PullEvent("m", done, 1000))
        display.hear(PullEvent("n", 5, None))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "m: from the hub"
    assert lines[1] == "m: 0 B of 1 kB"
    assert lines[-1] == "m: 1 kB of 1 kB"
    assert len(lines) == 12


def test_nothing_to_pull_shows_nothing(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with PullDisplay():
        pass
    assert capsys.readouterr().err == ""


def test_a_pull_on_a_terminal_is_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with PullDisplay() as display:
        display.hear(PullEvent("m", 0, None))
        display.hear(PullEvent("m", 500, 1000))
        display.hear(PullEvent("m", 500, 1000, "[b]again[/b]"))
        display.hear(PullEvent("m", 1000, 1000))
    err = capsys.readouterr().err
    assert "1 kB of 1 kB" in err
    assert "m: [b]again[/b]" in err


def test_a_number_and_its_noun():
    assert _console.counted(1, "line") == "1 line"
    assert _console.counted(0, "line") == "0 lines"
    assert _console.counted(1_200, "entry", "entries") == "1,200 entries"
