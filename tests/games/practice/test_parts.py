"""The pool, accounts, the limit on the rate, the object, and many players at once."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.games.practice import Pool, PracticeServer
from harness.games.practice._accounts import check_password, hash_password
from harness.games.practice._middleware import RateLimit
from harness.quiz import Category, Gold, Option, Question


def question(number=1, options=("a", "b", "c", "d"), answer="a", refused=(), text=None, **more):
    return Question(
        f"q{number}",
        more.get("category", Category.NEWS),
        text or f"Question {number}?",
        tuple(Option(place, option) for place, option in enumerate(options)),
        Gold(answer, refused),
    )


def test_only_questions_with_a_known_answer_and_four_options_are_played():
    pool = Pool.of(
        [
            question(1),
            question(2, answer=None),
            question(3, answer=None, refused=("a", "b")),
            question(4, answer=None, refused=("a", "b", "c")),  # only d is left
            question(5, options=("a", "b")),
            question(6, options=("a", "b", "b", "c")),
            question(7, options=tuple("abcdefgh"), answer="h"),
            question(8, text="question  1?"),
            question(9, text="Question 1?", category=Category.MATHS),
        ]
    )
    assert {place: len(one.questions) for place, one in pool.competitions.items()} == {3: 1, 5: 3}
    assert [one.right for one in pool.competitions[5].questions] == ["a", "d", "h"]
    assert pool.left_out == {
        "without a known answer": 2,
        "with fewer than 4 different options": 2,
        "asked twice": 1,
    }


def test_of_many_options_the_right_one_and_three_others_are_asked():
    (competition,) = Pool.of(
        [question(1, options=tuple("abcdefgh"), answer="h")]
    ).competitions.values()
    seen = set()
    for trial in range(40):
        (serving,) = competition.draw(str(trial))
        assert len(set(serving.options)) == 4
        assert serving.options[serving.right] == "h"
        seen |= set(serving.options)
    assert seen == set("abcdefgh")


@given(material=st.text(), count=st.integers(1, 30))
def test_a_draw_repeats_no_question_and_keeps_the_right_option(material, count):
    (competition,) = Pool.of(question(number) for number in range(count)).competitions.values()
    drawn = competition.draw(material)
    assert drawn == competition.draw(material)
    assert [one.level for one in drawn] == list(range(1, min(15, count) + 1))
    assert len({one.text for one in drawn}) == len(drawn)
    assert all(sorted(one.options) == ["a", "b", "c", "d"] for one in drawn)
    assert all(one.options[one.right] == "a" for one in drawn)


def test_without_a_playable_question_there_is_no_server():
    with pytest.raises(BadInputError, match="2 without a known answer"):
        PracticeServer([question(1, answer=None), question(2, answer=None)])


@given(st.text(min_size=1, max_size=30).filter(lambda text: text.encode("utf-8", "ignore")))
def test_a_password_fits_only_itself(password):
    password = password.encode("utf-8", "ignore").decode()
    kept = hash_password(password, 2)
    assert kept != hash_password(password, 2)  # each has its own salt
    assert check_password(password, kept)
    assert not check_password(password + "x", kept)


def test_the_allowance_of_one_address_is_not_that_of_another(clock):
    limit = RateLimit(None, 2.0, clock)
    assert [limit._take("a") > 0 for _ in range(4)] == [False, False, True, True]
    assert limit._take("b") == 0
    clock.advance(0.5)
    assert limit._take("a") == 0
    assert limit._take("a") == pytest.approx(0.5)
    clock.advance(3600)
    assert [limit._take("a") > 0 for _ in range(3)] == [False, False, True]


def test_the_memory_of_addresses_is_bounded(clock):
    limit = RateLimit(None, 2.0, clock)
    for number in range(10_050):
        limit._take(str(number))
    assert len(limit._left) == 10_000


def test_each_request_is_told_without_secrets(serve, join):
    told = []
    server = serve(tell=told.append)
    client = join(server, password="open sesame")
    client.start(0)
    server.close()  # a reply may be there before its line is
    assert told[0].startswith("POST /api/auth/login 200 ")
    assert told[1].startswith("POST /api/game/start 200 ")
    assert "sesame" not in " ".join(told)
    assert client.http.cookies["polimillionaire_auth"] not in " ".join(told)


def test_further_routes_go_beside_the_protocol(tmp_path, voice):
    import httpx
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def page(request):
        return PlainTextResponse("a page")

    with PracticeServer(
        [question()],
        database=tmp_path / "db",
        synthesiser=voice,
        extra_routes=[Route("/", page)],
    ) as server:
        assert httpx.get(server.url, trust_env=False).text == "a page"
        assert server.speech == "fake 1"
    server.close()  # once more does no harm
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url, trust_env=False)


def test_small_replies_are_not_held_back(serve, join):
    """Nagle's algorithm would add 40 ms to each request."""
    import socket
    import time

    server = serve()
    assert server._socket.proto == socket.IPPROTO_TCP  # what asyncio looks at
    client = join(server)
    took = []
    for _ in range(15):
        started = time.perf_counter()
        client.me()
        took.append(time.perf_counter() - started)
    assert min(took) < 0.03


def test_a_port_that_is_taken(serve, questions, tmp_path):
    server = serve()
    with pytest.raises(BadInputError, match=f"port {server.port}: Address already in use"):
        PracticeServer(questions(), port=server.port, database=tmp_path / "other")


def test_many_games_at_once_and_none_is_lost(serve, join, right, wrong):
    """The same at full size, with its times, is in benchmarks/bench_practice_server.py."""
    server = serve()
    players = 16
    ready = threading.Barrier(players)

    def play(number):
        client = join(server, f"player {number}")
        ready.wait(30)
        game = client.start(number % 6)
        for level in range(1, 15 if number % 2 else 16):
            assert game.state.level == level
            reply = game.answer(right(game.current_question))
            assert reply["correct"] is True
        if number % 2:
            assert game.answer(wrong(game.current_question))["correct"] is False
        return game.state.earned

    with ThreadPoolExecutor(players) as threads:
        earned = list(threads.map(play, range(players)))
    assert earned == [1_024_000, 512_000] * (players // 2)


def test_two_who_ask_for_the_next_option_at_once_get_different_ones(serve, join, voice):
    server = serve()
    first, second = join(server), join(server)
    game = first.start(0, "speech")
    same = second.resume(game.state.session_id)
    speak, both = voice.speak, threading.Barrier(2)

    def together(text):
        if "Option A" in text:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.3)  # only one is asked: the other waits for the same clip
        return speak(text)

    voice.speak = together
    with ThreadPoolExecutor(2) as threads:
        clips = list(threads.map(lambda one: one.next_option_audio(), [game, same]))
    assert [game.option_audio(0), game.option_audio(1)] in (clips, clips[::-1])
    assert game.refresh().deadline is None
