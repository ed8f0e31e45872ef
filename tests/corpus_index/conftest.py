"""Corpora made of a few pages, and an encoder that needs no weights."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from harness.clock import VirtualClock
from harness.corpus import Corpus, RequestPolicy
from harness.retrieval import Encoding


class HashEncoder:
    """A bag of words, each word in one of 48 dimensions; ``asked`` counts texts."""

    def __init__(self, name: str = "hash") -> None:
        self.name = name
        self.asked = 0

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    def encode(self, texts: Any) -> list[Encoding]:
        self.asked += len(texts)
        return [Encoding(self._vector(text), np.empty((0, 48), np.float32)) for text in texts]

    def _vector(self, text: str) -> Any:
        vector = np.zeros(48, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(f"{self.name} {word}".encode()).digest()
            vector[digest[0] % 48] += 1 + digest[1] / 256
        return vector / max(1e-9, float(np.linalg.norm(vector)))


Page = str | tuple[str, bytes | str] | int
Record = Callable[..., Path]


def respond(page: Page) -> httpx.Response:
    if isinstance(page, int):
        return httpx.Response(
            page, text="an error page, long enough to be a page of text by itself"
        )
    kind, body = page if isinstance(page, tuple) else ("text/plain; charset=utf-8", page)
    content = body.encode() if isinstance(body, str) else body
    return httpx.Response(200, headers={"content-type": kind}, content=content)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a function that records pages by address into a corpus, made where it is not there."""

    def go(
        pages: Mapping[str, Page],
        *,
        name: str = "corpus",
        language: str = "en-US",
        provider: str = "page",
        refresh: str = "missing",
    ) -> Path:
        folder = tmp_path / name

        async def work(corpus: Corpus) -> None:
            inner = httpx.MockTransport(lambda request: respond(pages[str(request.url)]))
            for url in pages:
                tape = corpus.tape(
                    "record",
                    inner=inner,
                    refresh=refresh,
                    clock=VirtualClock(),  # type: ignore[arg-type]
                )
                async with httpx.AsyncClient(transport=tape) as client:
                    policy = RequestPolicy(provider=provider)
                    await client.get(
                        url,
                        headers={"Accept-Language": language},
                        extensions={"hotseat": policy},
                    )

        made = Corpus.open(folder) if folder.exists() else Corpus.create(folder, name=name)
        with made:
            asyncio.run(work(made))
        return folder

    return go


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()


@pytest.fixture
def other_encoder() -> HashEncoder:
    return HashEncoder("another")


TOWNS = {
    "http://a.example/anvera": "Anvera is a town. The lighthouse was built in 1612 by Orla.",
    "http://a.example/calder": "Port Calder keeps a market every winter; the ferry leaves at nine.",
    "http://b.example/voss": "Saint Voss has a monastery, a lighthouse and eleven bridges.",
    "http://b.example/low": "Low Ferry lies upstream. Nobody has ever built a lighthouse there.",
}


@pytest.fixture
def towns() -> dict[str, str]:
    return dict(TOWNS)
