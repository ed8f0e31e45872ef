"""What a client may get wrong, and that every refusal is JSON with a message."""

import asyncio
import json
import socket
import time
import tracemalloc

import httpx
import pytest
from starlette.requests import Request

from harness.games.practice._http import read_body
from harness.games.practice._refusal import Refusal


@pytest.fixture
def client(serve, join):
    return join(serve())


@pytest.fixture
def ask(client):
    """Return a function that sends a raw request as a logged-in player."""

    def send(method, path, **more):
        reply = client.http.request(method, path, **more)
        message = None
        if reply.status_code >= 400:
            assert reply.headers["content-type"] == "application/json"
            message = reply.json()["message"]
            assert isinstance(message, str)
            assert message
        return reply.status_code, message

    return send


def test_a_wrong_password(serve, join, official):
    server = serve()
    join(server, "ada", "right")
    with pytest.raises(official.ApiError) as refused:
        join(server, "ada", "wrong")
    assert refused.value.status == 401


def test_a_closed_server_knows_only_its_accounts(serve, join, official):
    server = serve(closed=True)
    with pytest.raises(official.ApiError) as refused:
        join(server, "ada")
    assert refused.value.status == 401
    assert refused.value.message == "Wrong username or password."


BAD_CREDENTIALS = [
    {},
    {"username": "ada"},
    {"username": "ada", "password": 5},
    {"username": "", "password": "x"},
    {"username": " \t ", "password": "x"},
    {"username": "a\nb", "password": "x"},
    {"username": "a\u202eb", "password": "x"},
    {"username": "x" * 65, "password": "x"},
    {"username": "ada", "password": ""},
    {"username": "ada", "password": "x" * 1025},
    {"username": "ada", "password": "\ud800"},
    {"username": ["ada"], "password": "x"},
]


def test_credentials_that_nobody_can_have(ask):
    for body in BAD_CREDENTIALS:
        assert ask("POST", "/api/auth/login", content=json.dumps(body))[0] == 400, body


EVERYTHING = [
    ("GET", "/api/auth/me"),
    ("GET", "/api/competitions"),
    ("GET", "/api/competitions/0/config"),
    ("POST", "/api/game/start"),
    ("GET", "/api/game/1/state"),
    ("POST", "/api/game/1/answer"),
    ("POST", "/api/game/1/timeout"),
    ("GET", "/api/game/1/audio/question"),
    ("GET", "/api/game/1/audio/option/next"),
    ("GET", "/api/game/1/audio/option/0"),
    ("GET", "/api/leaderboard/0"),
]


@pytest.mark.parametrize("cookie", [None, b"forged", "\u00e9".encode()])
def test_nothing_is_there_for_who_is_not_logged_in(serve, cookie):
    server = serve()
    headers = {} if cookie is None else {"Cookie": b"polimillionaire_auth=" + cookie}
    for method, path in EVERYTHING:
        reply = httpx.request(method, server.url + path, headers=headers, trust_env=False)
        assert reply.status_code == 401, path
        assert reply.json() == {"message": "You are not logged in."}


def test_an_expired_cookie(serve, join, clock, official):
    client = join(serve(login_life_s=60))
    clock.advance(59)
    client.me()
    clock.advance(1)
    with pytest.raises(official.ApiError) as refused:
        client.me()
    assert refused.value.status == 401


def test_a_game_of_another_user_looks_like_none(serve, join):
    server = serve()
    ada, eve = join(server, "ada"), join(server, "eve")
    number = ada.start(0, "speech").state.session_id
    for method, tail, body in (
        ("GET", "state", None),
        ("POST", "answer", {"optionId": 0}),
        ("POST", "timeout", None),
        ("GET", "audio/question", None),
        ("GET", "audio/option/next", None),
        ("GET", "audio/option/0", None),
    ):
        theirs = eve.http.request(method, f"/api/game/{number}/{tail}", json=body)
        nobodys = eve.http.request(method, f"/api/game/{number + 1000}/{tail}", json=body)
        huge = eve.http.request(method, f"/api/game/{2**70}/{tail}", json=body)
        assert theirs.status_code == nobodys.status_code == huge.status_code == 404
        assert theirs.content == nobodys.content == huge.content
    assert ada.resume(number).state.status == "in_progress"


BAD_STARTS = [
    ({"competitionId": 6, "mode": "text"}, 404),
    ({"competitionId": -1, "mode": "text"}, 404),
    ({"competitionId": 2**80, "mode": "text"}, 404),
    ({"competitionId": "0", "mode": "text"}, 400),
    ({"competitionId": True, "mode": "text"}, 400),
    ({"competitionId": 0.0, "mode": "text"}, 400),
    ({"competitionId": 0, "mode": "smell"}, 400),
    ({"competitionId": 0, "mode": ["text"]}, 400),
    ({"competitionId": 0}, 400),
    ({"mode": "text"}, 400),
]


def test_a_start_that_makes_no_sense(ask):
    for body, status in BAD_STARTS:
        assert ask("POST", "/api/game/start", json=body)[0] == status, body


def test_an_option_that_is_none_does_not_count_as_an_answer(client, ask):
    game = client.start(0)
    path = f"/api/game/{game.state.session_id}/answer"
    for chosen in (-1, 4, 2**70, "1", 1.0, True, None, [1]):
        assert ask("POST", path, json={"optionId": chosen})[0] == 400, chosen
    assert ask("POST", path, json={})[0] == 400
    assert game.refresh().status == "in_progress"
    assert game.state.level == 1


NO_OBJECTS = [b"", b"{", b"nonsense", b"[1]", b'"text"', b"null", b"\xff\xfe"]


def test_a_body_that_is_no_json_object(client, ask):
    game = client.start(0)
    for path in (f"/api/game/{game.state.session_id}/answer", "/api/game/start", "/api/auth/login"):
        for body in (*NO_OBJECTS, b"[" * 50_000, b"1" * 5_000):
            assert ask("POST", path, content=body)[0] == 400, body[:9]


def test_a_body_of_ten_megabytes(ask):
    for path in ("/api/auth/login", "/api/game/start", "/api/game/1/answer", "/api/game/1/timeout"):
        assert ask("POST", path, content=b"x" * 10_000_000)[0] == 413, path


def test_a_body_without_end_is_cut_off(serve):
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        line.sendall(
            b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        answer = b""
        try:
            for _ in range(64):
                line.sendall(chunk)
            answer = line.recv(100)
        except ConnectionError:  # the server closed the line while we were still sending
            return
        assert b" 413 " in answer


def test_a_large_body_is_thrown_away_as_it_comes_and_not_for_ever():
    received = 0

    async def endless():
        nonlocal received
        received += 1
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"x" * 2**20, "more_body": True}

    tracemalloc.start()
    try:
        assert refusal_of(endless, timeout_s=30) == 413
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert received < 20
    assert peak < 5 * 2**20


def test_a_body_that_never_comes():
    async def never():
        await asyncio.Event().wait()

    assert refusal_of(never, timeout_s=0.01) == 408


def refusal_of(receive, timeout_s):
    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(Refusal) as refused:
        asyncio.run(read_body(request, timeout_s))
    return refused.value.status


def test_answering_twice(client, right, wrong, official):
    game = client.start(0)
    option = wrong(game.current_question)
    game.answer(option)
    with pytest.raises(official.ApiError) as refused:
        game.answer(option)
    assert refused.value.status == 400
    with pytest.raises(official.ApiError) as refused:
        game.timeout()
    assert refused.value.status == 400
    assert game.refresh().earned == 0


def test_audio_in_a_text_game(client, ask):
    game = client.start(0)
    for tail in ("question", "option/next", "option/0"):
        assert ask("GET", f"/api/game/{game.state.session_id}/audio/{tail}")[0] == 400


def test_options_are_spoken_in_order_and_only_what_was_delivered_again(client, ask, right):
    game = client.start(0, "speech")
    path = f"/api/game/{game.state.session_id}/audio/option"
    for place in range(4):
        for later in range(place, 5):
            assert ask("GET", f"{path}/{later}")[0] == 400
        assert ask("GET", f"{path}/next")[0] == 200
        for earlier in range(place + 1):
            assert ask("GET", f"{path}/{earlier}")[0] == 200
    assert ask("GET", f"{path}/next")[0] == 400
    deadline = game.refresh().deadline
    assert ask("GET", f"{path}/2")[0] == 200
    assert game.refresh().deadline == deadline
    assert ask("GET", f"{path}/nonsense")[0] == 404
    assert ask("GET", f"{path}/-1")[0] == 404


def test_audio_after_the_end(client, ask, clock):
    game = client.start(0, "speech")
    for _ in range(4):
        game.next_option_audio()
    clock.advance(31)
    for tail in ("question", "option/next", "option/0"):
        assert ask("GET", f"/api/game/{game.state.session_id}/audio/{tail}")[0] == 400


def test_a_head_request_delivers_nothing(client, ask):
    game = client.start(0, "speech")
    path = f"/api/game/{game.state.session_id}/audio/option"
    assert client.http.head(f"{path}/next").status_code == 405
    assert ask("GET", f"{path}/0")[0] == 400


def test_a_leaderboard_that_makes_no_sense(ask):
    for limit in ("0", "101", "-1", "x", "1.0", "", "\u0663"):
        assert ask("GET", "/api/leaderboard/0", params={"limit": limit})[0] == 400, limit
    assert ask("GET", "/api/leaderboard/0?mode=smell")[0] == 400
    assert ask("GET", "/api/leaderboard/0?limit=100&mode=speech")[0] == 200


def test_unknown_places_and_methods(ask):
    for method, path, status in (
        ("GET", "/api/nothing", 404),
        ("GET", "/api/competitions/", 404),
        ("GET", "/api/competitions/9/config", 404),
        ("GET", "/api/leaderboard/9", 404),
        ("GET", "/api/game/x/state", 404),
        ("GET", "/api/game/start", 405),
        ("POST", "/api/competitions", 405),
        ("DELETE", "/api/game/1/state", 405),
    ):
        assert ask(method, path)[0] == status, (method, path)


def test_a_server_that_can_not_speak(serve, join, official):
    client = join(serve(synthesiser=None))
    with pytest.raises(official.ApiError) as refused:
        client.start(0, "speech")
    assert refused.value.status == 503
    assert "speak" in refused.value.message
    client.start(0, "text")


def test_a_clip_that_fails_counts_as_not_delivered(serve, join, voice, official, capsys):
    from harness.games.practice import SpeechError

    client = join(serve())
    game = client.start(0, "speech")
    speak = voice.speak

    def fail(text):
        raise SpeechError("Speech synthesis failed: no breath.")

    voice.speak = fail
    with pytest.raises(official.ApiError) as refused:
        game.next_option_audio()
    assert refused.value.status == 503
    assert "no breath" in capsys.readouterr().err
    voice.speak = speak
    game.next_option_audio()
    assert voice.spoken[-1].startswith("Option A.")


def test_too_many_requests(serve, join, clock, official):
    client = join(serve(rate=3.0))
    client.me()
    client.me()
    reply = client.http.get("/api/auth/me")
    assert reply.status_code == 429
    assert reply.headers["retry-after"] == "1"
    assert "message" in reply.json()
    clock.advance(1 / 3 + 0.001)
    client.me()
    with pytest.raises(official.ApiError):
        client.me()


def test_a_database_that_fails_is_told_without_details(serve, join, official, capsys):
    server = serve()
    client = join(server)
    game = client.start(0)
    server.service.database.transact(
        lambda connection: connection.execute("ALTER TABLE serving RENAME TO gone")
    )
    with pytest.raises(official.ApiError) as refused:
        game.refresh()
    assert refused.value.status == 500
    assert "serving" not in refused.value.message
    assert "no such table: serving" in capsys.readouterr().err


def test_a_fault_is_told_in_json(serve, join, official, monkeypatch, caplog):
    server = serve()
    client = join(server)
    monkeypatch.setattr(server.service, "material", None)
    with pytest.raises(official.ApiError) as refused:
        client.start(0)
    assert refused.value.status == 500
    assert "NoneType" not in refused.value.message
    for _ in range(200):  # the server's own log gets the traceback after the reply has left
        if "NoneType" in caplog.text:
            break
        time.sleep(0.005)
    assert "NoneType" in caplog.text
