"""Recording through real sockets from a server without manners."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import httpx
import pytest

from harness.corpus import Corpus, RequestPolicy


def outcome(answer: Any) -> Any:
    return answer.request.extensions["hotseat_outcome"]


def test_a_page_is_stored_after_decoding(corpus: Corpus, server: Any, live: Any, play: Any) -> None:
    urls = [f"{server.url}/{name}" for name in ("gzip", "deflate", "missing", "page?q=1")]
    recorded = live(corpus, *urls)
    assert [one.text for one in recorded[:3]] == ["first second", "bare deflate", "nothing here"]
    assert [one.status_code for one in recorded] == [200, 200, 404, 200]
    assert all("content-encoding" not in one.headers for one in recorded)
    assert all(outcome(one).elapsed_s > 0 for one in recorded)
    replayed = play(corpus.tape("replay"), *urls)
    assert [one.content for one in replayed] == [one.content for one in recorded]
    assert [one.headers for one in replayed] == [one.headers for one in recorded]


def test_a_server_that_sends_a_byte_now_and_then_is_cut_off(
    corpus: Corpus, server: Any, live: Any, play: Any
) -> None:
    policy = RequestPolicy(total_s=0.3)
    started = time.perf_counter()
    urls = [f"{server.url}/slow", f"{server.url}/hang"]
    recorded = live(corpus, *urls, policy=policy)
    assert time.perf_counter() - started < 2
    for one in recorded:
        assert isinstance(one, httpx.ReadTimeout)
        assert str(one) == "no complete answer within 0.3 s"
        assert 0.3 <= outcome(one).elapsed_s < 1
    started = time.perf_counter()
    replayed = play(corpus.tape("replay"), *urls, policy=policy)
    assert time.perf_counter() - started < 0.3
    assert [type(one) for one in replayed] == [httpx.ReadTimeout] * 2
    assert [outcome(one).elapsed_s for one in replayed] == [
        outcome(one).elapsed_s for one in recorded
    ]


def test_a_large_page_is_cut_without_being_read(
    corpus: Corpus, server: Any, live: Any, play: Any
) -> None:
    policy = RequestPolicy(max_bytes=100_000)
    (recorded,) = live(corpus, f"{server.url}/big", policy=policy)
    assert recorded.content == b"x" * 100_000
    assert outcome(recorded).truncated
    assert server.sent_bytes < 20 * 2**20
    (replayed,) = play(corpus.tape("replay"), f"{server.url}/big", policy=policy)
    assert replayed.content == recorded.content
    assert outcome(replayed).truncated


def test_a_bomb_does_not_go_off(corpus: Corpus, server: Any, live: Any) -> None:
    assert len(server.bomb) < 2**20
    tracemalloc.start()
    (recorded,) = live(corpus, f"{server.url}/bomb", policy=RequestPolicy(max_bytes=2**20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert recorded.content == bytes(2**20)
    assert outcome(recorded).truncated
    assert peak < 16 * 2**20


@pytest.mark.parametrize("extra", [0, 1])
def test_a_page_of_exactly_the_limit_is_whole(
    corpus: Corpus, server: Any, live: Any, extra: int
) -> None:
    whole = len(b"nothing here")
    policy = RequestPolicy(max_bytes=whole - extra)
    (recorded,) = live(corpus, f"{server.url}/missing", policy=policy)
    assert outcome(recorded).truncated == bool(extra)
    assert len(recorded.content) == whole - extra


def test_failures_of_all_kinds_are_repeated(
    corpus: Corpus, server: Any, live: Any, play: Any
) -> None:
    kinds = {
        f"{server.url}/drop": httpx.RemoteProtocolError,
        "http://127.0.0.1:1/": httpx.ConnectError,
        f"{server.url.replace('http', 'https')}/": httpx.ConnectError,
        f"{server.url}/lies": httpx.DecodingError,
        f"{server.url}/brotli": httpx.DecodingError,
        "ftp://127.0.0.1/": httpx.UnsupportedProtocol,
    }
    recorded = live(corpus, *kinds)
    assert [type(one) for one in recorded] == list(kinds.values())
    replayed = play(corpus.tape("replay"), *kinds)
    assert [type(one) for one in replayed] == list(kinds.values())
    assert [str(one) for one in replayed] == [str(one) for one in recorded]
    assert all(outcome(one).recorded for one in replayed)
    assert corpus.info().failures == len(kinds)


def test_a_client_that_is_told_to_hurry_is_not_in_charge(corpus: Corpus, server: Any) -> None:
    """The policy's total is the only clock; httpx's per-read time-out would win by luck."""
    import asyncio

    async def run() -> Any:
        async with httpx.AsyncHTTPTransport() as inner:
            tape = corpus.tape("record", inner=inner)
            async with httpx.AsyncClient(transport=tape, timeout=0.1) as client:
                extensions = {"hotseat": RequestPolicy(total_s=0.4)}
                with pytest.raises(httpx.ReadTimeout) as caught:
                    await client.get(f"{server.url}/hang", extensions=extensions)
                return caught.value.request.extensions["hotseat_outcome"]

    assert asyncio.run(run()).elapsed_s >= 0.4


def test_a_server_that_recovers(corpus: Corpus, server: Any, live: Any) -> None:
    (first,) = live(corpus, f"{server.url}/flaky")
    (second,) = live(corpus, f"{server.url}/flaky", refresh="failed")
    assert [first.status_code, second.status_code] == [503, 200]
