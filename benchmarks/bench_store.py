"""The store against other ways to keep web answers, and at 50,000 pages.

    python benchmarks/bench_store.py [--quick]        prints Markdown tables
    pytest benchmarks/bench_store.py                  the reading alone, 100 pages

vcrpy, hishel and requests-cache (``pip install -e '.[bench]'``) are used as
their documentation says, over the client they are made for.  All record from a
server on loopback; reading goes through the client to the bytes of the body,
which are compared with what the server sent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.corpus import Corpus, Entry, check, request_key

HERE = Path(__file__)


class Pages:
    """Pages of text that compress like real ones; the same on every machine."""

    def __init__(self) -> None:
        dice = random.Random(0)
        words = [
            "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 10)))
            for _ in range(5_000)
        ]
        falling = list(accumulate(1 / (rank + 1) for rank in range(5_000)))
        self._pool = " ".join(dice.choices(words, cum_weights=falling, k=400_000))

    def body(self, number: int, size: int) -> bytes:
        dice = random.Random(number)
        parts, have = [f"<html><title>Page {number}</title>"], 0
        while have < size:
            start, length = dice.randrange(len(self._pool) - 1_000), dice.randint(200, 900)
            parts.append(f"<p>{self._pool[start : start + length]}</p>")
            have += length
        return "".join(parts).encode()[:size]


PAGES = Pages()


# The server


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        _, number, size = self.path.split("/")
        body = PAGES.body(int(number), int(size))
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n"
        self.wfile.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def served() -> Iterator[str]:
    """Run the server in a process of its own; give its address."""
    process = subprocess.Popen(
        [sys.executable, str(HERE), "--serve"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


# Those who store.  ``write`` records all addresses; ``read`` opens what was
# recorded and asks for each, giving the seconds until the first answer was
# there, the seconds of each, and what was answered.

Read = tuple[float, list[float], list[bytes]]


def timed(get: Callable[[str], bytes], urls: Iterable[str], began: float) -> Read:
    times, bodies = [], []
    first = 0.0
    for url in urls:
        asked = time.perf_counter()
        bodies.append(get(url))
        done = time.perf_counter()
        first = first or done - began
        times.append(done - asked)
    return first, times, bodies


class Hotseat:
    name = "Hotseat"

    def write(self, folder: Path, urls: list[str]) -> None:
        async def record() -> None:
            with Corpus.create(folder / "corpus", name="bench") as corpus:
                async with httpx.AsyncHTTPTransport() as inner:
                    tape = corpus.tape("record", inner=inner)
                    async with httpx.AsyncClient(transport=tape) as client:
                        for url in urls:
                            await client.get(url)

        asyncio.run(record())

    def read(self, folder: Path, urls: list[str]) -> Read:
        async def replay() -> Read:
            times, bodies = [], []
            first = 0.0
            began = time.perf_counter()
            with Corpus.open(folder / "corpus", read_only=True) as corpus:
                async with httpx.AsyncClient(transport=corpus.tape("replay")) as client:
                    for url in urls:
                        asked = time.perf_counter()
                        bodies.append((await client.get(url)).content)
                        done = time.perf_counter()
                        first = first or done - began
                        times.append(done - asked)
            return first, times, bodies

        return asyncio.run(replay())


class Vcrpy:
    name = "vcrpy, one cassette"

    def write(self, folder: Path, urls: list[str]) -> None:
        import vcr

        with vcr.use_cassette(str(folder / "cassette.yaml")), httpx.Client() as client:
            for url in urls:
                client.get(url)

    def read(self, folder: Path, urls: list[str]) -> Read:
        import vcr

        began = time.perf_counter()
        with (
            vcr.use_cassette(str(folder / "cassette.yaml"), record_mode="none"),
            httpx.Client() as client,
        ):
            return timed(lambda url: client.get(url).content, urls, began)


class VcrpyEach:
    name = "vcrpy, a cassette for each"

    def write(self, folder: Path, urls: list[str]) -> None:
        import vcr

        with httpx.Client() as client:
            for url in urls:
                with vcr.use_cassette(self._path(folder, url)):
                    client.get(url)

    def read(self, folder: Path, urls: list[str]) -> Read:
        import vcr

        def get(url: str) -> bytes:
            with vcr.use_cassette(self._path(folder, url), record_mode="none"):
                return client.get(url).content

        began = time.perf_counter()
        with httpx.Client() as client:
            return timed(get, urls, began)

    def _path(self, folder: Path, url: str) -> str:
        return str(folder / "each" / f"{hashlib.sha256(url.encode()).hexdigest()}.yaml")


class Hishel:
    name = "hishel (SQLite, sync client)"

    def write(self, folder: Path, urls: list[str]) -> None:
        with self._client(folder) as client:
            for url in urls:
                client.get(url)

    def read(self, folder: Path, urls: list[str]) -> Read:
        began = time.perf_counter()
        with self._client(folder) as client:
            return timed(lambda url: client.get(url).content, urls, began)

    def _client(self, folder: Path) -> Any:
        from hishel import SqliteStorage
        from hishel.httpx import CacheClient

        return CacheClient(storage=SqliteStorage(database_path=folder / "hishel.db"))


class HishelAsync:
    """The client for programs that fetch pages side by side, as Hotseat's own is."""

    name = "hishel (SQLite, async client)"

    def write(self, folder: Path, urls: list[str]) -> None:
        asyncio.run(self._ask(folder, urls))

    def read(self, folder: Path, urls: list[str]) -> Read:
        return asyncio.run(self._ask(folder, urls))

    async def _ask(self, folder: Path, urls: list[str]) -> Read:
        from hishel import AsyncSqliteStorage
        from hishel.httpx import AsyncCacheClient

        times, bodies = [], []
        first = 0.0
        began = time.perf_counter()
        storage = AsyncSqliteStorage(database_path=folder / "hishel.db")
        async with AsyncCacheClient(storage=storage) as client:
            for url in urls:
                asked = time.perf_counter()
                bodies.append((await client.get(url)).content)
                done = time.perf_counter()
                first = first or done - began
                times.append(done - asked)
        await storage.close()
        return first, times, bodies


class RequestsCache:
    name = "requests-cache (SQLite)"

    def write(self, folder: Path, urls: list[str]) -> None:
        with self._session(folder) as session:
            for url in urls:
                session.get(url)

    def read(self, folder: Path, urls: list[str]) -> Read:
        began = time.perf_counter()
        with self._session(folder) as session:
            return timed(lambda url: session.get(url).content, urls, began)

    def _session(self, folder: Path) -> Any:
        import requests_cache

        return requests_cache.CachedSession(str(folder / "requests"), backend="sqlite")


ALL = (Hotseat(), Vcrpy(), VcrpyEach(), Hishel(), HishelAsync(), RequestsCache())


def addresses(base: str, count: int, size: int) -> list[str]:
    return [f"{base}/{number}/{size}" for number in range(count)]


def check_bodies(urls: list[str], bodies: list[bytes]) -> None:
    for url, body in zip(urls, bodies, strict=True):
        _, number, size = url.rpartition(":")[2].split("/")
        assert body == PAGES.body(int(number), int(size)), f"{url}: other bytes than were sent"


# The tables


def compare(count: int, size: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name, served() as base:
        urls = addresses(base, count, size)
        httpx.get(urls[0])
        shuffled = random.Random(1).sample(urls, count)
        for one in ALL:
            folder = Path(name, type(one).__name__)
            folder.mkdir()
            began = time.perf_counter()
            one.write(folder, urls)
            wrote = time.perf_counter() - began
            began = time.perf_counter()
            first, times, bodies = one.read(folder, shuffled)
            total = time.perf_counter() - began
            check_bodies(shuffled, bodies)
            disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            rows.append((one.name, wrote, first, times, total, disk))
            say(f"{one.name}: {total:.2f} s")
    ours, our_median = rows[0][4], statistics.median(rows[0][3])
    print(f"## Store: {count:,} pages of {size // 1000} kB\n")
    print(
        "Recorded from loopback one by one, then read one by one in random order in one go "
        "from opening to closing; each body compared with what was sent.\n"
    )
    print(
        "| | write, ms a page | first answer, ms | read p50, ms | read p99, ms "
        "| all read, s | on disk, MB | all read, × Hotseat | p50, × Hotseat |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for label, wrote, first, times, total, disk in rows:
        p50, p99 = statistics.median(times), percentile(times, 0.99)
        cells = [1e3 * wrote / count, 1e3 * first, 1e3 * p50, 1e3 * p99, total, disk / 1e6]
        ratios = f"{total / ours:.1f} | {p50 / our_median:.1f}"
        print(f"| {label} | {' | '.join(f'{cell:,.2f}' for cell in cells)} | {ratios} |")
    print()


VCRPY_MOST = 1_000


def opening(counts: list[int]) -> None:
    size = 2_000
    some = [one for one in ALL if not isinstance(one, VcrpyEach)]
    first: dict[str, list[float]] = {one.name: [] for one in some}
    with served() as base:
        for count in counts:
            with tempfile.TemporaryDirectory() as name:
                urls = addresses(base, count, size)
                for one in some:
                    if isinstance(one, Vcrpy) and count > VCRPY_MOST:
                        continue
                    folder = Path(name, type(one).__name__)
                    folder.mkdir()
                    one.write(folder, urls)
                    asked = [urls[count // 2]]
                    rounds = [one.read(folder, asked)[0] for _ in range(3)]
                    first[one.name].append(min(rounds))
                    say(f"{one.name}, {count:,}: {1e3 * first[one.name][-1]:.1f} ms")
    print("## Store: from opening to the first answer\n")
    print(
        f"Pages of {size // 1000} kB; ms, the best of three in one process. vcrpy looks through "
        f"its whole cassette for each page it adds, so it was not asked for over {VCRPY_MOST:,}.\n"
    )
    print(f"| | {' | '.join(f'{count:,} pages' for count in counts)} | last to first |")
    print(f"|---|{'--:|' * len(counts)}--:|")
    for label, times in first.items():
        cells = [f"{1e3 * value:,.1f}" for value in times] + [""] * (len(counts) - len(times))
        print(f"| {label} | {' | '.join(cells)} | {times[-1] / times[0]:.1f} × |")
    print()


def large(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "corpus")
        began = time.perf_counter()
        build(folder, count)
        say(f"{count:,} pages made in {time.perf_counter() - began:.0f} s")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        steps = ("open", "read", "miss", "info", "verify", "verify, 1 process", "compact")
        found = [measure(folder, count, step) for step in steps]
    print(f"## Store: {count:,} pages\n")
    print(
        f"Pages of 10 to 30 kB, {size / 1e6:,.0f} MB on disk; each row in a process of its own; "
        "memory is the most that it held, Python and libraries included.\n"
    )
    print("| | result | seconds | memory, MB |")
    print("|---|---|--:|--:|")
    for step, row in zip(steps, found, strict=True):
        print(f"| {step} | {row['said']} | {row['seconds']:.2f} | {row['memory_mb']:.0f} |")
    print()


def build(folder: Path, count: int) -> None:
    """Make a corpus of ``count`` pages, without the detour over HTTP."""
    with Corpus.create(folder, name="large") as corpus:
        for start in range(0, count, 2_000):
            with corpus._store.batch():
                for number in range(start, min(count, start + 2_000)):
                    body = PAGES.body(number, 10_000 + number * 7919 % 20_001)
                    entry = Entry(
                        request=request_key("GET", address(number), {}, None),
                        ordinal=0,
                        fetched_at="2026-01-01T00:00:00.000000Z",
                        elapsed_s=0.2,
                        status=200,
                        headers=(("content-type", "text/html; charset=utf-8"),),
                        body_sha256=hashlib.sha256(body).hexdigest(),
                        body_bytes=len(body),
                    )
                    corpus._store.put(entry, body, replace=False)


def address(number: int) -> str:
    return f"https://site{number % 977}.example.org/page/{number}?q={number * 7}"


def measure(folder: Path, count: int, step: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE), "--measure", str(folder), str(count), step]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    say(f"{step}: {done.stdout.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def do_step(folder: Path, count: int, step: str) -> None:
    began = time.perf_counter()
    if step.startswith("verify"):
        found = check(folder, jobs=1 if "1" in step else None)
        said = f"{found.entries:,} entries, {len(found.problems)} problems"
    elif step == "compact":
        with Corpus.open(folder) as corpus:
            done = corpus.compact()
        said = f"{done.bodies} bodies dropped"
    else:
        with Corpus.open(folder, read_only=True) as corpus:
            opened = time.perf_counter() - began
            if step == "read":
                numbers = random.Random(2).sample(range(count), min(count, 5_000))
                times = asyncio.run(ask(corpus, [address(number) for number in numbers]))
                p50, p99 = statistics.median(times), percentile(times, 0.99)
                said = f"{len(times):,} at random: p50 {1e3 * p50:.2f} ms, p99 {1e3 * p99:.2f} ms"
            elif step == "miss":
                urls = [f"https://site1.example.org/page/{number}?q=x" for number in range(20)]
                times = asyncio.run(ask(corpus, urls))
                usual = statistics.median(times)
                said = f"the first {1e3 * times[0]:,.0f} ms, then {1e3 * usual:,.0f} ms"
            elif step == "info":
                said = f"{corpus.info().entries:,} entries"
            else:
                said = f"{1e3 * opened:.1f} ms"
    seconds = time.perf_counter() - began
    print(json.dumps({"said": said, "seconds": seconds, "memory_mb": memory_mb()}))


async def ask(corpus: Corpus, urls: list[str]) -> list[float]:
    from harness.errors import CorpusMissError

    times = []
    async with httpx.AsyncClient(transport=corpus.tape("replay")) as client:
        for url in urls:
            asked = time.perf_counter()
            with contextlib.suppress(CorpusMissError):
                assert (await client.get(url)).content
            times.append(time.perf_counter() - asked)
    return times


def memory_mb() -> float:
    """Return the most memory that this process held."""
    status = Path("/proc/self/status")
    if status.is_file():  # unlike the other, it does not count what the parent held
        (line,) = (one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 if sys.platform != "darwin" else most / 2**20


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    elif given.measure:
        do_step(Path(given.measure[0]), int(given.measure[1]), given.measure[2])
    else:
        compare(50 if given.quick else 1_000, 100_000)
        opening([20, 60] if given.quick else [100, 1_000, 10_000])
        large(1_000 if given.quick else 50_000)


# For pytest-benchmark


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.mark.parametrize("one", ALL, ids=lambda one: type(one).__name__)
def test_read_100_pages(benchmark: Any, base: str, tmp_path: Path, one: Any) -> None:
    module = {
        "Vcrpy": "vcr",
        "VcrpyEach": "vcr",
        "Hishel": "hishel",
        "HishelAsync": "anysqlite",
    }.get(type(one).__name__)
    if isinstance(one, RequestsCache):
        module = "requests_cache"
    if module:
        pytest.importorskip(module)
    urls = addresses(base, 100, 100_000)
    one.write(tmp_path, urls)
    shuffled = random.Random(1).sample(urls, len(urls))
    _, _, bodies = benchmark.pedantic(one.read, (tmp_path, shuffled), rounds=3)
    check_bodies(shuffled, bodies)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
