"""A replay over a real corpus: recorded, exported, imported, with sockets forbidden."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from harness.clock import VirtualClock
from harness.corpus import Corpus
from harness.errors import CorpusMissError
from harness.quiz import Answer, Basis, ParseStep
from harness.replay import Request, read_traces, replay
from harness.trace import Code


def url_of(question: Any) -> str:
    return f"http://pages.example/{question.id}"


class Reader:
    """Fetches one page twice and answers with what both said."""

    def describe(self) -> dict[str, Any]:
        return {"engine": "reader"}

    def play(self, question: Any, transport: Any, trace: Any) -> Answer:
        async def fetch() -> str:
            async with httpx.AsyncClient(transport=transport) as client:
                pages = [await client.get(url_of(question)) for _ in range(2)]
                return " ".join(page.text for page in pages)

        try:
            found = asyncio.run(fetch())
        except CorpusMissError:
            trace.degrade("fetch", Code.NOT_RECORDED)
            found = "nothing"
        trace.note(output=found)
        option = question.options[len(found) % len(question.options)]
        return Answer(option, Basis.PASSAGES, ParseStep.TEXT)

    def close(self) -> None:
        pass


@pytest.fixture
def corpus(fakes: ModuleType, tmp_path: Path) -> Path:
    """Every page was served twice, the second time with another text; one never."""
    questions = tmp_path / "q.jsonl"
    lines = fakes.question_lines(2)
    questions.write_text("\n".join(lines))
    served = iter(range(1000))

    def serve(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=f"{request.url.path} {next(served)} é")

    async def record() -> None:
        with Corpus.create(tmp_path / "corpus", name="Real", questions=questions) as corpus:
            inner = httpx.MockTransport(serve)
            for line in lines[:-1]:
                tape = corpus.tape("record", inner=inner, clock=VirtualClock())
                async with httpx.AsyncClient(transport=tape) as client:
                    for _ in range(2):
                        await client.get(f"http://pages.example/{json.loads(line)['id']}")

    asyncio.run(record())
    return tmp_path / "corpus"


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *address: object) -> None:
        raise AssertionError("a replay must not open a connection")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def play(corpus: Path, out: Path, seed: int | None = None) -> str:
    outcome = replay(
        Request(corpus, out=out, shuffle=seed),
        open_corpus=Corpus.open,
        load_contestant=lambda settings: Reader(),
    )
    return outcome.digest


@pytest.mark.usefixtures("no_sockets")
def test_offline_in_any_order_and_after_a_journey_the_digest_is_the_same(
    corpus: Path, tmp_path: Path
):
    digest = play(corpus, tmp_path / "1")
    assert play(corpus, tmp_path / "2", seed=1) == digest
    assert play(corpus, tmp_path / "3", seed=2) == digest
    with Corpus.open(corpus) as opened:
        assert opened.export(tmp_path / "exported").problems == ()
    assert play(tmp_path / "exported", tmp_path / "4") == digest
    Corpus.import_from(tmp_path / "exported", tmp_path / "imported").close()
    assert play(tmp_path / "imported", tmp_path / "5") == digest
    outputs = {
        line["row"]["question_id"]: line["row"]["output"] for line in read_traces(tmp_path / "1")
    }
    assert outputs["news-0"] == "/news-0 0 é /news-0 1 é"
    assert outputs["entertainment-1"] == "nothing"


def test_a_page_that_was_not_recorded_is_a_degradation_not_a_failure(corpus: Path, tmp_path: Path):
    play(corpus, tmp_path / "out")
    rows = {line["row"]["question_id"]: line["row"] for line in read_traces(tmp_path / "out")}
    assert rows["entertainment-1"]["status"] == "answered"
    assert rows["entertainment-1"]["degradations"] == ["not_recorded"]
    assert rows["news-0"]["degradations"] == []
