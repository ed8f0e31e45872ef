"""A player in a process of its own that kills itself at the n-th step; for test_kill."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import harness.games.journal as journal
import harness.games.learned as learned
from harness.games._http import Line
from harness.games.client import QuizClient
from harness.games.login import Credentials
from harness.games.pacing import RetryPolicy
from harness.games.playing import PlayRequest, play_games

spec = importlib.util.spec_from_file_location("table", Path(__file__).with_name("table.py"))
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

url, corpus, last_step = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
games, step = int(sys.argv[4]), 0


def step_on():
    global step
    step += 1
    if step == last_step:
        os.kill(os.getpid(), signal.SIGKILL)


def around(module):
    real = module.append_lines

    def append(path, data):
        step_on()
        real(path, data)
        step_on()

    module.append_lines = append


around(journal)
around(learned)
exchange = Line.exchange


async def stepping(self, *values, **named):
    step_on()
    reply = await exchange(self, *values, **named)
    step_on()
    return reply


Line.exchange = stepping
quiz = QuizClient(
    url, Credentials("ada", "password"), min_interval_s=0, retry=RetryPolicy(first_s=0.01)
)
outcome = play_games(
    PlayRequest(
        url,
        (("history", "text"),),
        games=games,
        record=corpus,
        search=False,
        assignments={"play.pause_s": 0},
    ),
    quiz=quiz,
    load_contestant=lambda settings: table.Player(),
)
print(len(outcome.records), len(outcome.settled), *(one.end.value for one in outcome.settled))
