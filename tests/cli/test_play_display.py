"""The live view, drawn into a string."""

import io

from rich.console import Console

from harness.cli._play_display import PlayDisplay, verdict_line
from harness.games.records import End, GamePlan, GameRecord, PlayedQuestion
from harness.quiz import Basis, Category

EVIL = "\x1b[2J[bold]ash[/bold]"


def record(**changes):
    values = {
        "server": "http://127.0.0.1:8000",
        "player": "ada",
        "session_id": 7,
        "competition_id": 3,
        "competition": "Maths",
        "category": Category.MATHS,
        "mode": "text",
        "started": "2026-01-01T00:00:00Z",
        "finished": None,
        "max_level": 15,
        "level_reached": 4,
        "prize": 500.0,
        "end": End.STOPPED,
    }
    return GameRecord(**{**values, **changes})


def drawn(display, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(display._drawn())
    return console.file.getvalue()


def test_a_question_with_its_stages_and_the_clock():
    time = [100.0]
    display = PlayDisplay(budget_s=25, now=lambda: time[0])
    assert "loading the models" in drawn(display)
    display.planned(GamePlan(2, 3, "Maths", "text"))
    display.started(record(), resumed=False)
    question = PlayedQuestion(5, "g-1", f"What is {EVIL}?", ("9", "10", EVIL, "12"))
    display.asked(record(), question, 28.0)
    display.noted({"query": "nine plus one", "hits": []})
    display.stage("search", 0.5)
    display.stage("generate", 4.0)
    display.stage("generate", 4.0)
    time[0] = 109.5
    text = drawn(display)
    assert "Game 2/3  Maths, text   level 5 of 15   500 so far" in text
    assert "B  10" in text
    assert "[bold]ash[/bold]" in text  # shown, not obeyed
    assert "\x1b" not in text
    assert "searching: nine plus one" in text
    assert "generate    8.00 s  ██████████" in text
    assert "9.5 s of 25 s, 18 s on the server's clock" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_verdict_in_one_line():
    question = PlayedQuestion(
        5,
        "g-1",
        "?",
        ("a", "b"),
        chosen="b",
        correct=False,
        basis=Basis.DEADLINE,
        seconds={"generate": 24.0, "wait": 0.1},
        taken_s=25.01,
        notes=("no answer after 25.0 s, so the longest option was taken",),
    )
    assert verdict_line(question) == (
        "   5  wrong  b  (25.0 s, generate 24.0 s, deadline fallback); "
        "no answer after 25.0 s, so the longest option was taken"
    )
    late = PlayedQuestion(1, "g", "?", ("a",), chosen="a", timed_out=True)
    assert "late" in verdict_line(late)


def test_downloads_of_models_are_shown_on_the_way(capsys):
    from harness.models import PullEvent

    with PlayDisplay(budget_s=25) as display:
        display.pulling(PullEvent("qwen", 0, None, "fetched from PyPI"))
        display.pulling(PullEvent("qwen", 500, 1000))
    said = capsys.readouterr().err
    assert "Logging in and loading the models." in said
    assert "qwen: fetched from PyPI" in said
    assert "qwen: 500 B of 1 kB" in said
