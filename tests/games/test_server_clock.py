from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.clock import VirtualClock
from harness.games.server_clock import Offset, ServerClock, Window

EPOCH = datetime(2027, 1, 15, 8, tzinfo=UTC)


def header(moment):
    return format_datetime(moment.replace(microsecond=0), usegmt=True)


def server_time(local_s, skew_s=0.0):
    return EPOCH + timedelta(seconds=local_s + skew_s)


@given(
    st.floats(-1e6, 1e6),
    st.lists(
        st.tuples(st.floats(0, 20), st.floats(0, 3), st.floats(0, 3), st.floats(0, 0.999)),
        min_size=1,
        max_size=20,
    ),
)
def test_the_true_offset_is_always_inside(skew, replies):
    """Whatever the round trips, and with a Date that may be a second old."""
    clock = VirtualClock()
    server = ServerClock(clock)
    truth = EPOCH.timestamp() + skew
    width = float("inf")
    for pause, there, back, stale in replies:
        clock.advance(pause)
        sent = clock.monotonic()
        clock.advance(there)
        stamp = header(server_time(clock.monotonic() - stale, skew))
        clock.advance(back)
        server.saw_date(stamp, Window(sent, clock.monotonic()))
        assert server.by_date.low_s <= truth + 1e-3
        assert server.by_date.high_s >= truth - 1e-3
        assert server.by_date.width_s <= width + 1e-3
        width = server.by_date.width_s


def test_many_replies_narrow_it_to_the_slack():
    clock = VirtualClock()
    server = ServerClock(clock)
    for _ in range(200):
        clock.advance(0.137)
        now = clock.monotonic()
        server.saw_date(header(server_time(now)), Window(now, now))
    assert 1.0 <= server.by_date.width_s <= 1.02


@given(
    st.floats(-3600, 3600),
    st.floats(0, 4),
    st.floats(0, 4),
    st.floats(0, 25),
    st.lists(st.floats(0.1, 5), max_size=5),
)
def test_the_time_left_is_never_overestimated(skew, there, back, think, earlier):
    clock = VirtualClock()
    server = ServerClock(clock)
    for pause in earlier:
        clock.advance(pause)
        now = clock.monotonic()
        server.saw_date(header(server_time(now, skew)), Window(now, now))
    sent = clock.monotonic()
    clock.advance(there)
    served = clock.monotonic()
    deadline = server_time(served + 30, skew)
    stamp = header(server_time(served, skew))
    clock.advance(back)
    window = Window(sent, clock.monotonic())
    server.saw_date(stamp, window)
    server.saw_serving(deadline, window)
    clock.advance(think)
    truly_left = served + 30 - clock.monotonic()
    left = server.remaining_s(deadline)
    assert 0 <= left <= max(0.0, truly_left) + 1e-3
    assert left >= truly_left - there - back - 2.001  # and little is given away


@pytest.mark.parametrize("skew", [-40.0, 40.0])
def test_a_server_clock_forty_seconds_off_does_no_harm(skew):
    clock = VirtualClock()
    server = ServerClock(clock)
    window = Window(0.0, 0.0)
    server.saw_date(header(server_time(0, skew)), window)
    deadline = server_time(30, skew)
    server.saw_serving(deadline, window)
    assert 27.9 <= server.remaining_s(deadline) <= 30.0
    assert not server.date_contradicted


@pytest.mark.parametrize("skew", [-40.0, 40.0])
def test_a_date_from_another_clock_than_the_deadline_does_no_harm(skew):
    clock = VirtualClock()
    server = ServerClock(clock)
    window = Window(0.0, 0.1)
    server.saw_date(header(server_time(0, skew)), window)
    deadline = server_time(30)
    server.saw_serving(deadline, window)
    assert 27.9 <= server.remaining_s(deadline) <= 30.0
    assert server.date_contradicted is (skew > 0)
    assert (server.by_date is None) is (skew > 0)


def test_a_local_wall_clock_plays_no_part():
    clock = VirtualClock(wall=EPOCH + timedelta(days=900))
    server = ServerClock(clock)
    server.saw_serving(server_time(30), Window(0.0, 0.0))
    clock.wall -= timedelta(days=1800)
    assert server.remaining_s(server_time(30)) == 30.0


def test_less_time_than_the_rules_say_is_believed():
    clock = VirtualClock()
    server = ServerClock(clock)
    window = Window(0.0, 0.0)
    server.saw_date(header(server_time(0)), window)
    server.saw_serving(server_time(12), window)
    assert 9.9 <= server.remaining_s(server_time(12)) <= 12.0


def test_more_time_than_the_rules_say_is_not():
    clock = VirtualClock()
    server = ServerClock(clock)
    server.saw_serving(server_time(300), Window(0.0, 0.0))
    assert server.remaining_s(server_time(300)) == 30.0


def test_a_resumed_game_is_timed_by_the_date():
    clock = VirtualClock()
    server = ServerClock(clock)
    server.saw_date(header(server_time(0)), Window(0.0, 0.0))
    assert 9.9 <= server.remaining_s(server_time(12)) <= 12.0
    assert server.remaining_s(server_time(-5)) == 0.0
    assert server.remaining_s(server_time(900)) == 30.0


def test_a_resumed_game_of_which_nothing_is_known_has_no_time():
    assert ServerClock(VirtualClock()).remaining_s(server_time(25)) == 0.0


def test_an_earlier_serving_times_a_question_whose_reply_was_lost():
    clock = VirtualClock()
    server = ServerClock(clock)
    server.saw_serving(server_time(30), Window(0.0, 0.1))
    clock.advance(20)
    server.saw_serving(server_time(19 + 30), Window(4.0, 20.0))  # served somewhere in there
    assert 28.8 <= server.remaining_s(server_time(49)) <= 29.0


def test_a_clock_that_was_set_is_followed():
    older, newer = Offset(10.0, 12.0), Offset(50.0, 52.0)
    assert older.narrowed(newer) == newer
    assert older.narrowed(Offset(11.0, 13.0)) == Offset(11.0, 12.0)


@given(st.none() | st.text(max_size=80))
def test_no_header_breaks_it(text):
    server = ServerClock(VirtualClock())
    server.saw_date(text, Window(0.0, 0.0))
    assert server.remaining_s(EPOCH) <= 30.0


@pytest.mark.parametrize(
    "text", ["Fri, 15 Jan 2027 08:00:00 -0000", "Fri, 15 Jan 9999 08:00:00 GMT", "x" * 1000]
)
def test_odd_headers(text):
    ServerClock(VirtualClock()).saw_date(text, Window(0.0, 0.0))


def test_the_client_learns_the_clock(play, clock):
    async def scene(server, client):
        server.skew_s = -40.0
        clock.advance(3.7)
        game = await client.start(3)
        left = game.remaining_s()
        await game.answer(1)
        clock.advance(11)
        await game.refresh()
        return left, game.remaining_s(), client.server_clock

    left, later, server_clock = play(scene)
    assert 27.9 <= left <= 30
    assert 16.9 <= later <= 19
    assert server_clock.by_serving is not None


def test_the_client_needs_no_date_header(play, clock):
    async def scene(server, client):
        server.sends_date = False
        await client.login()
        game = await client.start(3)
        clock.advance(10)
        same = await client.resume(41)
        return game.remaining_s(), same.remaining_s()

    played, resumed = play(scene, log_in=False)
    assert played == 20.0
    assert resumed == pytest.approx(20.0)  # the same connection remembers when it was served
