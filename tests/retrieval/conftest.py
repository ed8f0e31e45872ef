"""A tiny deterministic encoder for the logic, and the real one where it can be had."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness.evidence import Document
from harness.retrieval import Encoding, pair_reranker
from harness.retrieval.calibration import PAIRS, Calibration
from harness.retrieval.onnx_encoder import OnnxEncoder

WIDTH = 64
ENCODER = "minilm-l6-v2-int8"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip aloud what needs the extra ``torch`` where it isn't installed."""
    if item.get_closest_marker("torch") and not importlib.util.find_spec("sentence_transformers"):
        pytest.skip("needs sentence-transformers: pip install -e '.[torch]', then pytest -m torch")


class HashingEncoder:
    """Turns each word into a fixed random direction; remembers what it was asked."""

    def __init__(self) -> None:
        self.history: list[list[str]] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "hashing"}

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        self.history.append(list(texts))
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Encoding:
        words = re.findall(r"\w+", text.casefold())
        rows = np.array([_direction(word) for word in words], dtype=np.float32)
        rows = rows.reshape(len(words), WIDTH)
        pooled = rows.sum(axis=0) if words else _direction("")
        length = float(np.linalg.norm(pooled))
        return Encoding((pooled / max(length, 1e-9)).astype(np.float32), rows)


def _direction(word: str) -> np.ndarray[Any, Any]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    row = np.random.default_rng(seed).normal(size=WIDTH)
    return (row / np.linalg.norm(row)).astype(np.float32)


@pytest.fixture
def hashing_encoder() -> HashingEncoder:
    return HashingEncoder()


@pytest.fixture
def count_words() -> Callable[[str], int]:
    return lambda text: len(text.split())


@pytest.fixture
def document() -> Callable[..., Document]:
    def make(text: str, url: str = "https://a.example/1", **rest: Any) -> Document:
        return Document(url, rest.pop("title", "A title"), text, rest.pop("origin", "page"), **rest)

    return make


@pytest.fixture(scope="session")
def encoder_folder(model_folder: Callable[[str], Path]) -> Path:
    return model_folder(ENCODER)


@pytest.fixture(scope="session")
def real_encoder(encoder_folder: Path) -> OnnxEncoder:
    return OnnxEncoder(encoder_folder, name=ENCODER, cache_bytes=0)


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """Return the module that writes small models."""
    path = Path(__file__).parent / "tiny_models.py"
    spec = importlib.util.spec_from_file_location("hotseat_tiny_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def words() -> list[str]:
    """Return the words of the built-in pairs."""
    texts = (" ".join([pair.question, *pair.options, pair.passage]) for pair in PAIRS)
    return sorted(set(re.findall(r"[a-z]+", " ".join(texts).lower())))


@pytest.fixture
def any_scale(monkeypatch: pytest.MonkeyPatch) -> Calibration:
    """Let every model pass as a reranker: a random one can't tell passages apart."""
    found = Calibration(noise=-1.0, related=3.0, floor=1.0, told_apart=12, questions=12)
    monkeypatch.setattr(pair_reranker, "calibrate", lambda score, joined=False: found)
    return found
