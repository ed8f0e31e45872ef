"""What Hotseat tells a practice server of its thinking, and nobody else."""

import importlib.util
import sys
from pathlib import Path

import httpx
import pytest

from harness.games.client import QuizClient
from harness.games.login import Credentials
from harness.games.playing import PlayRequest, play_games
from harness.games.practice import PracticeServer, ServerOptions
from harness.games.records import End


def helpers():
    name = "hotseat_test_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("table.py"))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


table = helpers()


class Talker(table.Player):
    """Notes what a real contestant notes."""

    def play(self, question, transport, trace):
        trace.note(
            query="rowan",
            hits=[{"url": "https://a.example", "title": "Trees"}, {"url": "https://b.example"}],
        )
        with trace.stage("rerank"):
            pass
        trace.note(passages=[{"url": "https://a.example", "score": 0.5}])
        trace.note(prompt="[1] Trees")
        return super().play(question, transport, trace)


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = []
    with PracticeServer(
        table.make_questions(2, ("history",)),
        database=tmp_path / "games.sqlite",
        options=ServerOptions(scrypt_cost=2, seed=1),
        synthesiser=None,
        tell=lines.append,
    ) as server:

        def play(player):
            quiz = QuizClient(server.url, Credentials("ada", "password"), min_interval_s=0)
            request = PlayRequest(server.url, (("history", "text"),), search=False)
            return play_games(request, quiz=quiz, load_contestant=lambda settings: player)

        play.server, play.lines = server, lines
        yield play


def test_stages_arrive_in_order_for_each_level(scene):
    (record,) = scene(Talker()).records
    assert record.end is End.WON
    with httpx.Client(base_url=scene.server.url) as client:
        client.post("/api/auth/login", json={"username": "watcher", "password": "secret"})
        seen = client.get(f"/api/hotseat/game/{record.session_id}").json()
        later = client.get(f"/api/hotseat/game/{record.session_id}?after=7").json()
    assert seen["username"] == "ada"
    assert [one["correct"] for one in seen["past"]] == [True, True]
    first = [event for event in seen["events"] if event["level"] == 1]
    assert [event["kind"] for event in first] == [
        "query",
        "hits",
        "stage",
        "passages",
        "read",
        "stage",
        "output",
        "answer",
    ]
    assert first[1]["titles"] == ["Trees", "https://b.example"]
    assert first[3]["items"] == [{"source": "https://a.example", "score": 0.5}]
    assert first[-1]["text"].startswith("rowan")
    assert first[-1]["basis"] == "model alone"
    assert later["events"][0]["n"] == 8
    assert [event["n"] for event in seen["events"]] == list(range(1, 17))


def test_a_server_without_the_place_is_asked_once(scene, monkeypatch):
    import harness.games.practice._watch_routes as module

    # The routes are composed when the server is made; here it answers 404 instead.
    for route in list(scene.server._app.routes):
        if getattr(route, "path", "").startswith("/api/hotseat"):
            scene.server._app.routes.remove(route)
    assert module is not None
    outcome = scene(Talker())
    assert outcome.records[0].end is End.WON
    assert outcome.problems == ()
    assert sum("/api/hotseat" in line for line in scene.lines) == 1


def test_a_place_that_fails_costs_no_game(scene, monkeypatch):
    async def broken(self, session_id, level, events):
        raise RuntimeError("no")

    monkeypatch.setattr(QuizClient, "tell_stages", broken)
    assert scene(Talker()).records[0].end is End.WON


def test_long_texts_of_any_script_arrive(scene):
    class Long(Talker):
        def play(self, question, transport, trace):
            trace.note(prompt="漢" * 30_000)
            trace.note(output="𝔄" * 30_000)
            return super().play(question, transport, trace)

    (record,) = scene(Long()).records
    with httpx.Client(base_url=scene.server.url) as client:
        client.post("/api/auth/login", json={"username": "watcher", "password": "secret"})
        seen = client.get(f"/api/hotseat/game/{record.session_id}").json()
    texts = {event["kind"]: event["text"] for event in seen["events"][:2]}
    assert texts["read"].startswith("漢")
    assert texts["output"].startswith("𝔄")
    assert seen["events"][-1]["kind"] == "answer"  # the last one is not lost
