"""A running practice server whose clock the test moves, and a client to play with."""

import importlib.util
import io
import sys
import wave
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.games.practice import PracticeServer, ServerOptions, ServerTime
from harness.quiz import Category, Gold, Option, Question

NAMES = ("alder", "birch", "cedar", "rowan")


@dataclass
class MovingClock:
    """Both clocks, moved by hand; the wall clock can be set apart from the other."""

    elapsed_s: float = 1000.0
    wall: datetime = datetime(2026, 5, 1, tzinfo=UTC)

    def advance(self, seconds):
        self.elapsed_s += seconds
        self.wall += timedelta(seconds=seconds)

    def monotonic(self):
        return self.elapsed_s

    def now(self):
        return self.wall


class Voice:
    """A synthesiser whose clips are the texts themselves, as samples; it keeps a history."""

    identity = "fake 1"

    def __init__(self):
        self.spoken = []

    def speak(self, text):
        self.spoken.append(text)
        target = io.BytesIO()
        with wave.open(target, "wb") as writer:
            writer.setnchannels(1)
            writer.setsampwidth(2)
            writer.setframerate(24_000)
            writer.writeframes(text.encode("utf-16-le"))
        return target.getvalue()


def make_questions(per_category=20):
    return [
        Question(
            f"{category.value}-{number}",
            category,
            f"What grows at place {number} of {category.value}?",
            tuple(Option(place, f"{name} {number}") for place, name in enumerate(NAMES)),
            Gold(f"rowan {number}"),
        )
        for category in Category
        for number in range(per_category)
    ]


@pytest.fixture
def official():
    name = "hotseat_test_official_client"
    if name not in sys.modules:
        path = Path(__file__).with_name("official_client.py")
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def clock():
    return MovingClock()


@pytest.fixture
def voice():
    return Voice()


@pytest.fixture
def questions():
    return make_questions


@pytest.fixture
def serve(tmp_path, clock, voice):
    """Return a function that starts a server; all are stopped at the end."""
    running = []

    def start(asked=None, *, database=None, boot="boot 1", synthesiser=voice, tell=None, **options):
        server = PracticeServer(
            make_questions() if asked is None else asked,
            database=database or tmp_path / "games.sqlite",
            options=ServerOptions(**{"scrypt_cost": 2, "seed": 1, **options}),
            synthesiser=synthesiser,
            time=ServerTime(clock, boot),
            tell=tell,
        ).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.close()


@pytest.fixture
def join(official):
    """Return a function that logs a player in; all are logged out of memory at the end."""
    clients = []

    def enter(server, name="ada", password="secret"):
        client = official.Client(server.url)
        clients.append(client)
        client.login(name, password)
        return client

    yield enter
    for client in clients:
        client.http.close()


@pytest.fixture
def right():
    """Return a function that knows the answer: the option id of the rowan."""

    def find(question):
        (found,) = (one.id for one in question.options if one.text.startswith("rowan"))
        return found

    return find


@pytest.fixture
def wrong(right):
    return lambda question: (right(question) + 1) % 4
