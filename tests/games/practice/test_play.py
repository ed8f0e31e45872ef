"""Whole games by the stand-in of the official client, against a server on a real port."""

import collections

import pytest

PYRAMID = [100, 200, 300, 500] + [1000 * 2**power for power in range(11)]


def test_a_game_is_played_to_its_end(serve, join, right):
    client = join(serve())
    game = client.start(2)
    assert game.state.status == "in_progress"
    asked = []
    for level, amount in enumerate(PYRAMID, start=1):
        assert game.state.level == level == game.current_question.level
        assert [one.amount for one in game.state.pyramid] == PYRAMID
        assert [one.id for one in game.current_question.options] == [0, 1, 2, 3]
        asked.append(game.current_question.text)
        reply = game.answer(right(game.current_question))
        assert reply["correct"] is True
        assert reply["timedOut"] is False
        assert (reply["earnedAmount"], reply["reachedLevel"]) == (amount, level)
        assert [one["amount"] for one in reply["moneyPyramid"]] == PYRAMID
    assert game.state.status == "completed"
    assert game.state.earned == 1_024_000
    assert len(set(asked)) == 15
    assert game.refresh().status == "completed"
    assert game.state.question is None
    assert game.state.deadline is None


def test_a_wrong_answer_ends_the_game_and_keeps_the_last_amount(serve, join, right, wrong):
    client = join(serve())
    game = client.start(0)
    for _ in range(3):
        game.answer(right(game.current_question))
    reply = game.answer(wrong(game.current_question))
    assert reply == {
        "correct": False,
        "gameOver": True,
        "earnedAmount": 300,
        "timedOut": False,
        "status": "failed",
        "currentLevel": 4,
        "reachedLevel": 3,
        "questionDeadline": None,
        "question": None,
        "moneyPyramid": reply["moneyPyramid"],
    }


def test_no_reply_tells_the_right_option(serve, join, wrong, official):
    client = join(serve())
    game = client.start(0)
    chosen = game.current_question.options[wrong(game.current_question)].text
    reply = client.http.post(
        f"/api/game/{game.state.session_id}/answer", json={"optionId": wrong(game.current_question)}
    )
    assert "rowan" not in reply.text
    assert chosen not in reply.text


def test_a_late_answer_is_told_so(serve, join, right, clock):
    client = join(serve())
    game = client.start(1)
    game.answer(right(game.current_question))
    option = right(game.current_question)
    clock.advance(30.2)
    for _ in range(2):  # a repeated late answer is told the same
        reply = game.answer(option)
        assert (reply["timedOut"], reply["correct"], reply["gameOver"]) == (True, None, True)
        assert (reply["status"], reply["earnedAmount"], reply["reachedLevel"]) == (
            "timeout",
            100,
            1,
        )
    assert game.refresh().status == "timeout"


def test_expiry_is_silent_and_the_state_shows_it(serve, join, clock):
    client = join(serve())
    game = client.start(1)
    clock.advance(29.9)
    assert game.refresh().status == "in_progress"
    clock.advance(0.2)
    assert game.refresh().status == "timeout"
    assert game.state.question is None


def test_a_player_may_report_that_the_time_is_up(serve, join, clock):
    client = join(serve())
    game = client.start(1)
    asked = game.current_question
    reply = game.timeout()
    assert (reply["gameOver"], reply["timedOut"], reply["status"]) == (False, False, "in_progress")
    assert game.current_question == asked
    clock.advance(30.0)
    for _ in range(2):
        assert game.timeout()["timedOut"] is True
    assert game.refresh().status == "timeout"


def test_the_deadline_is_thirty_seconds_from_serving(serve, join, right, clock):
    client = join(serve())
    game = client.start(1)
    assert (game.state.deadline - clock.now()).total_seconds() == 30
    clock.advance(12)
    before = game.state.deadline
    assert game.refresh().deadline == before
    game.answer(right(game.current_question))
    assert (game.state.deadline - clock.now()).total_seconds() == 30


def test_a_game_in_speech(serve, join, clock, voice):
    client = join(serve())
    game = client.start(3, "speech")
    for level in range(1, 16):
        assert game.current_question.text is None
        assert [(one.id, one.text) for one in game.current_question.options] == [
            (place, None) for place in range(4)
        ]
        assert game.state.deadline is None
        clock.advance(300)  # off the clock
        game.question_audio()
        assert voice.spoken[-1].startswith("What grows")
        clips = []
        for place in range(4):
            assert game.refresh().deadline is None
            clips.append(game.next_option_audio())
            assert voice.spoken[-1].startswith(f"Option {'ABCD'[place]}. ")
        assert (game.refresh().deadline - clock.now()).total_seconds() == 30
        assert game.option_audio(1) == clips[1]
        clock.advance(29)
        heard = voice.spoken[-4:]
        reply = game.answer(next(place for place in range(4) if "rowan" in heard[place]))
        assert reply["correct"] is True
        assert reply["currentLevel"] == min(level + 1, 15)
    assert game.state.status == "completed"


def test_a_late_answer_in_speech(serve, join, clock):
    client = join(serve())
    game = client.start(3, "speech")
    for _ in range(4):
        game.next_option_audio()
    clock.advance(30.1)
    assert game.answer(0)["timedOut"] is True


def test_an_option_may_be_answered_before_all_were_heard(serve, join, voice):
    client = join(serve())
    game = client.start(3, "speech")
    game.next_option_audio()
    heard = voice.spoken[-1]
    assert game.answer(0)["correct"] is ("rowan" in heard)


def test_options_are_shuffled_and_all_positions_are_right_at_times(serve, join, right):
    client = join(serve())
    places = collections.Counter()
    for _ in range(8):
        game = client.start(4)
        while not game.over:
            places[right(game.current_question)] += 1
            game.answer(right(game.current_question))
    assert sum(places.values()) == 120
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 12


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_repeats_choice_and_order_whoever_else_plays(serve, join, tmp_path, seed):
    def three_games(name, others):
        server = serve(database=tmp_path / name, seed=seed)
        if others:
            join(server, "bob").start(0)
        client = join(server)
        return [client.start(0).current_question for _ in range(3)]

    first = three_games("a", others=False)
    assert first == three_games("b", others=True)
    assert len({question.text for question in first}) > 1


def test_seeds_differ_and_without_one_chance_decides(serve, join, tmp_path):
    def served(name, seed):
        client = join(serve(database=tmp_path / name, seed=seed))
        return [client.start(place).current_question for place in range(6)]

    assert served("a", 1) != served("b", 2)
    assert served("c", None) != served("d", None)


def test_a_small_pool_has_fewer_levels(serve, join, questions, right):
    client = join(serve(questions(3)))
    assert client.config(0)["maxLevels"] == 3
    game = client.start(0)
    for _ in range(3):
        game.answer(right(game.current_question))
    assert (game.state.status, game.state.earned) == ("completed", 300)


def test_the_competitions(serve, join, questions):
    client = join(serve(questions(20)))
    found = client.competitions()
    assert [(one["id"], one["name"]) for one in found] == [
        (0, "Entertainment"),
        (1, "Ancient History and Politics"),
        (2, "Science and Nature"),
        (3, "Maths"),
        (4, "Philosophy and Psychology"),
        (5, "News"),
    ]
    assert all((one["maxLevels"], one["questionCount"]) == (15, 20) for one in found)
    config = client.config(5)
    assert [one["amount"] for one in config["moneyPyramid"]] == PYRAMID
    assert config["isInfinite"] is False


def test_the_leaderboard_shows_each_players_best(serve, join, right, wrong, clock):
    server = serve()

    def play(client, levels, mode="text"):
        game = client.start(0, mode)
        for _ in range(levels):
            game.answer(right(game.current_question))
        if mode == "text":
            game.answer(wrong(game.current_question))
        clock.advance(1)

    ada, bob, eve = (join(server, name) for name in ("ada", "bob", "eve"))
    play(ada, 2)
    play(bob, 4)
    play(ada, 4)  # as good as bob's, later
    eve.start(0)  # never comes back
    clock.advance(40)
    ada.start(0)  # still running: a trial, no result
    board = ada.leaderboard(0)
    assert board["competition"]["name"] == "Entertainment"
    assert [
        (one["username"], one["score"], one["reachedLevel"], one["totalTrials"])
        for one in board["entries"]
    ] == [("bob", 500, 4, 1), ("ada", 500, 4, 3), ("eve", 0, 0, 1)]
    assert board["entries"][2]["finishedAt"] == "2026-05-01T00:00:33.000Z"
    assert len(ada.leaderboard(0, limit=1)["entries"]) == 1
    assert ada.leaderboard(0, mode="speech")["entries"] == []
    assert ada.leaderboard(1)["entries"] == []


def test_two_players_on_one_account(serve, join, right):
    server = serve()
    first, second = join(server), join(server)
    game = first.start(0)
    same = second.resume(game.state.session_id)
    assert same.current_question == game.current_question
    game.answer(right(game.current_question))
    same.refresh()
    assert same.state.level == 2
    other = second.start(0)
    assert other.state.session_id != game.state.session_id


def test_accounts_are_made_at_the_first_login_and_logging_out_ends_the_login(serve, join, official):
    server = serve()
    client = join(server, "Zoë")
    assert client.me()["username"] == "Zoë"
    token = client.http.cookies[official.COOKIE]
    client.logout()
    assert not client.logged_in
    client.http.cookies.set(official.COOKIE, token)
    with pytest.raises(official.ApiError) as refused:
        client.me()
    assert refused.value.status == 401
    assert join(server, "zoë").me()["username"] == "Zoë"


def test_the_cookie_is_not_for_scripts(serve):
    import httpx

    server = serve()
    reply = httpx.post(
        f"{server.url}/api/auth/login", json={"username": "a", "password": "b"}, trust_env=False
    )
    parts = {part.strip().lower() for part in reply.headers["set-cookie"].split(";")}
    assert {"httponly", "path=/", "samesite=lax"} <= parts
