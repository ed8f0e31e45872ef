"""Our client against our practice server: written apart from each other, from one protocol."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from harness.games.client import QuizClient
from harness.games.errors import QuizNotFoundError, QuizRefusedError
from harness.games.login import Credentials
from harness.games.practice import PracticeServer, ServerTime
from harness.quiz import Category, Gold, Option, Question

GOLD = "rowan"


@dataclass
class MovingClock:
    elapsed_s: float = 1000.0
    skew_s: float = 0.0

    def monotonic(self):
        return self.elapsed_s

    def now(self):
        return datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=self.elapsed_s + self.skew_s)


class Voice:
    identity = "fake"

    def __init__(self, clip):
        self.clip = clip

    def speak(self, text):
        return self.clip


@pytest.fixture
def moving():
    return MovingClock()


@pytest.fixture
def with_server(tmp_path, moving, make_wav):
    """Run ``scene(make_client)`` against a running practice server."""

    def run(scene):
        questions = [
            Question(
                f"{category.value}-{n}",
                category,
                f"What grows at {n} of {category.value}?",
                tuple(
                    Option(p, f"{name} {n}") for p, name in enumerate(("ash", "elm", "oak", GOLD))
                ),
                Gold(f"{GOLD} {n}"),
            )
            for category in Category
            for n in range(16)
        ]
        with PracticeServer(
            questions,
            database=tmp_path / "games.sqlite",
            synthesiser=Voice(make_wav(0.2)),
            time=ServerTime(moving),
        ) as server:

            def client(name="ada"):
                credentials = Credentials(name, "long-password")
                return QuizClient(server.url, credentials, min_interval_s=0, clock=moving)

            return asyncio.run(scene(client))

    return run


def right(state):
    return next(option.id for option in state.question.options if option.text.startswith(GOLD))


def wrong(state):
    return next(option.id for option in state.question.options if not option.text.startswith(GOLD))


async def maths_of(client):
    await client.login()
    listed = await client.competitions()
    assert {competition.category for competition in listed} == set(Category)
    return next(one.id for one in listed if one.category is Category.MATHS)


def test_a_million_in_text(with_server):
    async def scene(make):
        async with make() as client:
            maths = await maths_of(client)
            config = await client.config(maths)
            game = await client.start(maths)
            left = game.remaining_s()
            levels = []
            while not game.state.is_over:
                outcome = await game.answer(right(game.state))
                assert outcome.result.correct is True
                levels.append(game.state.earned_amount)
            board = await client.leaderboard(maths)
            with pytest.raises(QuizRefusedError):
                await game.answer(0)
            return left, levels, config, game.state, board

    left, levels, config, state, board = with_server(scene)
    assert 27 <= left <= 30
    assert len(levels) == 15
    assert levels[-1] == 1_024_000 == config.money_pyramid[-1].amount
    assert state.status == "completed"
    assert (board.entries[0].username, board.entries[0].score) == ("ada", 1_024_000)


def test_wrong_late_and_foreign(with_server, moving):
    async def scene(make):
        async with make() as client, make("eve") as other:
            maths = await maths_of(client)
            await other.login()
            game = await client.start(maths)
            with pytest.raises(QuizNotFoundError):
                await other.resume(game.state.session_id)
            await game.answer(right(game.state))
            lost = await game.answer(wrong(game.state))
            late_game = await client.start(maths)
            moving.elapsed_s += 31
            assert late_game.remaining_s() == 0
            late = await late_game.answer(right(late_game.state))
            return lost.result, late.result

    lost, late = with_server(scene)
    assert (lost.correct, lost.status, lost.earned_amount) == (False, "failed", 100)
    assert (late.correct, late.timed_out, late.status) == (None, True, "timeout")


@pytest.mark.parametrize("skew", [-40.0, 40.0])
def test_speech_with_a_clock_that_is_off(with_server, moving, skew):
    moving.skew_s = skew

    async def scene(make):
        async with make() as client:
            game = await client.start(await maths_of(client), "speech")
            question = await game.question_audio()
            moving.elapsed_s += 300
            left = []
            for _ in range(4):
                await game.next_option_audio()
                left.append(game.remaining_s())
            with pytest.raises(QuizRefusedError):
                await game.next_option_audio()
            await game.refresh()
            resumed = await client.resume(game.state.session_id)
            outcome = await game.answer(0)
            return question, left, resumed, outcome

    question, left, resumed, outcome = with_server(scene)
    assert (question.sample_rate_hz, question.note) == (24_000, "")
    assert left == [None, None, None, pytest.approx(30.0)]
    assert 27 <= resumed.remaining_s() <= 30
    assert outcome.result.correct in (True, False)


def test_many_games_at_once(with_server):
    async def one(client, maths):
        game = await client.start(maths)
        for _ in range(3):
            assert (await game.answer(right(game.state))).result.correct
        return game.state.current_level

    async def scene(make):
        async with make() as client:
            maths = await maths_of(client)
            return await asyncio.gather(*(one(client, maths) for _ in range(12)))

    assert with_server(scene) == [4] * 12
