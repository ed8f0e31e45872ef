"""An answer whose reply is lost: never sent twice blindly, always accounted for."""

import asyncio

import pytest

from harness.errors import BadInputError
from harness.games.errors import QuizLoginError, QuizRefusedError, QuizUnclearError
from harness.games.verdict import Asked, infer
from harness.games.wire import CompetitionRef, GameState, ServedOption, ServedQuestion

KINDS = ["drop", "cut", "hang", "500", "502", "malformed", "html", "huge"]


def trouble(faults, kind, *, after):
    return {
        "drop": lambda: faults.drop(after=after),
        "cut": faults.cut,
        "hang": lambda: faults.hang(after=after),
        "500": lambda: faults.say(500, {"message": "Oops"}, after=after),
        "502": lambda: faults.say(502, b"<html>", after=after),
        "malformed": lambda: faults.say(200, b'{"correct": tr', after=after),
        "html": lambda: faults.say(200, b"<html>", after=after),
        "huge": lambda: faults.say(200, b" " * 10_000_000, after=after),
    }[kind]()


def short(kind):
    return 0.25 if kind == "hang" else 10.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("right", [True, False])
def test_an_answer_that_arrived_is_not_sent_again(play, faults, kind, right):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [trouble(faults, kind, after=True)]
        outcome = await game.answer(1 if right else 2)
        return outcome, game.state, server.games[41].answers

    outcome, state, answers = play(scene, timeout_s=short(kind))
    assert len(answers) == 1
    assert (outcome.learned, outcome.sends) == ("the game's state", 1)
    assert outcome.result.correct is right
    assert outcome.notes
    assert (state.current_level, state.is_over) == ((2, False) if right else (1, True))
    assert outcome.result.question == state.question


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cut"])
def test_an_answer_that_never_arrived_is_sent_again(play, faults, kind):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [trouble(faults, kind, after=False)]
        outcome = await game.answer(1)
        operations = [entry["operation"] for entry in server.history[2:]]
        return outcome, server.games[41].answers, operations

    outcome, answers, operations = play(scene, timeout_s=short(kind))
    assert answers == [(1, 1)]
    assert (outcome.result.correct, outcome.sends, outcome.learned) == (True, 2, "the reply")
    assert operations == ["answer", "state", "state", "answer"]


def test_a_reply_without_the_next_question(play, faults):
    async def scene(server, client):
        game = await client.start(3)

        async def meagre(answer, process, writer):
            status, content = process()
            for name in ("question", "currentLevel", "moneyPyramid", "questionDeadline", "status"):
                content.pop(name)
            answer(status, content)

        server.faults["answer"] = [meagre, meagre]
        outcome = await game.answer(1)
        after_one = game.state
        server.faults["state"] = [faults.say(400)]
        blind = await game.answer(2)
        return outcome, after_one, blind, game.state

    outcome, state, blind, last = play(scene)
    assert (outcome.result.correct, outcome.learned) == (True, "the reply")
    assert (state.current_level, state.question.text) == (2, "Question 2?")
    assert state.money_pyramid
    assert (blind.result.correct, last.current_level, last.question) == (True, 3, None)
    assert "held no next question" in blind.notes[-1]


def test_the_last_right_answer_is_recognised(play, faults):
    async def scene(server, client):
        server.levels = 1
        game = await client.start(3)
        server.faults["answer"] = [faults.drop(after=True)]
        return await game.answer(1)

    outcome = play(scene)
    assert (outcome.result.correct, outcome.result.status) == (True, "completed")
    assert outcome.result.earned_amount == 100


def test_a_request_still_at_work_is_given_a_moment(play, faults):
    """The state says "unchanged" first, because the server has not finished."""

    async def scene(server, client):
        game = await client.start(3)
        pending = []

        async def slow(answer, process, writer):
            pending.append(process)
            writer.close()

        async def finishes_after_this(answer, process, writer):
            reply = process()
            pending.pop()()
            answer(*reply)

        server.faults["answer"] = [slow]
        server.faults["state"] = [finishes_after_this]
        outcome = await game.answer(1)
        return outcome, server.games[41].answers

    outcome, answers = play(scene)
    assert answers == [(1, 1)]
    assert (outcome.result.correct, outcome.sends) == (True, 1)


def test_an_answer_that_arrives_after_it_was_sent_again(play, faults):
    """The second try meets a game that the first one has ended."""

    async def scene(server, client):
        game = await client.start(3)
        kept = []

        async def lose(answer, process, writer):
            kept.append(process)
            writer.close()

        server.faults["answer"] = [lose, faults.doing(lambda: kept.pop()())]
        outcome = await game.answer(0)
        return outcome, len(server.asked("answer"))

    outcome, sent = play(scene)
    assert sent == 2
    assert (outcome.result.correct, outcome.learned) == (False, "the game's state")


@pytest.mark.parametrize("header", [(), (("Retry-After", "5"),)])
def test_a_limited_answer_waits_looks_and_tries_again(play, faults, waits, header):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.say(429, {"message": "Slow"}, *header)]
        outcome = await game.answer(1)
        return outcome, server.games[41].answers

    outcome, answers = play(scene)
    assert (answers, outcome.sends) == ([(1, 1)], 2)
    assert waits == ([5.0] if header else [0.25])


def test_a_wait_beyond_the_deadline_is_cut_to_try_once_more(play, faults, waits):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.say(429, None, ("Retry-After", "600"))]
        return await game.answer(1)

    assert play(scene).result.correct is True
    assert max(waits) <= 29


def test_a_server_that_is_gone_for_good_is_unclear(play, faults):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.drop()]
        server.faults["state"] = [faults.drop() for _ in range(20)]
        with pytest.raises(QuizUnclearError, match="whether 'answer' took effect") as caught:
            await game.answer(1)
        return caught.value.session_id, len(server.asked("answer"))

    assert play(scene) == (41, 1)


def test_an_answer_that_is_never_acted_upon_ends(play, faults):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.say(500) for _ in range(20)]
        with pytest.raises(QuizUnclearError, match="never acted upon"):
            await game.answer(1)
        return len(server.asked("answer"))

    assert play(scene) <= 6


def test_a_game_that_ran_out_while_the_answer_was_lost(play, faults, clock):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.hang(clock=clock, seconds=31)]
        return await game.answer(1), server.games[41].answers

    outcome, answers = play(scene, timeout_s=0.25)
    assert answers == []
    assert (outcome.result.correct, outcome.result.timed_out) == (None, True)
    assert outcome.result.status == "timeout"


def test_a_cookie_that_expires_in_mid_game(play, faults):
    async def scene(server, client):
        game = await client.start(3)
        server.cookies.clear()
        outcome = await game.answer(1)
        operations = [entry["operation"] for entry in server.history[2:]]
        assert server.games[41].answers == [(1, 1)]
        server.faults["answer"] = [faults.say(401) for _ in range(9)]
        with pytest.raises(QuizLoginError):
            await game.answer(2)
        return outcome, operations

    outcome, operations = play(scene)
    assert outcome.result.correct is True
    assert operations == ["answer", "login", "state", "answer"]


def test_option_ids_that_are_not_offered_are_not_sent(play):
    async def scene(server, client):
        game = await client.start(3)
        for number in (-1, 4, 99):
            with pytest.raises(BadInputError, match=rf"Option {number} is not offered"):
                await game.answer(number)
        return server.asked("answer"), game.state.is_over

    assert play(scene) == ([], False)


def test_a_servers_own_refusal_is_passed_on(play, faults):
    async def scene(server, client):
        game = await client.start(3)
        server.faults["answer"] = [faults.say(400, {"message": "No such option."})]
        with pytest.raises(QuizRefusedError, match="No such option"):
            await game.answer(1)
        return (await game.answer(1)).result.correct

    assert play(scene) is True


def test_answering_twice_is_refused_by_the_server_too(play):
    async def scene(server, client):
        game = await client.start(3)
        same = await client.resume(41)
        await game.answer(0)
        with pytest.raises(QuizRefusedError, match="The game is over"):
            await same.answer(0)

    play(scene)


def test_two_players_on_one_account(play, make_client):
    async def to_the_end(client):
        await client.login()
        game = await client.start(3)
        while not game.state.is_over:
            assert (await game.answer(game.state.current_level % 4)).result.correct
        return game.state.status

    async def scene(server, client):
        async with make_client(server) as other:
            return await asyncio.gather(to_the_end(client), to_the_end(other))

    assert play(scene) == ["completed", "completed"]


def test_two_players_who_end_each_others_login(play, make_client):
    async def scene(server, client):
        server.one_login_a_user = True
        async with make_client(server) as other:
            games = [await client.start(3), await other.start(3)]
            for level in range(1, 6):
                for game in games:
                    assert (await game.answer(level % 4)).result.correct
            return [game.state.status for game in games], len(server.asked("login"))

    statuses, logins = play(scene)
    assert statuses == ["completed", "completed"]
    assert logins > 5


def test_somebody_else_in_the_same_game_is_noticed(play, faults):
    async def scene(server, client):
        game = await client.start(3)

        async def others_play_on(answer, process, writer):
            process()
            server.play(server.games[41], "answer", {"optionId": 2})
            writer.close()

        server.faults["answer"] = [others_play_on]
        return await game.answer(1)

    outcome = play(scene)
    assert outcome.result.correct is True
    assert "somebody else" in outcome.notes[-1]


@pytest.mark.parametrize("right", [True, False])
def test_a_killed_player_learns_its_verdict_from_the_state(play, make_client, right):
    async def scene(server, client):
        game = await client.start(3)
        asked = Asked.by(game.state)
        server.play(server.games[41], "answer", {"optionId": 1 if right else 0})
        async with make_client(server) as reborn:
            await reborn.login()
            resumed = await reborn.resume(41)
            return infer(asked, resumed.state), infer(asked, game.state)

    verdict, unchanged = play(scene)
    assert verdict.correct is right
    assert unchanged is None


def state(**changes):
    question = ServedQuestion(7, "Q?", (ServedOption(0, "a"), ServedOption(1, "b")))
    plain = {
        "session_id": 1,
        "competition": CompetitionRef(),
        "status": "in_progress",
        "earned_amount": 0.0,
        "current_level": 2,
        "money_pyramid": (),
        "question_deadline": None,
        "question": question,
        "mode": "text",
    }
    return GameState(**(plain | changes))


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"session_id": 2}, "is of game 2"),
        ({"current_level": 1}, "went back"),
        ({"question": ServedQuestion(8, "R?", ())}, "another question at level 2"),
    ],
)
def test_states_that_can_not_follow(after, words):
    with pytest.raises(Exception, match=words):
        infer(Asked(1, 2, 7), state(**after))


def test_states_and_their_verdicts():
    asked = Asked(1, 2, 7)
    assert infer(asked, state()) is None
    assert infer(asked, state(question=None)) is None
    assert infer(asked, state(current_level=3)).correct is True
    ended = {
        name: infer(asked, state(status=name, question=None))
        for name in ("completed", "failed", "timeout", "abandoned")
    }
    assert [verdict.correct for verdict in ended.values()] == [True, False, None, None]
    assert [verdict.timed_out for verdict in ended.values()] == [False, False, True, False]
    assert all(verdict.game_over for verdict in ended.values())
