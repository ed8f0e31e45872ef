"""A scripted quiz server on loopback that misbehaves on demand, and a clock to go with it."""

import asyncio
import io
import json
import struct
import wave
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from harness.clock import VirtualClock
from harness.games.client import QuizClient
from harness.games.login import Credentials
from harness.games.pacing import RetryPolicy

EPOCH_S = 1_800_000_000.0  # the server's time when the virtual clock says 0
PRIZES = (100, 200, 300, 500, 1000)


def wav(seconds=0.1, rate=24_000, channels=1, bits=16):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(bits // 8)
        out.setframerate(rate)
        out.writeframes(b"\0" * (int(seconds * rate) * channels * bits // 8))
    return file.getvalue()


class Game:
    def __init__(self, number, user, mode, levels, now_s):
        self.id, self.user, self.mode, self.levels = number, user, mode, levels
        self.level, self.earned, self.status = 1, 0, "in_progress"
        self.clips, self.deadline_s, self.answers = 0, None, []
        self.serve(now_s)

    def serve(self, now_s):
        self.clips = 0
        self.deadline_s = now_s + 30 if self.mode == "text" else None


class ScriptedServer:
    """The protocol, written down once more; right is always option ``level % 4``.

    ``faults[operation]`` is a queue: each request of that operation takes the
    next entry, and an entry is a function of (server, answer, process) or
    ``None``.
    """

    def __init__(self, clock):
        self.clock = clock
        self.skew_s = 0.0  # how wrong the server's clock is
        self.date_skew_s = 0.0  # how wrong the Date header is besides
        self.sends_date = True
        self.users = {"ada": "pass-word-1"}
        self.cookies = {}
        self.games = {}
        self.faults = {}
        self.history = []
        self.connections = 0
        self.levels = 5
        self.one_login_a_user = False
        self._tasks = set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def now_s(self):
        return EPOCH_S + self.clock.monotonic() + self.skew_s

    def asked(self, operation):
        return [entry for entry in self.history if entry["operation"] == operation]

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader, writer):
        self.connections += 1
        number = self.connections
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                method, target, _ = lines[0].split()
                pairs = (line.split(": ", 1) for line in lines[1:] if line)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self._one(method, target, headers, body, number, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, method, target, headers, body, connection, writer):
        path, _, query = target.partition("?")
        operation = self.operation(path)
        self.history.append(
            {
                "operation": operation,
                "method": method,
                "path": path,
                "query": query,
                "headers": headers,
                "body": json.loads(body) if body else None,
                "connection": connection,
                "at_s": self.clock.monotonic(),
            }
        )
        queue = self.faults.get(operation, [])
        fault = queue.pop(0) if queue else None

        def process():
            return self.reply(operation, path, headers, json.loads(body) if body else {})

        def answer(status, content, extra=()):
            self.write(writer, status, content, extra)

        if fault is None:
            answer(*process())
        else:
            await fault(answer, process, writer)
        await writer.drain()

    def write(self, writer, status, content, extra=()):
        if not isinstance(content, bytes):
            content = b"" if content is None else json.dumps(content).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}"]
        if self.sends_date:
            moment = datetime.fromtimestamp(int(self.now_s() + self.date_skew_s), UTC)
            lines.append(f"Date: {format_datetime(moment, usegmt=True)}")
        lines += [f"{name}: {value}" for name, value in extra]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)

    @staticmethod
    def operation(path):
        parts = path.removeprefix("/api/").split("/")
        if parts[0] == "auth":
            return parts[1]
        if parts[0] == "competitions":
            return "config" if len(parts) > 1 else "competitions"
        if parts[0] == "leaderboard":
            return "leaderboard"
        return parts[1] if parts[1] == "start" else "/".join(parts[2:])

    def reply(self, operation, path, headers, body):
        if operation == "login":
            return self.login(body)
        pairs = (item.partition("=") for item in headers.get("cookie", "").split("; "))
        user = self.cookies.get(
            {name: value for name, _, value in pairs}.get("polimillionaire_auth")
        )
        if user is None:
            return 401, {"message": "Not logged in."}
        if operation == "me":
            return 200, {"user": {"id": 1, "username": user, "role": "player"}}
        if operation == "logout":
            return 204, None
        if operation == "competitions":
            item = {"id": 3, "name": "Maths", "maxLevels": 5, "isInfinite": False, "new": [1]}
            return 200, {"competitions": [item]}
        if operation in ("config", "leaderboard") and path.split("/")[3] != "3":
            return 404, {"error": "No such competition."}
        if operation == "config":
            return 200, {"id": 3, "name": "Maths", "maxLevels": 5, "isInfinite": False}
        if operation == "leaderboard":
            return 200, {"competition": {"id": 3, "name": "Maths"}, "entries": []}
        if operation == "start":
            if body.get("competitionId") != 3:
                return 404, {"message": "No such competition."}
            number = len(self.games) + 41
            self.games[number] = Game(number, user, body["mode"], self.levels, self.now_s())
            return 201, self.state(self.games[number])
        game = self.games.get(int(path.split("/")[3]))
        if game is None or game.user != user:
            return 404, {"message": "No such game."}
        return self.play(game, operation, body)

    def login(self, body):
        if self.users.get(body.get("username")) != body.get("password"):
            return 401, {"message": "Wrong user name or password."}
        if self.one_login_a_user:
            self.cookies = {k: v for k, v in self.cookies.items() if v != body["username"]}
        value = f"c{len(self.history)}"
        self.cookies[value] = body["username"]
        cookie = ("Set-Cookie", f"polimillionaire_auth={value}; HttpOnly; Path=/; SameSite=Lax")
        user = {"id": 1, "username": body["username"], "role": "player"}
        return 200, {"user": user}, [cookie]

    def play(self, game, operation, body):
        if game.status == "in_progress" and game.deadline_s and self.now_s() > game.deadline_s:
            late = operation in ("answer", "timeout")
            game.status = "timeout"
            if late:
                return 200, self.result(game, None, timed_out=True)
        if operation == "state":
            return 200, self.state(game)
        if operation.startswith("audio/"):
            return self.audio(game, operation.removeprefix("audio/"))
        if game.status != "in_progress":
            return 400, {"message": "The game is over."}
        if operation == "timeout":
            game.status = "timeout"
            return 200, self.result(game, None, timed_out=True)
        option = body.get("optionId")
        game.answers.append((game.level, option))
        if option not in range(4):
            return 400, {"message": "No such option."}
        if option != game.level % 4:
            game.status = "failed"
            return 200, self.result(game, False)
        game.earned = PRIZES[game.level - 1]
        if game.level == game.levels:
            game.status = "completed"
        else:
            game.level += 1
            game.serve(self.now_s())
        return 200, self.result(game, True)

    def audio(self, game, what):
        if game.mode != "speech":
            return 400, {"message": "This is a text game."}
        if what == "question":
            return 200, wav(0.2)
        place = game.clips if what == "option/next" else int(what.rpartition("/")[2])
        if what == "option/next":
            if game.clips == 4:
                return 400, {"message": "All options have been delivered."}
            game.clips += 1
            if game.clips == 4:
                game.deadline_s = self.now_s() + 30
        elif place >= game.clips:
            return 400, {"message": "Not delivered yet."}
        return 200, wav(0.1 + place / 10)

    def common(self, game):
        running = game.status == "in_progress"
        spoken = game.mode == "speech"
        deadline = game.deadline_s if running else None
        question = {
            "id": 1000 * game.id + game.level,
            "text": None if spoken else f"Question {game.level}?",
            "options": [
                {"id": place, "text": None if spoken else f"Text {place}"} for place in range(4)
            ],
            "level": game.level,
        }
        return {
            "earnedAmount": game.earned,
            "currentLevel": game.level,
            "moneyPyramid": [{"level": n + 1, "amount": p} for n, p in enumerate(PRIZES)],
            "questionDeadline": deadline
            and datetime.fromtimestamp(deadline, UTC).isoformat().replace("+00:00", "Z"),
            "question": question if running else None,
        }

    def state(self, game):
        return self.common(game) | {
            "sessionId": game.id,
            "competition": {"id": 3, "name": "Maths"},
            "status": game.status,
            "maxLevel": game.levels,
            "mode": game.mode,
        }

    def result(self, game, correct, *, timed_out=False):
        return self.common(game) | {
            "correct": correct,
            "gameOver": game.status != "in_progress",
            "timedOut": timed_out,
            "status": game.status,
            "reachedLevel": game.level,
        }


class Faults:
    """What can go wrong with one request; ``after`` means that it was acted upon first."""

    @staticmethod
    def drop(*, after=False):
        async def fault(answer, process, writer):
            if after:
                process()
            writer.close()

        return fault

    @staticmethod
    def hang(*, after=False, clock=None, seconds=0.0):
        async def fault(answer, process, writer):
            if after:
                process()
            if clock is not None:
                clock.advance(seconds)
            await asyncio.sleep(60)

        return fault

    @staticmethod
    def say(status, content=None, *headers, after=False):
        async def fault(answer, process, writer):
            if after:
                process()
            answer(status, content, headers)

        return fault

    @staticmethod
    def cut():
        async def fault(answer, process, writer):
            process()
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"correct":')
            await writer.drain()
            writer.close()

        return fault

    @staticmethod
    def drip(clock):
        async def fault(answer, process, writer):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
            for _ in range(200):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)

        return fault

    @staticmethod
    def doing(action):
        async def fault(answer, process, writer):
            action()
            answer(*process())

        return fault


@pytest.fixture
def faults():
    return Faults


@pytest.fixture
def make_wav():
    return wav


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def waits():
    """Seconds that were slept, in order."""
    return []


@pytest.fixture
def sleep(clock, waits):
    async def sleep(seconds):
        waits.append(seconds)
        clock.advance(seconds)
        await asyncio.sleep(0)

    return sleep


@pytest.fixture
def policy():
    return RetryPolicy(jitter=lambda: 1.0)


@pytest.fixture
def make_client(clock, sleep, policy):
    def make(server, **changes):
        settings = {
            "min_interval_s": 0.0,
            "timeout_s": 10.0,
            "retry": policy,
            "clock": clock,
            "sleep": sleep,
        }
        credentials = changes.pop("credentials", Credentials("ada", "pass-word-1"))
        return QuizClient(server.url, credentials, **(settings | changes))

    return make


@pytest.fixture
def play(clock, make_client):
    """Run ``scene(server, client)`` with a logged-in client against a scripted server."""

    def run(scene, *, log_in=True, **changes):
        async def main():
            async with ScriptedServer(clock) as server, make_client(server, **changes) as client:
                if log_in:
                    await client.login()
                return await scene(server, client)

        return asyncio.run(main())

    return run


@pytest.fixture
def scripted_server(clock):
    return lambda: ScriptedServer(clock)


@pytest.fixture
def streamed_wav():
    data = bytearray(wav(0.5))
    struct.pack_into("<I", data, data.index(b"data") + 4, 0xFFFFFFFF)
    return bytes(data)
