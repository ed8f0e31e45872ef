import asyncio
import itertools

import pytest

from harness.errors import BadInputError
from harness.games.client import QuizClient
from harness.games.errors import (
    QuizLoginError,
    QuizNotFoundError,
    QuizProtocolError,
    QuizRateLimitError,
    QuizRefusedError,
    QuizUnclearError,
    QuizUnreachableError,
)
from harness.games.login import Credentials
from harness.quiz import Category


def test_every_plain_endpoint(play):
    async def scene(server, client):
        me = await client.me()
        competitions = await client.competitions()
        config = await client.config(3)
        board = await client.leaderboard(3, mode="speech", limit=7)
        query = server.asked("leaderboard")[0]["query"]
        await client.logout()
        return me, competitions, config, board, query, client.logged_in

    me, (maths,), config, board, query, logged_in = play(scene)
    assert (me.username, me.role) == ("ada", "player")
    assert (maths.id, maths.category, maths.max_levels) == (3, Category.MATHS, 5)
    assert (config.id, config.money_pyramid, config.prizes) == (3, (), None)
    assert (board.competition.name, board.entries) == ("Maths", ())
    assert query == "limit=7&mode=speech"
    assert not logged_in


def test_a_whole_text_game(play):
    async def scene(server, client):
        game = await client.start(3)
        assert game.state.question.text == "Question 1?"
        outcomes = []
        while not game.state.is_over:
            outcomes.append(await game.answer(game.state.current_level % 4))
        return game.state, outcomes

    state, outcomes = play(scene)
    assert (state.status, state.earned_amount, len(outcomes)) == ("completed", 1000, 5)
    assert all(o.result.correct and o.sends == 1 and o.learned == "the reply" for o in outcomes)


def test_the_first_wrong_answer_ends_the_game(play):
    async def scene(server, client):
        game = await client.start(3)
        await game.answer(1)
        outcome = await game.answer(0)
        with pytest.raises(QuizRefusedError, match="needs an open question"):
            await game.answer(0)
        return outcome.result, game, len(server.asked("answer"))

    result, game, sent = play(scene)
    assert (result.correct, result.game_over, result.timed_out) == (False, True, False)
    assert (game.state.status, game.state.earned_amount, game.remaining_s()) == (
        "failed",
        100,
        None,
    )
    assert sent == 2  # answering once more was not even sent


def test_a_late_answer_teaches_nothing(play, clock):
    async def scene(server, client):
        game = await client.start(3)
        clock.advance(31)
        assert game.remaining_s() == 0
        return (await game.answer(1)).result

    result = play(scene)
    assert (result.correct, result.timed_out, result.status) == (None, True, "timeout")


def test_declaring_a_timeout(play):
    async def scene(server, client):
        game = await client.start(3)
        outcome = await game.declare_timeout()
        return outcome.result, game.state.status

    result, status = play(scene)
    assert (result.timed_out, status) == (True, "timeout")


@pytest.mark.parametrize("operation", ["competitions", "me", "config", "leaderboard", "state"])
@pytest.mark.parametrize(
    "kind", ["drop", "drop_after", "cut", "hang", "drip", "500", "502", "429", "408"]
)
def test_a_call_that_does_no_harm_is_repeated_on_a_new_connection(
    play, faults, clock, operation, kind
):
    async def scene(server, client):
        game = await client.start(3)
        calls = {
            "competitions": client.competitions,
            "me": client.me,
            "config": lambda: client.config(3),
            "leaderboard": lambda: client.leaderboard(3),
            "state": game.refresh,
        }
        trouble = {
            "drop": faults.drop(),
            "drop_after": faults.drop(after=True),
            "cut": faults.cut(),
            "hang": faults.hang(),
            "drip": faults.drip(clock),
        }
        fault = trouble.get(kind) or faults.say(int(kind), {"message": "Not now."})
        server.faults[operation] = [fault]
        assert await calls[operation]()
        first, second = server.asked(operation)
        return first["connection"], second["connection"]

    first, second = play(scene, timeout_s=0.25 if kind in ("hang", "drip") else 10.0)
    assert first != second


def test_waits_grow_and_end_with_the_patience(play, faults, waits):
    async def scene(server, client):
        server.faults["competitions"] = [faults.say(500) for _ in range(9)]
        with pytest.raises(QuizUnreachableError, match=r"failed with 500.*6 tries") as caught:
            await client.competitions()
        return caught.value.exit_code

    assert play(scene) == 3
    assert waits == [0.25, 0.5, 1.0, 2.0, 4.0]


def test_a_server_that_asks_to_wait_is_given_that_time(play, faults, waits):
    async def scene(server, client):
        server.faults["me"] = [
            faults.say(429, {"message": "Slow down"}, ("Retry-After", "7")),
            faults.say(429, {"message": "Slow down"}, ("Retry-After", "soon")),
        ]
        await client.me()
        server.faults["me"] = [faults.say(429, {"error": "Slow down."}, ("Retry-After", "900"))]
        with pytest.raises(QuizRateLimitError, match="Slow down") as caught:
            await client.me()
        return caught.value

    error = play(scene)
    assert error.status == 429
    assert waits == [7.0, 0.5]  # never shorter than asked, and nothing for a wait past all patience


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!DOCTYPE html><p>Gateway", "a web page instead of JSON"),
        (b'{"user": ', "not JSON"),
        (b"[1]", "not an object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"user": {"id": "x", "username": "a"}}', "'id' of 'user' is not a whole number"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_malformed_replies_are_one_sentence(play, faults, body, words):
    async def scene(server, client):
        server.faults["me"] = [faults.say(200, body)]
        with pytest.raises(QuizProtocolError, match=words):
            await client.me()
        return len(server.asked("me"))

    assert play(scene) == 1  # and asking again would not help


def test_ten_megabytes_are_not_read(play, faults):
    async def scene(server, client):
        server.faults["me"] = [faults.say(200, b" " * 10_000_000)]
        with pytest.raises(QuizProtocolError, match="sent more than 1 MB"):
            await client.me()

    play(scene)


def test_compressed_content_is_not_unpacked(play, faults):
    async def scene(server, client):
        server.faults["me"] = [faults.say(200, b"x", ("Content-Encoding", "gzip"))]
        with pytest.raises(QuizProtocolError, match="compressed"):
            await client.me()

    play(scene)


def test_an_html_error_page_is_told_by_its_status(play, faults):
    async def scene(server, client):
        server.faults["me"] = [faults.say(403, b"<html>No.</html>")]
        with pytest.raises(QuizRefusedError, match=r"refused 'me' with 403\.$"):
            await client.me()

    play(scene)


def test_what_a_server_says_steers_no_terminal(play, faults):
    async def scene(server, client):
        server.faults["me"] = [faults.say(400, {"message": "\x1b[2J" + "x" * 5000})]
        with pytest.raises(QuizRefusedError) as caught:
            await client.me()
        return str(caught.value)

    said = play(scene)
    assert "\x1b" not in said
    assert len(said) < 300


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed_and_the_cookie_stays(play, faults, scripted_server, status):
    async def scene(server, client):
        async with scripted_server() as elsewhere:
            server.faults["me"] = [faults.say(status, None, ("Location", f"{elsewhere.url}/x"))]
            with pytest.raises(QuizProtocolError, match="redirects are not followed"):
                await client.me()
            return elsewhere.history

    assert play(scene) == []


def test_a_login_that_is_redirected_sends_the_password_nowhere_else(play, faults, scripted_server):
    async def scene(server, client):
        async with scripted_server() as elsewhere:
            server.faults["login"] = [faults.say(307, None, ("Location", elsewhere.url))]
            with pytest.raises(QuizProtocolError, match="redirects"):
                await client.login()
            return elsewhere.history

    assert play(scene, log_in=False) == []


def test_a_wrong_password_is_said_without_repeating_it(play):
    async def scene(server, client):
        with pytest.raises(QuizLoginError, match="does not accept") as caught:
            await client.login()
        return caught.value, len(server.asked("login"))

    error, tries = play(scene, log_in=False, credentials=Credentials("ada", "hunter-seven"))
    assert tries == 1
    assert error.exit_code == 2
    assert error.__context__ is None  # which could hold the request
    assert "hunter-seven" not in f"{error!r}{error}{vars(error)}"


def test_a_failed_login_leaves_no_request_behind(play, faults):
    async def scene(server, client):
        server.faults["login"] = [faults.drop() for _ in range(9)]
        with pytest.raises(QuizUnreachableError) as caught:
            await client.login()
        return caught.value

    assert play(scene, log_in=False).__context__ is None


def test_without_credentials_there_is_no_login(play):
    async def scene(server, client):
        with pytest.raises(QuizLoginError, match="no user name"):
            await client.login()
        with pytest.raises(QuizLoginError, match="nobody is logged in"):
            await client.me()

    play(scene, log_in=False, credentials=None)


def test_a_login_without_a_cookie_is_not_believed(play, faults):
    async def scene(server, client):
        user = {"user": {"id": 1, "username": "ada", "role": "player"}}
        server.faults["login"] = [faults.say(200, user)]
        with pytest.raises(QuizProtocolError, match="set no cookie"):
            await client.login()

    play(scene, log_in=False)


def test_an_expired_cookie_is_renewed_a_few_times_at_most(play, faults):
    async def scene(server, client):
        server.cookies.clear()
        await client.me()
        assert len(server.asked("login")) == 2
        server.faults["me"] = [faults.say(401) for _ in range(9)]
        with pytest.raises(QuizLoginError, match="nobody is logged in"):
            await client.me()
        return len(server.asked("login"))

    assert play(scene) == 5


def test_many_calls_at_once_log_in_once(play):
    async def scene(server, client):
        server.cookies.clear()
        await asyncio.gather(*(client.me() for _ in range(8)))
        return len(server.asked("login"))

    assert play(scene) == 2


def test_unknown_competitions_and_foreign_games_are_not_found(play, make_client):
    async def scene(server, client):
        server.users["bob"] = "other-word"
        async with make_client(server, credentials=Credentials("bob", "other-word")) as other:
            await other.login()
            foreign = await other.start(3)
        for call in (client.config(9), client.start(9), client.leaderboard(9)):
            with pytest.raises(QuizNotFoundError, match="No such competition"):
                await call
        for session_id in (foreign.state.session_id, 999):
            with pytest.raises(QuizNotFoundError, match="No such game"):
                await client.resume(session_id)

    play(scene)


@pytest.mark.parametrize("number", [-1, True, 2**63, "3", 1.0])
def test_ids_are_whole_numbers(play, number):
    async def scene(server, client):
        for call in (client.config, client.start, client.resume, client.leaderboard):
            with pytest.raises(BadInputError, match="not an id"):
                await call(number)

    play(scene)


def test_modes_and_limits_are_checked_here(play):
    async def scene(server, client):
        with pytest.raises(BadInputError, match="Unknown mode"):
            await client.start(3, "song")
        for limit in (0, 101):
            with pytest.raises(BadInputError, match="1 to 100"):
                await client.leaderboard(3, limit=limit)
        return server.asked("start") + server.asked("leaderboard")

    assert play(scene) == []


@pytest.mark.parametrize(
    "kind", ["drop", "drop_after", "hang", "500", "malformed", "huge", "503", "cut"]
)
def test_a_start_that_may_have_worked_is_not_repeated(play, faults, kind):
    async def scene(server, client):
        trouble = {
            "drop": faults.drop(),
            "drop_after": faults.drop(after=True),
            "hang": faults.hang(after=True),
            "500": faults.say(500, after=True),
            "503": faults.say(503, None, ("Retry-After", "1")),
            "malformed": faults.say(200, b"{", after=True),
            "huge": faults.say(200, b" " * 2_000_000, after=True),
            "cut": faults.cut(),
        }
        server.faults["start"] = [trouble[kind]]
        with pytest.raises(QuizUnclearError, match="whether the game was started") as caught:
            await client.start(3)
        assert caught.value.operation == "start"
        return len(server.asked("start"))

    assert play(scene, timeout_s=0.25 if kind == "hang" else 10.0) == 1


def test_a_start_that_surely_failed_is_repeated(play, faults, waits):
    async def scene(server, client):
        server.faults["start"] = [faults.say(429, None, ("Retry-After", "3"))]
        server.cookies.clear()
        game = await client.start(3)
        return game.state.session_id, len(server.games)

    assert play(scene) == (41, 1)
    assert waits == [3.0]


def test_a_server_that_is_not_there(clock, sleep, policy):
    async def main():
        async with QuizClient(
            "http://127.0.0.1:9", clock=clock, sleep=sleep, retry=policy, min_interval_s=0
        ) as client:
            with pytest.raises(QuizUnreachableError, match="could not be reached"):
                await client.competitions()
            with pytest.raises(QuizUnreachableError, match="could not be reached"):
                await client.start(1)  # nothing was sent, so nothing is unclear

    asyncio.run(main())


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8000", "can't be used"),
        ("ftp://quiz.example", "can't be used"),
        ("http://", "can't be used"),
        ("http://quiz.example:99999", "can't be used"),
        ("http://quiz.example?x=1", "can't be used"),
        ("http://ada:geheim@quiz.example", "must not hold a user name"),
        ("http://\ud800", "can't be used"),
        ("", "can't be used"),
    ],
)
def test_addresses(address, words):
    with pytest.raises(BadInputError, match=words) as caught:
        QuizClient(address)
    assert "geheim" not in str(caught.value)


def test_an_address_may_have_a_path(play, make_client, scripted_server, clock):
    async def main():
        async with scripted_server() as server:
            server_url = server.url
            server.operation = lambda path: path
            server.reply = lambda operation, *rest: (200, {"competitions": []})
            async with QuizClient(f"{server_url}/quiz/", clock=clock, min_interval_s=0) as client:
                await client.competitions()
            return server.history[0]["path"]

    assert asyncio.run(main()) == "/quiz/api/competitions"


def test_a_broken_proxy_address_is_refused():
    with pytest.raises(BadInputError, match="proxy"):
        QuizClient("http://127.0.0.1:1", proxy="nonsense")


def test_calls_keep_their_distance(play, waits):
    async def scene(server, client):
        waits.clear()
        for _ in range(3):
            await client.me()
        return [entry["at_s"] for entry in server.history]

    times = play(scene, min_interval_s=2.0)
    assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(times))
