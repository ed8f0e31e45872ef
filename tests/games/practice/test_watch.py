"""What is beside the protocol: watching, telling stages, and games written down for later."""

import httpx
import pytest

from harness.errors import BadInputError
from harness.games.journal import read_games
from harness.games.practice import Database, export_games
from harness.games.practice._stages import Stages, clean_event
from harness.games.records import End


@pytest.fixture
def enter():
    """Return a function that logs a player in over plain HTTP."""
    clients = []

    def log_in(server, name):
        client = httpx.Client(base_url=server.url)
        clients.append(client)
        if name:
            client.post("/api/auth/login", json={"username": name, "password": "secret"})
        return client

    yield log_in
    for client in clients:
        client.close()


def start(client, mode="text"):
    return client.post("/api/game/start", json={"competitionId": 1, "mode": mode}).json()


def test_running_games_are_listed_and_seen_by_who_is_logged_in(serve, enter, right, clock):
    server = serve()
    ada, bea, nobody = (enter(server, name) for name in ("ada", "bea", ""))
    state = start(ada)
    path = f"/api/hotseat/game/{state['sessionId']}"
    for where in ("/api/hotseat/games", path, f"{path}/remaining", "/api/hotseat/games/mine"):
        assert nobody.get(where).status_code == 401
    (listed,) = bea.get("/api/hotseat/games").json()["games"]
    assert (listed["username"], listed["level"], listed["tellsStages"]) == ("ada", 1, False)
    assert bea.get("/api/hotseat/games/mine").json() == {"games": []}
    clock.advance(10)
    seen = bea.get(path).json()
    assert seen["remainingSeconds"] == 20.0
    assert seen["state"]["question"] == state["question"]
    assert bea.get(f"{path}/remaining").status_code == 404  # not a game of hers
    clock.advance(21)  # nobody tells that the time is up, but those who look see it
    assert bea.get("/api/hotseat/games").json() == {"games": []}
    assert bea.get(path).json()["status"] == "timeout"
    assert bea.get("/api/hotseat/game/99").status_code == 404
    assert bea.get(f"/api/hotseat/game/{2**70}").status_code == 404
    assert bea.get(f"{path}?after=x").status_code == 400


def test_a_spoken_game_shows_no_texts(serve, enter):
    server = serve()
    ada, bea = enter(server, "ada"), enter(server, "bea")
    state = start(ada, "speech")
    seen = bea.get(f"/api/hotseat/game/{state['sessionId']}").json()
    assert seen["state"]["question"]["text"] is None
    assert all(one["text"] is None for one in seen["state"]["question"]["options"])


def test_only_the_player_tells_the_stages_of_a_game(serve, enter):
    server = serve()
    ada, bea, nobody = (enter(server, name) for name in ("ada", "bea", ""))
    path = f"/api/hotseat/game/{start(ada)['sessionId']}/stages"
    body = {"level": 1, "events": [{"kind": "query", "text": "x"}]}
    assert nobody.post(path, json=body).status_code == 401
    assert bea.post(path, json=body).status_code == 404
    assert ada.post(path, json=body).json() == {"kept": 1}
    assert ada.post(path, json={"level": 1, "events": []}).json() == {"kept": 0}
    for bad in (
        {},
        {"level": "1", "events": []},
        {"level": 1, "events": {}},
        {"level": 1, "events": [{}] * 61},
    ):
        assert ada.post(path, json=bad).status_code == 400
    assert ada.post(path, content=b"{").status_code == 400
    assert ada.post(path, content=b"x" * 70_000).status_code == 413


@pytest.mark.parametrize(
    ("item", "kept"),
    [
        ("text", None),
        ({"kind": "other"}, None),
        ({"kind": ["query"]}, None),
        ({"kind": "query", "text": 5}, {"kind": "query", "text": ""}),
        ({"kind": "query", "text": "a" * 900, "more": 1}, {"kind": "query", "text": "a" * 500}),
        ({"kind": "hits", "titles": "no"}, {"kind": "hits", "titles": []}),
        ({"kind": "hits", "titles": ["a", 1]}, {"kind": "hits", "titles": ["a", ""]}),
        (
            {"kind": "passages", "items": [{"source": "s", "score": float("nan")}, 3]},
            {"kind": "passages", "items": [{"source": "s", "score": None}]},
        ),
        (
            {"kind": "stage", "name": "generate", "seconds": True},
            {"kind": "stage", "name": "generate", "seconds": 0.0},
        ),
        ({"kind": "output", "text": "\ud800"}, {"kind": "output", "text": "?"}),
    ],
)
def test_events_are_cut_to_what_is_known(item, kept):
    assert clean_event(item) == kept


def test_memory_is_bounded():
    stages = Stages()
    for game in range(300):
        for _ in range(10):
            stages.add(game, 1, [{"kind": "query", "text": "x"}] * 60)
    assert len(stages.after(299, 0)) == 300
    assert stages.after(299, 0)[-1]["n"] == 300 * 600
    assert not stages.knows(0)
    long = [{"kind": "read", "text": "x" * 12_000}] * 60
    for game in range(300):
        stages.add(game, 1, long)
    kept = [len(stages.after(game, 0)) for game in range(300)]
    assert sum(kept) * 12_000 < 16_000_000
    assert max(kept) * 12_000 < 400_000
    assert kept[-1] > 0


def test_peoples_games_become_records_like_an_agents(serve, join, right, wrong, clock, tmp_path):
    server = serve()
    ada = join(server)
    won = ada.start(0)
    while not won.over:
        clock.advance(2)
        won.answer(right(won.current_question))
    lost = ada.start(1)
    lost.answer(right(lost.current_question))
    lost.answer(wrong(lost.current_question))
    late = ada.start(2)
    clock.advance(40)
    late.refresh()
    join(server, "bea").start(3)  # runs still
    server.close()
    file = Database(tmp_path / "games.sqlite")
    try:
        assert export_games(file, tmp_path / "out", player="ada") == 3
        with pytest.raises(BadInputError, match="is there already"):
            export_games(file, tmp_path / "out")
        with pytest.raises(BadInputError, match="no finished game of 'bea'"):
            export_games(file, tmp_path / "none", player="bea")
    finally:
        file.close()
    assert not (tmp_path / "none" / "games.jsonl").exists()
    first, second, third = read_games(tmp_path / "out")
    assert (first.end, first.level_reached, first.prize) == (End.WON, 15, 1_024_000)
    assert [one.taken_s for one in first.questions] == [2.0] * 15
    assert (second.end, second.right, second.judged, second.prize) == (End.WRONG, 1, 2, 100)
    assert (third.end, third.right, third.judged) == (End.LATE, 0, 1)
    assert third.questions[0].timed_out
    assert first.player == "ada"
    assert first.questions[0].chosen.startswith("rowan")


def test_a_game_that_is_over_is_seen_for_a_minute_by_others(serve, enter, wrong, clock):
    server = serve()
    ada, bea = enter(server, "ada"), enter(server, "bea")
    state = start(ada)
    texts = [one["text"] for one in state["question"]["options"]]
    place = next(at for at, text in enumerate(texts) if not text.startswith("rowan"))
    ada.post(f"/api/game/{state['sessionId']}/answer", json={"optionId": place})
    path = f"/api/hotseat/game/{state['sessionId']}"
    events = {"level": 1, "events": [{"kind": "answer", "text": texts[place], "basis": "x"}]}
    assert ada.post(f"{path}/stages", json=events).json() == {"kept": 1}  # told with its end
    assert bea.get(path).json()["past"][0]["correct"] is False
    clock.advance(61)
    assert bea.get(path).status_code == 404
    assert ada.get(path).status_code == 200
    assert ada.post(f"{path}/stages", json=events).status_code == 400


def test_ones_own_game_is_found_however_many_others_run(serve, enter):
    server = serve()
    ada, bea = enter(server, "ada"), enter(server, "bea")
    mine = start(ada)["sessionId"]
    for _ in range(51):
        start(bea)
    (found,) = ada.get("/api/hotseat/games/mine").json()["games"]
    assert found["sessionId"] == mine
    assert len(ada.get("/api/hotseat/games").json()["games"]) == 50
