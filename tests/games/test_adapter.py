"""A ready client, written here from what is described of such objects: sync, snake case."""

import asyncio
import threading
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace

import pytest

from harness.clock import VirtualClock
from harness.errors import BadInputError
from harness.games.adapter import ReadyClient
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


class MillionaireError(Exception):
    pass


class AuthenticationError(MillionaireError):
    pass


class NotFoundError(MillionaireError):
    pass


class ValidationError(MillionaireError):
    pass


class RateLimitError(MillionaireError):
    pass


class Level(Enum):
    RUNNING = "in_progress"
    LOST = "failed"
    WON = "completed"


@dataclass
class Session:
    clock: VirtualClock
    wav: bytes
    session_id: int = 9
    current_level: int = 1
    earned_amount: float = 0
    mode: str = "text"
    status: Level = Level.RUNNING
    answers: list = field(default_factory=list)
    trouble: list = field(default_factory=list)
    money_pyramid: tuple = (SimpleNamespace(level=1, amount=100),)
    time_remaining: float = 30.0
    clips: int = 0
    refreshed: int = 0
    stale: tuple | None = None

    @property
    def current_question(self):
        level = self.stale[0] if self.stale else self.current_level
        if self.status is not Level.RUNNING:
            return None
        texts = [None] * 4 if self.mode == "speech" else ["a", "b", "c", "d"]
        options = [SimpleNamespace(id=n, text=text) for n, text in enumerate(texts)]
        return SimpleNamespace(id=100 + level, text=f"Question {level}?", options=options)

    def answer(self, option_id):
        kind, error = self.trouble.pop(0) if self.trouble else (None, None)
        if kind == "before":
            raise error
        self.answers.append((self.current_level, option_id, threading.current_thread().name))
        right = option_id == self.current_level % 4
        if not right:
            self.status = Level.LOST
        else:
            self.earned_amount = 100 * self.current_level
            self.current_level += 1
            if self.current_level == 4:
                self.status = Level.WON
        if kind == "after":
            raise error
        return SimpleNamespace(
            correct=right,
            game_over=self.status is not Level.RUNNING,
            earned_amount=self.earned_amount,
            timed_out=False,
            status=self.status,
        )

    def refresh_state(self):
        self.refreshed += 1

    def fetch_audio_question(self):
        return self.wav

    def fetch_audio_option_next(self):
        kind, error = self.trouble.pop(0) if self.trouble else (None, None)
        if kind == "before":
            raise error
        if self.clips == 4:
            raise ValidationError("No more options")
        self.clips += 1
        if kind == "after":
            raise error
        return self.wav

    def fetch_audio_option(self, index):
        if index >= self.clips:
            raise ValidationError("Not delivered")
        return self.wav


class Client:
    def __init__(self, clock, wav):
        self.clock, self.wav, self.session = clock, wav, None
        self.game = self
        self.competitions = self
        self.leaderboard = SimpleNamespace(get=self.get)

    def login(self, username, password):
        if password != "right":
            raise AuthenticationError(f"password {password} is wrong")
        return SimpleNamespace(id=4, username=username, role="student")

    def start(self, competition_id, mode):
        if competition_id == 99:
            raise NotFoundError("No such competition")
        self.session = Session(self.clock, self.wav, mode=mode)
        return self.session

    def list_all(self):
        return [SimpleNamespace(id=5, name="News", max_levels=15, is_infinite=False)]

    def get_config(self, competition_id):
        steps = [SimpleNamespace(level=1, amount=100.0)]
        return SimpleNamespace(id=5, name="News", max_levels=15, money_pyramid=steps)

    def get(self, competition_id, limit, mode):
        if limit > 50:
            raise RateLimitError("slow down")
        entry = SimpleNamespace(username="ada", score=5, reached_level=2, total_trials=3)
        return SimpleNamespace(entries=[entry])


@pytest.fixture
def ready(clock, make_wav):
    def run(scene, password="right"):
        async def main():
            client = Client(clock, make_wav())
            ready = ReadyClient(client, Credentials("ada", password), clock=clock)
            try:
                return await scene(ready, client)
            finally:
                await ready.aclose()

        return asyncio.run(main())

    return run


def test_everything_but_games(ready):
    async def scene(ready, client):
        return (
            await ready.login(),
            await ready.competitions(),
            await ready.config(5),
            await ready.leaderboard(5, mode="speech", limit=3),
        )

    user, (news,), config, board = ready(scene)
    assert (user.id, user.username, user.role) == (4, "ada", "student")
    assert (news.name, news.max_levels) == ("News", 15)
    assert config.money_pyramid[0].amount == 100.0
    assert (board.entries[0].username, board.competition.id) == ("ada", 5)


def test_a_whole_game_in_one_other_thread(ready):
    async def scene(ready, client):
        game = await ready.start(5, "text")
        assert game.state.question.text == "Question 1?"
        while not game.state.is_over:
            outcome = await game.answer(game.state.current_level % 4)
            assert outcome.result.correct is True
            assert outcome.result.question == game.state.question
        with pytest.raises(QuizRefusedError, match="needs an open question"):
            await game.answer(0)
        return game.state, {name for *_, name in client.session.answers}

    state, threads = ready(scene)
    assert (state.status, state.earned_amount, state.competition.id) == ("completed", 300, 5)
    assert len(threads) == 1
    assert threads != {threading.main_thread().name}


def test_a_wrong_answer(ready):
    async def scene(ready, client):
        game = await ready.start(5)
        outcome = await game.answer(3)
        return outcome.result, game.remaining_s()

    result, left = ready(scene)
    assert (result.correct, result.game_over, left) == (False, True, None)


@pytest.mark.parametrize("right", [True, False])
def test_an_answer_whose_reply_is_lost_is_not_repeated(ready, right):
    async def scene(ready, client):
        game = await ready.start(5)
        client.session.trouble = [("after", ConnectionError("remote end closed connection"))]
        outcome = await game.answer(1 if right else 2)
        return outcome, client.session.answers

    outcome, answers = ready(scene)
    assert len(answers) == 1
    assert (outcome.learned, outcome.result.correct) == ("the game's state", right)
    assert "remote end closed" in outcome.notes[0]


def test_an_answer_that_never_left_is_sent_again(ready):
    async def scene(ready, client):
        game = await ready.start(5)
        client.session.trouble = [("before", TimeoutError("no route"))]
        outcome = await game.answer(1)
        client.session.trouble = [("before", OSError("down"))] * 2
        with pytest.raises(QuizUnclearError, match="never acted upon"):
            await game.answer(2)
        return outcome, client.session.answers

    outcome, answers = ready(scene)
    assert (outcome.sends, outcome.result.correct, len(answers)) == (2, True, 1)


def test_options_are_checked_and_refusals_passed_on(ready):
    async def scene(ready, client):
        game = await ready.start(5)
        with pytest.raises(BadInputError, match="not offered"):
            await game.answer(7)
        client.session.trouble = [("before", ValidationError("Bad option."))]
        with pytest.raises(QuizRefusedError, match="Bad option"):
            await game.answer(1)
        with pytest.raises(QuizNotFoundError, match="No such competition"):
            await ready.start(99)
        with pytest.raises(QuizRateLimitError, match="slow down"):
            await ready.leaderboard(5, limit=60)
        with pytest.raises(QuizProtocolError, match="can't do 'timeout'"):
            await game.declare_timeout()

    ready(scene)


def test_a_wrong_password_is_not_repeated(ready):
    async def scene(ready, client):
        with pytest.raises(QuizLoginError) as caught:
            await ready.login()
        return caught.value

    error = ready(scene, password="wrong-one")
    assert "wrong-one" not in str(error)
    assert error.__context__ is None


def test_a_client_without_credentials_is_taken_as_logged_in(clock, make_wav):
    async def main():
        ready = ReadyClient(Client(clock, make_wav()), clock=clock)
        with pytest.raises(QuizLoginError, match="no user name"):
            await ready.login()
        game = await ready.start(5)
        await ready.aclose()
        return game.state.session_id

    assert asyncio.run(main()) == 9


def test_speech(ready, clock):
    async def scene(ready, client):
        game = await ready.start(5, "speech")
        clock.advance(100)
        assert (await game.question_audio()).sample_rate_hz == 24_000
        client.session.trouble = [(None, None), ("after", ConnectionError("gone"))]
        left = []
        for _ in range(4):
            await game.next_option_audio()
            left.append(game.remaining_s())
        clock.advance(4)
        with pytest.raises(QuizRefusedError, match="No more options"):
            await game.next_option_audio()
        return left, game.remaining_s(), client.session.clips

    left, later, clips = ready(scene)
    assert left == [None, None, None, 30.0]
    assert (later, clips) == (26.0, 4)


def test_an_option_that_was_not_delivered_stays_an_error(ready):
    async def scene(ready, client):
        game = await ready.start(5, "speech")
        client.session.trouble = [("before", ConnectionError("gone"))]
        with pytest.raises(QuizUnreachableError, match="gone"):
            await game.next_option_audio()
        client.session.wav = "text"
        with pytest.raises(QuizProtocolError, match="no bytes"):
            await game.question_audio()

    ready(scene)


@pytest.mark.parametrize(
    ("told", "expected"), [(30.0, 30.0), (-10.0, 30.0), (70.0, 30.0), (20.0, 20.0), (None, 30.0)]
)
def test_a_wall_clock_that_is_wrong_does_no_harm(clock, make_wav, told, expected):
    session = Session(clock, make_wav(), time_remaining=told)

    async def main():
        client = SimpleNamespace(game=SimpleNamespace(start=lambda **given: session))
        return (await ReadyClient(client, clock=clock).start(1)).remaining_s()

    assert asyncio.run(main()) == expected


def test_a_game_taken_over_has_no_time_that_is_known(ready, clock, make_wav):
    async def scene(ready, client):
        game = ready.adopt(Session(clock, make_wav()))
        assert game.remaining_s() == 0.0
        await game.answer(1)
        spoken = ready.adopt(Session(clock, make_wav(), mode="speech"), "speech")
        return game.remaining_s(), spoken.remaining_s()

    assert ready(scene) == (30.0, None)


def test_a_game_may_only_say_that_it_runs(clock, make_wav):
    session = Session(clock, make_wav())
    plain = {name: getattr(session, name) for name in ("session_id", "current_level")}
    plain |= {"earned_amount": 0, "current_question": None}
    ready = ReadyClient(SimpleNamespace(game=None), clock=clock)
    assert not ready.adopt(SimpleNamespace(**plain, in_progress=True)).state.is_over
    assert ready.adopt(SimpleNamespace(**plain, in_progress=False)).state.status == "ended"
    with pytest.raises(QuizProtocolError, match="neither 'status' nor 'in_progress'"):
        ready.adopt(SimpleNamespace(**plain))
    with pytest.raises(QuizProtocolError, match="'sessionId'"):
        ready.adopt(SimpleNamespace(in_progress=True))
    odd = plain | {"earned_amount": object(), "in_progress": True}
    with pytest.raises(QuizProtocolError, match="neither text nor number"):
        ready.adopt(SimpleNamespace(**odd))
