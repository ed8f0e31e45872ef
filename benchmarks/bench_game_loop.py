"""What the game loop itself takes per question: everything but stages and the quiz server.

A scripted player that takes no time plays games against a practice server on
loopback, with and without a recording.  Run it with ``python
benchmarks/bench_game_loop.py``; ``--quick`` plays a few.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from harness.contestant.protocol import Contestant
from harness.games.client import QuizClient
from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.question_file import load_questions
from harness.quiz import Answer, Basis, ParseStep, Question
from harness.replay import sample_path
from harness.settings import Settings

MOST_MS = 5.0
CATEGORIES = ("entertainment", "history", "science", "maths", "philosophy", "news")


class Knowing(Contestant):
    """Knows all the answers at once."""

    def __init__(self, questions: tuple[Question, ...]) -> None:
        self._right = {one.text: one.gold.answer for one in questions}

    def describe(self):
        return {}

    def play(self, question, transport, trace):
        right = self._right[question.text]
        option = next(one for one in question.options if one.text == right)
        return Answer(option, Basis.MODEL, ParseStep.TEXT)

    def close(self):
        pass


def measure(games: int, *, recorded: bool) -> list[float]:
    """Return the loop's own milliseconds of each question."""
    questions = load_questions(sample_path() / "questions.jsonl").questions

    def load(settings: Settings) -> Contestant:
        return Knowing(questions)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with PracticeServer(
            questions,
            database=place / "games.sqlite",
            options=ServerOptions(seed=1),
            synthesiser=None,
        ) as server:
            outcome = play_games(
                PlayRequest(
                    server.url,
                    tuple((name, "text") for name in CATEGORIES),
                    games=games,
                    record=place / "corpus" if recorded else None,
                    journal=place / "games",
                    assignments={"play.pause_s": 0},
                    search=False,
                ),
                quiz=QuizClient(server.url, Credentials("ada", "pw"), min_interval_s=0),
                load_contestant=load,
            )
    return [1000 * one.overhead_s for game in outcome.records for one in game.questions]


def test_overhead_is_small() -> None:
    """A bound so wide that only a fault breaks it."""
    assert statistics.median(measure(1, recorded=True)) < 10 * MOST_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few games: does it run at all?")
    games = 1 if parser.parse_args().quick else 4
    print("| loop's own time | questions | median | p99 | max |\n|---|--:|--:|--:|--:|")
    for recorded in (False, True):
        times = sorted(measure(games, recorded=recorded))
        p99 = times[max(0, -(-99 * len(times) // 100) - 1)]
        name = "recorded" if recorded else "journal alone"
        middle = statistics.median(times)
        print(f"| {name} | {len(times)} | {middle:.2f} ms | {p99:.2f} ms | {times[-1]:.2f} ms |")


if __name__ == "__main__":
    main()
