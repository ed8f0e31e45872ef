"""200 games at once against the practice server: lost games, wrong verdicts, times, memory.

    python benchmarks/bench_practice_server.py [--quick]

The server runs in a process of its own, with its file on disk; the players
share another, over real connections on the loopback interface.  Every player
plays whole games, errs on purpose now and then, and checks every verdict.
First with pauses of 0.2 to 2 s before each answer, as fast players have them;
then without any, so that all 200 wait at the same time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVER = """
import sys
from pathlib import Path
from harness.games.practice import PracticeServer
from harness.question_file import load_questions
server = PracticeServer(load_questions(Path(sys.argv[1])).questions, database=Path(sys.argv[2]),
    synthesiser=None)
print(server.port, flush=True)
server.run()
"""
TREES = ("alder", "birch", "cedar", "rowan")
CATEGORIES = ("entertainment", "history", "science", "maths", "philosophy", "news")


@dataclass
class Tally:
    """What the players saw."""

    answer_s: list[float] = field(default_factory=list)
    games: int = 0
    wrong_verdicts: int = 0
    lost: int = 0


class Player:
    """One keep-alive connection with a cookie; as little of HTTP as the test needs."""

    def __init__(self, port: int, name: str) -> None:
        self.port, self.name, self.cookie = port, name, ""

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def join(self) -> None:
        await self.connect()
        await self.ask("POST", "/api/auth/login", {"username": self.name, "password": "x"})

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n"
            f"Cookie: {self.cookie}\r\n\r\n".encode()
            + content
        )
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        if "set-cookie" in fields:
            self.cookie = fields["set-cookie"].partition(";")[0]
        reply = json.loads(await self.reader.readexactly(int(fields["content-length"])))
        if " 200 " not in head.partition("\r\n")[0]:
            raise RuntimeError(f"{path}: {head.partition(chr(13))[0]} {reply}")
        return reply

    async def play(self, competition: int, chance: random.Random, pause: bool, to: Tally) -> None:
        if pause:  # nobody starts at the same instant
            await asyncio.sleep(chance.uniform(0.0, 2.0))
        self.writer.close()
        await self.connect()  # the last one has been idle for too long, perhaps
        game = await self.ask(
            "POST", "/api/game/start", {"competitionId": competition, "mode": "text"}
        )
        number, question, level = game["sessionId"], game["question"], 1
        while True:
            if pause:
                await asyncio.sleep(chance.uniform(0.2, 2.0))
            right = chance.random() > 0.03
            option = next(
                one["id"] for one in question["options"] if ("rowan" in one["text"]) == right
            )
            began = time.perf_counter()
            reply = await self.ask("POST", f"/api/game/{number}/answer", {"optionId": option})
            to.answer_s.append(time.perf_counter() - began)
            over = not right or level == 15
            to.wrong_verdicts += (reply["correct"], reply["gameOver"]) != (right, over)
            if reply["gameOver"]:
                break
            question, level = reply["question"], level + 1
        state = await self.ask("GET", f"/api/game/{number}/state")
        to.wrong_verdicts += state["status"] != ("completed" if right else "failed")
        to.wrong_verdicts += state["earnedAmount"] != reply["earnedAmount"]
        to.games += 1


async def round_of_games(players: list[Player], seed: int, pause: bool) -> Tally:
    tally = Tally()
    done = await asyncio.gather(
        *(
            player.play(place % 6, random.Random(f"{seed} {place}"), pause, tally)
            for place, player in enumerate(players)
        ),
        return_exceptions=True,
    )
    failed = [error for error in done if error is not None]
    tally.lost = len(failed)
    if failed:
        print(f"first failure: {failed[0]!r}", file=sys.stderr)
    return tally


def memory_mb(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return float("nan")


def percentile_ms(seconds: list[float], share: float) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def measure(port: int, server: int, count: int, flat_out: int) -> list[tuple[str, ...]]:
    players = [Player(port, f"player {place}") for place in range(count)]
    for place in range(0, count, 20):
        await asyncio.gather(*(player.join() for player in players[place : place + 20]))
    rows, memory = [], [memory_mb(server)]
    plan = [("with pauses", True), *[("without pauses", False)] * flat_out]
    for place, (name, pause) in enumerate(plan):
        began = time.perf_counter()
        tally = await round_of_games(players, place, pause)
        took = time.perf_counter() - began
        memory.append(memory_mb(server))
        times = tally.answer_s
        rows.append(
            (
                f"{place + 1}, {name}",
                str(tally.games),
                str(tally.lost),
                str(tally.wrong_verdicts),
                str(len(times)),
                f"{len(times) / took:.0f}",
                *(f"{percentile_ms(times, share):.0f}" for share in (0.5, 0.99, 1.0)),
                f"{memory[-1]:.0f}",
            )
        )
    for player in players:
        player.writer.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20 players, two rounds")
    quick = parser.parse_args().quick
    count, flat_out = (20, 1) if quick else (200, 4)
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "q.jsonl")
        asked.write_text("\n".join(questions()), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(asked), str(Path(folder, "games.sqlite"))],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            rows = asyncio.run(measure(port, process.pid, count, flat_out))
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
    print(f"## Practice server: {count} text games at once\n")
    print(
        "Server and players in two processes on this machine's loopback interface; real time; "
        "an `answer` is timed from sending it to the end of the reply, as the player sees it.\n"
    )
    print(
        "| round | games | lost | wrong verdicts | answers | answers/s | p50 ms | p99 ms | max ms "
        "| server MB after |"
    )
    print("|---|" + "---:|" * 9)
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 0 if all(row[2] == row[3] == "0" for row in rows) else 1


def questions() -> Iterator[str]:
    for category in CATEGORIES:
        for number in range(60):
            yield json.dumps(
                {
                    "category": category,
                    "question": f"Which tree grows at place {number}?",
                    "options": [f"{tree} {number}" for tree in TREES],
                    "answer": f"rowan {number}",
                }
            )


if __name__ == "__main__":
    sys.exit(main())
