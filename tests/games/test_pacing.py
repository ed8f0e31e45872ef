import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.clock import VirtualClock
from harness.games.pacing import Pacer, RetryPolicy, parse_retry_after


def test_calls_made_at_once_queue_up():
    clock, waits = VirtualClock(), []

    async def sleep(seconds):
        waits.append(seconds)

    pacer = Pacer(2.0, clock, sleep)

    async def main():
        await asyncio.gather(*(pacer.turn() for _ in range(4)))
        clock.advance(9.0)
        await pacer.turn()

    asyncio.run(main())
    assert waits == [2.0, 4.0, 6.0]


@given(st.integers(1, 10_000), st.floats(0.5, 1.0), st.none() | st.floats(0, 3600))
def test_waits_are_bounded_and_never_shorter_than_asked(tries, share, asked):
    policy = RetryPolicy(jitter=lambda: share)
    wait = policy.wait_s(tries, asked)
    assert 0 < wait <= max(policy.longest_s, asked or 0)
    assert wait >= (asked or 0)


def test_the_usual_jitter_keeps_at_least_half():
    waits = {RetryPolicy().wait_s(1) for _ in range(50)}
    assert len(waits) > 1
    assert all(0.125 <= wait <= 0.25 for wait in waits)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("999999999999999999999", 3600.0),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(header, seconds):
    assert parse_retry_after(header) == seconds
