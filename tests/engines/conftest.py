"""One small real model and one real llama.cpp server, shared by all engine tests."""

from __future__ import annotations

import importlib.util
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.engines.xllamacpp import LlamaCppEngine

SMOL = "smollm2-135m-instruct-q4_1"


@pytest.fixture(scope="session")
def smol_path(model_folder: Callable[[str], Path]) -> Path:
    return next(model_folder(SMOL).glob("*.gguf"))


@pytest.fixture(scope="session")
def smol(smol_path: Path) -> Iterator[LlamaCppEngine]:
    engine = LlamaCppEngine(smol_path, model=SMOL, model_sha256="0" * 64, threads=1)
    yield engine
    engine.close()


def _load(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"hotseat_engine_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def check_contract() -> Callable[..., None]:
    """The checks that every engine passes: see ``contract.py``."""
    check: Callable[..., None] = _load("contract").check_contract
    return check


@pytest.fixture(scope="session")
def odd() -> ModuleType:
    """The module of servers that misbehave on request: see ``odd_server.py``."""
    return _load("odd_server")


SERVER_KEY = "a-key-of-the-tests"


@pytest.fixture(scope="session")
def llama_address(smol_path: Path) -> Iterator[str]:
    """Address of a real llama.cpp server over the small model, in a process of its own."""
    with run_llama_server(smol_path) as address:
        yield address


@contextmanager
def run_llama_server(model: Path) -> Iterator[str]:
    script = Path(__file__).with_name("llama_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(model), SERVER_KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    watch = threading.Timer(60, process.kill)  # one that never speaks is not waited for
    watch.start()
    try:
        address = process.stdout.readline().strip()
        watch.cancel()
        assert address.startswith("http://"), "the llama.cpp server did not start"
        yield f"{address}/v1"
    finally:
        watch.cancel()
        process.stdin.close()  # which ends it
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture
def server_key(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put the key of the llama.cpp server where the engine looks for it."""
    monkeypatch.setenv("HOTSEAT_SERVER_KEY", SERVER_KEY)
    return SERVER_KEY


@pytest.fixture(scope="session")
def gguf_bytes() -> Callable[[dict[str, Any]], bytes]:
    """A writer of GGUF headers: str, int, list[str] and list[int] values."""

    def text(value: str) -> bytes:
        raw = value.encode()
        return struct.pack("<Q", len(raw)) + raw

    def value(item: Any) -> bytes:
        if isinstance(item, str):
            return struct.pack("<I", 8) + text(item)
        if isinstance(item, int):
            return struct.pack("<IQ", 10, item)
        if item and isinstance(item[0], str):
            return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(text, item))
        return struct.pack("<IIQ", 9, 5, len(item)) + struct.pack(f"<{len(item)}i", *item)

    def write(pairs: dict[str, Any]) -> bytes:
        body = b"".join(text(key) + value(item) for key, item in pairs.items())
        return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body

    return write
