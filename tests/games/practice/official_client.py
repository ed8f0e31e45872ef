"""A stand-in for the official client, written from the protocol's description alone.

Sync, one session with a cookie jar, and it builds its next state from the
reply to an answer, as the original does: a continuing reply without the
pyramid breaks it.
"""

from dataclasses import dataclass, field
from datetime import datetime

import requests

COOKIE = "polimillionaire_auth"
NEEDED = {
    "sessionId",
    "competition",
    "status",
    "earnedAmount",
    "currentLevel",
    "moneyPyramid",
    "questionDeadline",
    "question",
    "mode",
}
ANSWER = {
    "correct",
    "gameOver",
    "earnedAmount",
    "timedOut",
    "status",
    "currentLevel",
    "reachedLevel",
    "questionDeadline",
    "question",
}


class ApiError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


@dataclass
class Level:
    level: int
    amount: float


@dataclass
class Option:
    id: int
    text: str | None


@dataclass
class Question:
    id: int
    text: str | None
    options: list[Option]
    level: int | None = None

    @classmethod
    def parse(cls, data):
        if data is None:
            return None
        options = [Option(int(one["id"]), one["text"]) for one in data["options"]]
        return cls(int(data["id"]), data["text"], options, data.get("level"))


@dataclass
class State:
    session_id: int
    status: str
    earned: float
    level: int
    pyramid: list[Level]
    deadline: datetime | None
    question: Question | None
    mode: str

    @classmethod
    def parse(cls, data):
        assert set(data) >= NEEDED, NEEDED - set(data)
        return cls(
            int(data["sessionId"]),
            data["status"],
            data["earnedAmount"],
            int(data["currentLevel"]),
            pyramid(data),
            moment(data["questionDeadline"]),
            Question.parse(data["question"]),
            data["mode"],
        )


def pyramid(data):
    levels = [Level(int(one["level"]), one["amount"]) for one in data["moneyPyramid"]]
    if not levels:
        raise KeyError("moneyPyramid")
    return levels


def moment(text):
    if text is None:
        return None
    assert text.endswith("Z"), text
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class Session:
    """One game."""

    def __init__(self, client, state):
        self._client = client
        self.state = state
        self.last = None

    @property
    def current_question(self):
        return self.state.question

    @property
    def over(self):
        return self.state.status != "in_progress"

    def _path(self, tail):
        return f"/api/game/{self.state.session_id}/{tail}"

    def answer(self, option_id):
        return self._take(self._client.post(self._path("answer"), {"optionId": option_id}))

    def timeout(self):
        return self._take(self._client.post(self._path("timeout")))

    def _take(self, reply):
        assert set(reply) >= ANSWER, ANSWER - set(reply)
        before = self.state
        if reply["gameOver"]:
            assert reply["question"] is None
            levels = before.pyramid
        else:
            levels = pyramid(reply)
        self.state = State(
            before.session_id,
            reply["status"],
            reply["earnedAmount"],
            reply["currentLevel"],
            levels,
            moment(reply["questionDeadline"]),
            Question.parse(reply["question"]),
            before.mode,
        )
        self.last = reply
        return reply

    def refresh(self):
        self.state = State.parse(self._client.get(self._path("state")))
        return self.state

    def question_audio(self):
        return self._client.audio(self._path("audio/question"))

    def next_option_audio(self):
        return self._client.audio(self._path("audio/option/next"))

    def option_audio(self, position):
        return self._client.audio(self._path(f"audio/option/{position}"))


class Line(requests.Session):
    """A session with one server, 30 seconds for each request."""

    def __init__(self, url):
        super().__init__()
        self.url = url
        self.trust_env = False

    def request(self, method, path, content=None, **more):
        data = more.pop("data", content)
        return super().request(method, self.url + path, data=data, timeout=30, **more)


@dataclass
class Client:
    url: str
    http: Line = field(init=False)

    def __post_init__(self):
        self.http = Line(self.url)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.http.close()

    @property
    def logged_in(self):
        return any(cookie.name == COOKIE for cookie in self.http.cookies)

    def login(self, username, password):
        user = self.post("/api/auth/login", {"username": username, "password": password})["user"]
        if not self.logged_in:
            raise ApiError(200, "no cookie")
        assert isinstance(user["id"], int)
        assert user["role"]
        return user

    def logout(self):
        self.post("/api/auth/logout")

    def me(self):
        return self.get("/api/auth/me")["user"]

    def competitions(self):
        return self.get("/api/competitions")["competitions"]

    def config(self, number):
        return self.get(f"/api/competitions/{number}/config")

    def leaderboard(self, number, **query):
        return self.get(f"/api/leaderboard/{number}", **query)

    def start(self, number, mode="text"):
        data = self.post("/api/game/start", {"competitionId": number, "mode": mode})
        return Session(self, State.parse(data))

    def resume(self, number):
        return Session(self, State.parse(self.get(f"/api/game/{number}/state")))

    def get(self, path, **query):
        return self._json(self.http.get(path, params=query))

    def post(self, path, body=None):
        return self._json(self.http.post(path, json=body))

    def audio(self, path):
        reply = self.http.get(path)
        if reply.status_code != 200:
            self._json(reply)
        assert reply.headers["content-type"] == "audio/wav"
        return reply.content

    def _json(self, reply):
        if reply.status_code == 204:
            return None
        if reply.status_code in (200, 201):
            return reply.json()
        body = reply.json()
        raise ApiError(reply.status_code, body.get("message") or body.get("error"))
