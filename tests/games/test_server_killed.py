"""A server that is killed at any request and started again, while a player plays."""

import importlib.util
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.games.client import QuizClient
from harness.games.errors import QuizUnclearError
from harness.games.login import Credentials
from harness.games.pacing import RetryPolicy
from harness.games.playing import PlayRequest, play_games
from harness.games.records import End
from harness.question_file import load_questions

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("hotseat_server_table", HERE / "table.py")
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)


class Phoenix:
    """A server that rises again."""

    def __init__(self, database, number, when):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._database = database
        self._begin(number, when)
        self._thread = threading.Thread(target=self._raise_again, daemon=True)
        self._thread.start()
        self.died = False
        self._over = False

    def _begin(self, number, when):
        arguments = [str(self.port), str(self._database), str(number), when]
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "server_child.py"), *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def _raise_again(self):
        first = self._process
        first.wait()
        first.stdout.close()
        if not self._over:
            self.died = True
            self._begin(0, "never")

    def close(self):
        self._over = True
        self._process.kill()
        self._thread.join()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "number", range(1, 7)
)  # login, competitions, what it takes, start, two answers
def test_the_game_goes_on(tmp_path, monkeypatch, number, when):
    monkeypatch.setenv("HOTSEAT_HOME", str(tmp_path / "home"))
    server = Phoenix(tmp_path / "games.sqlite", number, when)
    url = f"http://127.0.0.1:{server.port}"

    def play():
        quiz = QuizClient(
            url,
            Credentials("ada", "password"),
            min_interval_s=0,
            retry=RetryPolicy(attempts=40, first_s=0.05, longest_s=0.2),
        )
        request = PlayRequest(
            url,
            (("history", "text"),),
            record=tmp_path / "corpus",
            search=False,
            assignments={"play.pause_s": 0},
        )
        return play_games(
            request, quiz=quiz, load_contestant=lambda settings: table.Player()
        ).records

    try:
        try:
            (record,) = play()
        except QuizUnclearError:  # whether a game was started can't be known
            assert number == 4
            (record,) = play()
    finally:
        server.close()
    assert server.died
    assert (record.end, record.right, record.judged) == (End.WON, 2, 2)
    known = load_questions(tmp_path / "corpus" / "questions.jsonl")
    assert [one.gold.answer[:5] for one in known.questions] == ["rowan", "rowan"]
    database = sqlite3.connect(tmp_path / "games.sqlite")
    (answered,) = database.execute("SELECT count(answered) FROM serving").fetchone()
    database.close()
    assert answered == 2
