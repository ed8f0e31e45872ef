"""The 30 seconds, to the millisecond and across restarts."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.games.practice import Database, Pool, ServerTime, add_account
from harness.games.practice._games import Games
from harness.games.practice._rules import (
    GRACE_S,
    LIMIT_S,
    PYRAMID,
    Expiry,
    Game,
    Mode,
    Moment,
    Status,
    after_answer,
    clip_delivered,
    on_time,
    started,
)

GAME = Game(1, 1, 0, Mode.TEXT, 15, Status.IN_PROGRESS, level=1, reached=0, clips=0, expiry=None)


def delays_ms(count):
    chance = random.Random(7)
    for _ in range(count):
        wide, narrow, edge = chance.randrange(-60, 120), chance.randrange(-3, 4), 47
        yield 30_000 + chance.choice([wide, narrow, edge + chance.randrange(7)])


def check(after_ms, correct, timed_out):
    if after_ms <= 30_000:
        assert correct is True, f"refused after {after_ms} ms"
    if after_ms > 30_050:
        assert timed_out is True, f"accepted after {after_ms} ms"
    assert timed_out is not (correct is True)


def test_a_thousand_answers_around_the_limit(tmp_path, clock, questions):
    database = Database(tmp_path / "db")
    database.transact(add_account, "ada", "no password", 0.0)
    games = Games(ServerTime(clock, "boot"), LIMIT_S, GRACE_S)
    competition = Pool.of(questions()).competitions[0]
    refused = 0
    for after_ms in delays_ms(1000):
        view = database.transact(games.start, 1, competition, Mode.TEXT, str)
        clock.advance(after_ms / 1000)
        verdict = database.transact(
            games.answer, 1, view.game.id, view.serving.right, games.time.now()
        )
        check(after_ms, verdict.correct, verdict.timed_out)
        refused += verdict.timed_out
    assert 200 < refused < 800
    database.close()


def test_answers_around_the_limit_over_http(serve, join, right, clock):
    client = join(serve())
    for after_ms in delays_ms(60):
        game = client.start(0)
        clock.advance(after_ms / 1000)
        reply = game.answer(right(game.current_question))
        check(after_ms, reply["correct"], reply["timedOut"])


def test_the_allowance_is_that_of_the_protocol():
    assert LIMIT_S == 30
    assert 0 <= GRACE_S <= 0.05
    assert len(PYRAMID) == 15


@given(
    start_s=st.floats(0, 1e7),
    wall_s=st.floats(1.7e9, 2e9),
    after_s=st.floats(0, 100),
    wall_moved_s=st.floats(-1e6, 1e6),
)
def test_within_one_boot_the_wall_clock_does_not_matter(start_s, wall_s, after_s, wall_moved_s):
    game = started(GAME, Moment(start_s, wall_s, "b"), LIMIT_S)
    arrived = Moment(start_s + after_s, wall_s + wall_moved_s, "b")
    if after_s <= LIMIT_S - 1e-6:
        assert on_time(game, arrived, GRACE_S)
    if after_s >= LIMIT_S + 0.05 + 1e-6:
        assert not on_time(game, arrived, GRACE_S)


@given(after_s=st.integers(-(10**5), 10**5), monotonic_s=st.floats(0, 1e7))
def test_after_a_reboot_the_wall_clock_decides_and_one_put_back_ends_the_question(
    after_s, monotonic_s
):
    expiry = Expiry.after(LIMIT_S, Moment(500.0, 1.8e9, "before"))
    left_s = expiry.remaining_s(Moment(monotonic_s, 1.8e9 + after_s, "after"))
    assert left_s <= LIMIT_S
    assert (left_s > 0) == (0 <= after_s < LIMIT_S)


def test_the_clock_of_speech_starts_with_the_last_option():
    game = started(replace(GAME, mode=Mode.SPEECH), Moment(0, 0, "b"), LIMIT_S)
    assert game.expiry is None
    for place in range(4):
        assert on_time(game, Moment(1e9, 1e9, "b"), GRACE_S)
        game = clip_delivered(game, 4, Moment(10.0 * place, 0, "b"), LIMIT_S)
    assert game.expiry is not None
    assert game.expiry.monotonic_s == 60
    following = after_answer(game, True, Moment(50, 0, "b"), LIMIT_S)
    assert (following.level, following.clips, following.expiry) == (2, 0, None)


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_what_is_earned_is_the_last_level_answered_right(answers):
    game, right = GAME, 0
    for answer in answers:
        if not game.running:
            break
        game = after_answer(game, answer, Moment(0, 0, "b"), LIMIT_S)
        right += answer
    assert game.reached == right
    assert game.earned == ([0, *PYRAMID][right])
    assert (game.status is Status.FAILED) == (not all(answers[:15]))
    assert (game.status is Status.COMPLETED) == (right == 15)


@pytest.mark.parametrize(
    ("boot", "down_s", "wall_s", "kept"),
    [
        ("boot 1", 10, 10, True),
        ("boot 1", 10, 4000, True),  # somebody set the clock meanwhile: it does not matter
        ("boot 1", 10, -4000, True),
        ("boot 1", 31, 10, False),
        ("boot 2", -900, 10, True),  # a reboot: the monotonic clock began anew
        ("boot 2", -900, 31, False),
        ("boot 2", -900, -5, False),  # and the wall clock was put back: nobody knows
    ],
)
def test_a_running_question_keeps_its_deadline_over_a_restart(
    serve, join, right, clock, boot, down_s, wall_s, kept
):
    from datetime import timedelta

    server = serve()
    game = join(server).start(0)
    before, option = game.state.deadline, right(game.current_question)
    server.close()
    clock.elapsed_s += down_s
    clock.wall += timedelta(seconds=wall_s)
    again = join(serve(boot=boot)).resume(game.state.session_id)
    assert again.state.status == ("in_progress" if kept else "timeout")
    if kept:
        assert again.state.deadline == before
        assert again.answer(option)["correct"] is True


def test_a_busy_server_makes_no_answer_late(serve, join, right, clock):
    """The answer is dated when it has arrived, not when the database is free."""
    import threading

    server = serve()
    game = join(server).start(0)
    clock.advance(29.9)
    arrived, busy = threading.Event(), threading.Event()
    usual = server.service.run_as

    def slow(request, work):
        arrived.set()
        assert busy.wait(5)
        return usual(request, work)

    server.service.run_as = slow
    option, replies = right(game.current_question), []
    player = threading.Thread(target=lambda: replies.append(game.answer(option)))
    player.start()
    assert arrived.wait(5)
    clock.advance(5)
    busy.set()
    player.join()
    assert replies[0]["correct"] is True
