"""Whole games against servers that misbehave: each is played to its end, nothing answered twice."""

import asyncio
import importlib.util
import sqlite3
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.clock import SystemClock
from harness.games.client import QuizClient
from harness.games.login import Credentials
from harness.games.pacing import RetryPolicy
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions, ServerTime
from harness.games.records import End


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("table.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


@dataclass
class WrongClock:
    """The machine's clock, but for the time of day."""

    skew_s: float

    def monotonic(self):
        return SystemClock().monotonic()

    def now(self):
        return datetime.now(UTC) + timedelta(seconds=self.skew_s)


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def serve(tmp_path, *, skew_s=0.0, flaw=None):
    server = PracticeServer(
        table.make_questions(3, ("history",)),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=None,
        time=ServerTime(WrongClock(skew_s)),
    )
    if flaw is not None:
        server._app = flaw(server._app)
    return server


def play(server, tmp_path, who="ada", journal="games"):
    quiz = QuizClient(
        server.url,
        Credentials(who, "password"),
        min_interval_s=0,
        timeout_s=0.5,
        retry=RetryPolicy(first_s=0.01, longest_s=0.05),
    )
    request = PlayRequest(
        server.url,
        (("history", "text"),),
        search=False,
        journal=tmp_path / journal,
        assignments={"play.pause_s": 0},
    )
    return play_games(request, quiz=quiz, load_contestant=lambda settings: table.Player())


def answered(tmp_path):
    database = sqlite3.connect(tmp_path / "games.sqlite")
    try:
        (count,) = database.execute("SELECT count(answered) FROM serving").fetchone()
    finally:
        database.close()
    return count


@pytest.mark.parametrize("skew_s", [-40, 40])
def test_a_clock_that_is_40_seconds_off(tmp_path, skew_s):
    with serve(tmp_path, skew_s=skew_s) as server:
        (record,) = play(server, tmp_path).records
    assert (record.end, record.right) == (End.WON, 3)
    assert all(20 < one.left_s <= 30 for one in record.questions)


def test_two_players_with_one_account_at_once(tmp_path):
    with serve(tmp_path) as server:
        found = {}

        def run(name):
            found[name] = play(server, tmp_path, journal=name).records[0]

        threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [record.end for record in found.values()] == [End.WON, End.WON]
    assert len({record.session_id for record in found.values()}) == 2
    assert answered(tmp_path) == 6


class Flaw:
    """Lets the n-th answer go wrong, before or after it has counted; keeps a history."""

    def __init__(self, kind, after, number=2):
        self.kind, self.after, self.number = kind, after, number
        self.seen = 0

    def __call__(self, app):
        self.app = app

        async def handle(scope, receive, send):
            await self.handle(scope, receive, send)

        return handle

    async def handle(self, scope, receive, send):
        if not scope["path"].endswith("/answer"):
            return await self.app(scope, receive, send)
        self.seen += 1
        if self.seen != self.number:
            return await self.app(scope, receive, send)
        if self.after:
            await self.app(scope, receive, self.swallow)
        if self.kind == "hangs":
            await asyncio.sleep(3)
        elif self.kind == "breaks off":
            headers = [(b"content-length", b"1000")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{"})
            return None
        status = {"fails": 500, "is busy": 503, "is html": 200}.get(self.kind, 500)
        body = b"<html>oops</html>"
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return None

    async def swallow(self, message):
        pass


@pytest.mark.parametrize("after", [False, True], ids=["before it counts", "after it counted"])
@pytest.mark.parametrize("kind", ["hangs", "breaks off", "fails", "is busy", "is html"])
def test_an_answer_whose_reply_goes_wrong(tmp_path, kind, after):
    flaw = Flaw(kind, after)
    with serve(tmp_path, flaw=flaw) as server:
        (record,) = play(server, tmp_path).records
    assert (record.end, record.right, record.judged) == (End.WON, 3, 3)
    assert answered(tmp_path) == 3
    assert flaw.seen == (3 if after else 4)  # sent again only where it had not counted
    assert record.questions[1].notes  # and what went wrong is told


def test_a_login_that_ends_in_the_middle(tmp_path):
    with serve(tmp_path) as server:

        class Forgetful(table.Player):
            def answer(self, question, evidence, trace):
                server._database.transact(
                    lambda connection: connection.execute("DELETE FROM login")
                )
                return super().answer(question, evidence, trace)

        quiz = QuizClient(server.url, Credentials("ada", "password"), min_interval_s=0)
        request = PlayRequest(
            server.url, (("history", "text"),), search=False, journal=tmp_path / "games"
        )
        (record,) = play_games(
            request, quiz=quiz, load_contestant=lambda settings: Forgetful()
        ).records
    assert (record.end, record.right) == (End.WON, 3)
    assert answered(tmp_path) == 3
