"""A loopback server with every kind of bad manners, and ways to play tapes."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import textwrap
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.corpus import Corpus, RequestPolicy


@pytest.fixture(autouse=True)
def hotseat_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All state of a test in a folder of its own."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOTSEAT_HOME", str(folder))
    return folder


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.server.asked[path] += 1
        length = int(self.headers.get("content-length", 0))
        sent = self.rfile.read(length)
        getattr(self, f"on_{path.strip('/').replace('/', '_') or 'root'}", self.on_page)(
            query, sent
        )

    def answer(self, body: bytes, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"content-type": "text/html; charset=utf-8", **names}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def on_page(self, query: str, sent: bytes) -> None:
        language = self.headers.get("accept-language", "")
        self.answer(
            f"page {self.path} in {language}".encode() + sent, server_timing="total;dur=125"
        )

    def on_count(self, query: str, sent: bytes) -> None:
        self.answer(str(self.server.asked["/count"]).encode())

    def on_secret(self, query: str, sent: bytes) -> None:
        told = f"{query} {self.headers.get('x-subscription-token')}"
        self.answer(told.encode(), set_cookie="session=s3cr3t-cookie", x_robots_tag=told)

    def on_gzip(self, query: str, sent: bytes) -> None:
        packed = gzip.compress(b"first ") + gzip.compress(b"second")
        self.answer(packed, content_encoding="gzip")

    def on_deflate(self, query: str, sent: bytes) -> None:
        self.answer(zlib.compress(b"bare deflate")[2:-4], content_encoding="deflate")

    def on_lies(self, query: str, sent: bytes) -> None:
        self.answer(b"this is no gzip", content_encoding="gzip")

    def on_brotli(self, query: str, sent: bytes) -> None:
        self.answer(b"\x0b\x02\x80brotli\x03", content_encoding="br")

    def on_bomb(self, query: str, sent: bytes) -> None:
        self.answer(self.server.bomb, content_encoding="gzip")

    def on_redirect(self, query: str, sent: bytes) -> None:
        self.answer(b"", status=302, location="/page?token=t0ken-of-mine&b=2&a=1#part")

    def on_missing(self, query: str, sent: bytes) -> None:
        self.answer(b"nothing here", status=404)

    def on_flaky(self, query: str, sent: bytes) -> None:
        self.answer(b"", status=503 if self.server.asked["/flaky"] == 1 else 200)

    def on_big(self, query: str, sent: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(50 * 2**20))
        self.end_headers()
        for _ in range(50):
            self.wfile.write(b"x" * 2**20)
            self.server.sent_bytes += 2**20

    def on_slow(self, query: str, sent: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b".")
            if self.server.stopping.wait(0.05):
                return

    def on_hang(self, query: str, sent: bytes) -> None:
        self.server.stopping.wait(20)

    def on_drop(self, query: str, sent: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b"ten bytes.")


class Server(ThreadingHTTPServer):
    """Counts what it is asked for; ``url`` ends without a slash."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[str] = Counter()
        self.sent_bytes = 0
        self.stopping = threading.Event()
        packer = zlib.compressobj(9, wbits=31)
        parts = [packer.compress(bytes(2**20)) for _ in range(100)]
        self.bomb = b"".join(parts) + packer.flush()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that hang up are the point


@pytest.fixture(scope="session")
def _running_server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.stopping.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def server(_running_server: Server) -> Server:
    _running_server.asked.clear()
    _running_server.sent_bytes = 0
    return _running_server


Play = Callable[..., list[Any]]


async def _send_all(
    tape: httpx.AsyncBaseTransport, requests: tuple[Any, ...], options: dict[str, Any]
) -> list[Any]:
    policy = options.pop("policy", RequestPolicy())
    inner = options.pop("inner", None)
    found: list[Any] = []
    async with httpx.AsyncClient(transport=tape, timeout=5, **options) as client:
        for item in requests:
            asked = {"url": item} if isinstance(item, str) else dict(item)
            request = client.build_request(
                **{"method": "GET", "extensions": {"hotseat": policy}, **asked}
            )
            try:
                found.append(await client.send(request))
            except Exception as error:
                error.request = request  # type: ignore[attr-defined]
                found.append(error)
    if inner is not None:
        await inner.aclose()
    return found


@pytest.fixture
def play() -> Play:
    """Send requests through a tape, one after the other.

    A request is a URL or the arguments of ``client.build_request``.  Returns
    responses and exceptions; both have ``.request``.
    """

    def call(tape: httpx.AsyncBaseTransport, *requests: Any, **options: Any) -> list[Any]:
        return asyncio.run(_send_all(tape, requests, options))

    return call


@pytest.fixture
def live(play: Play) -> Play:
    """Record through real sockets: ``live(corpus, *requests, refresh=…, policy=…)``."""

    def call(corpus: Corpus, *requests: Any, **options: Any) -> list[Any]:
        inner = httpx.AsyncHTTPTransport()
        names = ("refresh", "clock", "timing")
        chosen = {name: options.pop(name) for name in names if name in options}
        tape = corpus.tape("record", inner=inner, **chosen)
        return play(tape, *requests, inner=inner, **options)

    return call


class Web:
    """A pretended web: a handler that counts, and can be told to fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: Exception | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if self.failure is not None:
            raise self.failure
        if request.url.path.startswith("/fail"):
            raise httpx.ConnectError("no way there")
        text = f"answer {len(self.asked)} to {request.url}"
        return httpx.Response(200, headers={"content-type": "text/plain"}, text=text)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    """An empty working corpus."""
    with Corpus.create(tmp_path / "corpus", name="test") as made:
        yield made


@pytest.fixture
def script() -> Callable[..., subprocess.Popen[str]]:
    """Start a Python script with arguments, its output as text in a pipe."""

    def start(source: str, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
        )

    return start
