"""Record and replay over a pretended web: ordinals, refreshing, outcomes, misses."""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.clock import VirtualClock
from harness.corpus import Corpus, Outcome, RequestPolicy, live_tape, request_key
from harness.corpus._body import body_sha256, pack
from harness.errors import CorpusDamagedError, CorpusError, CorpusMissError

URL = "https://e.org/a"


def outcome(answer: Any) -> Outcome:
    found = answer.request.extensions["hotseat_outcome"]
    assert isinstance(found, Outcome)
    return found


def texts(answers: list[Any]) -> list[str]:
    return [getattr(answer, "text", type(answer).__name__) for answer in answers]


def test_what_was_recorded_is_replayed_without_a_network(
    corpus: Corpus, web: Any, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [
        f"{URL}?b=1&a=2",
        {"method": "POST", "url": URL, "content": b"body"},
        {"url": URL, "headers": {"accept-language": "it"}},
        "https://e.org/fail",
    ]
    recorded = play(corpus.tape("record", inner=web.transport), *requests)
    assert len(web.asked) == 4

    def refuse(*args: object) -> None:
        raise AssertionError("a replay touched the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    requests[0] = "https://E.org:443/a?a=2&b=1#part"
    replayed = play(corpus.tape("replay"), *requests)
    assert texts(replayed) == texts(recorded)
    assert [type(one) for one in replayed] == [httpx.Response] * 3 + [httpx.ConnectError]
    assert str(replayed[3]) == "no way there"
    for old, new in zip(recorded[:3], replayed[:3], strict=True):
        assert (old.status_code, old.headers) == (new.status_code, new.headers)
    for old, new in zip(recorded, replayed, strict=True):
        assert not outcome(old).recorded
        assert outcome(new).recorded
        assert outcome(new).elapsed_s == outcome(old).elapsed_s
        assert outcome(new).fetched_at == outcome(old).fetched_at
        assert outcome(new).key == outcome(old).key
    assert outcome(replayed[3]).failure == "ConnectError"
    assert len(web.asked) == 4


def test_identical_requests_replay_in_order_within_a_tape(
    corpus: Corpus, web: Any, play: Any
) -> None:
    recorded = texts(play(corpus.tape("record", inner=web.transport), URL, URL, URL))
    assert len(set(recorded)) == 3
    replayed = play(corpus.tape("replay"), *[URL] * 5)
    assert texts(replayed) == [*recorded, recorded[-1], recorded[-1]]
    assert [outcome(one).ordinal for one in replayed] == [0, 1, 2, 2, 2]
    assert texts(play(corpus.tape("replay"), URL)) == recorded[:1]


def test_another_question_reuses_what_is_stored_and_fetches_the_rest(
    corpus: Corpus, web: Any, play: Any
) -> None:
    play(corpus.tape("record", inner=web.transport), URL)
    again = play(corpus.tape("record", inner=web.transport), URL, URL)
    assert [outcome(one).recorded for one in again] == [True, False]
    assert texts(again)[0].startswith("answer 1")
    assert texts(again)[1].startswith("answer 2")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_the_order_of_questions_does_not_matter(
    questions: list[list[str]], dice: random.Random
) -> None:
    """Each question sees the same web, whoever came before it."""

    async def ask(tape: httpx.AsyncBaseTransport, names: list[str]) -> list[str]:
        async with httpx.AsyncClient(transport=tape) as client:
            return [(await client.get(f"https://e.org/{name}")).text for name in names]

    asked = [0]

    def answer(request: httpx.Request) -> httpx.Response:
        asked[0] += 1
        return httpx.Response(200, text=f"{asked[0]} {request.url}")

    inner = httpx.MockTransport(answer)
    with (
        tempfile.TemporaryDirectory() as folder,
        Corpus.create(Path(folder) / "c", name="t") as corpus,
    ):
        for names in questions:
            asyncio.run(ask(corpus.tape("record", inner=inner), names))
        first = [asyncio.run(ask(corpus.tape("replay"), names)) for names in questions]
        order = list(range(len(questions)))
        dice.shuffle(order)
        second = {i: asyncio.run(ask(corpus.tape("replay"), questions[i])) for i in order}
        assert [second[i] for i in range(len(questions))] == first


def test_failures_are_fetched_again_when_asked(corpus: Corpus, web: Any, play: Any) -> None:
    web.failure = httpx.ReadTimeout("late")
    play(corpus.tape("record", inner=web.transport), URL)
    play(corpus.tape("record", inner=web.transport), "https://e.org/b")
    web.failure = None
    kept = play(corpus.tape("record", inner=web.transport), URL)
    assert texts(kept) == ["ReadTimeout"]
    fresh = play(corpus.tape("record", inner=web.transport, refresh="failed"), URL)
    assert texts(fresh) == [f"answer 3 to {URL}"]
    assert texts(play(corpus.tape("replay"), URL, "https://e.org/b")) == [
        f"answer 3 to {URL}",
        "ReadTimeout",
    ]
    before = len(web.asked)
    play(corpus.tape("record", inner=web.transport, refresh="failed"), URL)
    assert len(web.asked) == before


def test_all_is_fetched_again_when_asked(corpus: Corpus, web: Any, play: Any) -> None:
    play(corpus.tape("record", inner=web.transport), URL, URL)
    play(corpus.tape("record", inner=web.transport, refresh="all"), URL)
    assert texts(play(corpus.tape("replay"), URL, URL)) == [
        f"answer 3 to {URL}",
        f"answer 2 to {URL}",
    ]


def test_answers_429_and_5xx_count_as_failures(corpus: Corpus, play: Any) -> None:
    codes = iter([429, 404, 503, 200, 200])
    inner = httpx.MockTransport(lambda request: httpx.Response(next(codes)))
    urls = [f"https://e.org/{number}" for number in range(3)]
    play(corpus.tape("record", inner=inner), *urls)
    play(corpus.tape("record", inner=inner, refresh="failed"), *urls)
    replayed = play(corpus.tape("replay"), *urls)
    assert [one.status_code for one in replayed] == [200, 404, 200]


def test_the_old_entry_stays_until_the_new_one_is_complete(
    corpus: Corpus, web: Any, play: Any
) -> None:
    play(corpus.tape("record", inner=web.transport), URL)
    digest = corpus.digest()

    async def interrupted() -> None:
        async def never(request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(60)
            raise AssertionError

        tape = corpus.tape("record", inner=httpx.MockTransport(never), refresh="all")
        async with httpx.AsyncClient(transport=tape) as client:
            task = asyncio.create_task(client.get(URL))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(interrupted())
    assert corpus.digest() == digest


def test_a_cancelled_request_leaves_no_trace(corpus: Corpus, play: Any) -> None:
    started = 0

    async def slow_first(request: httpx.Request) -> httpx.Response:
        nonlocal started
        started += 1
        if started == 1:
            await asyncio.sleep(60)
        return httpx.Response(200, text=f"try {started}")

    async def run() -> httpx.Request:
        tape = corpus.tape("record", inner=httpx.MockTransport(slow_first))
        async with httpx.AsyncClient(transport=tape) as client:
            request = client.build_request("GET", URL)
            task = asyncio.create_task(client.send(request))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert list(corpus.entries()) == []
            answer = await client.get(URL)
            assert outcome(answer).ordinal == 0
        return request

    request = asyncio.run(run())
    assert "hotseat_outcome" not in request.extensions
    assert texts(play(corpus.tape("replay"), URL)) == ["try 2"]


def test_a_gap_left_by_a_cancellation_is_bridged(corpus: Corpus, play: Any) -> None:
    """The first of two identical requests is cancelled while the second is under way."""

    async def first_hangs(request: httpx.Request) -> httpx.Response:
        if "first" in request.headers:
            await asyncio.sleep(60)
        await asyncio.sleep(0.02)
        return httpx.Response(200, text="second")

    async def run() -> None:
        tape = corpus.tape("record", inner=httpx.MockTransport(first_hangs))
        async with httpx.AsyncClient(transport=tape) as client:
            first = asyncio.create_task(client.get(URL, headers={"first": "1"}))
            second = asyncio.create_task(client.get(URL))
            await asyncio.sleep(0.01)
            first.cancel()
            await second

    asyncio.run(run())
    assert texts(play(corpus.tape("replay"), URL)) == ["second"]


def test_what_another_tape_stored_meanwhile_wins(corpus: Corpus, play: Any) -> None:
    """What a recording answers is what its replay will answer."""

    async def run() -> list[str]:
        async def slow(request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(float(request.headers["delay"]))
            return httpx.Response(200, text=f"after {request.headers['delay']}")

        inner = httpx.MockTransport(slow)

        async def one(delay: str) -> str:
            async with httpx.AsyncClient(transport=corpus.tape("record", inner=inner)) as client:
                return (await client.get(URL, headers={"delay": delay})).text

        return await asyncio.gather(one("0.03"), one("0.001"))

    assert asyncio.run(run()) == ["after 0.001", "after 0.001"]


def test_a_miss_says_what_differs(corpus: Corpus, web: Any, play: Any) -> None:
    search = {"url": "http://h/search?q=rome&language=en", "headers": {"accept-language": "en"}}
    policy = RequestPolicy(provider="searxng")
    play(corpus.tape("record", inner=web.transport), search, policy=policy)
    play(corpus.tape("record", inner=web.transport), URL, {"method": "POST", "url": URL})
    asked = len(web.asked)
    other = {**search, "url": "http://elsewhere/search?language=en&q=roma&key=s3cr3t"}
    (miss,) = play(corpus.tape("replay"), other, policy=policy)
    assert isinstance(miss, CorpusMissError)
    assert miss.difference == "query parameter 'q'"
    assert miss.nearest == "GET searxng:/search?language=en&q=rome (Accept-Language en)"
    assert "s3cr3t" not in str(miss)
    assert outcome(miss).failure == "CorpusMissError"
    assert outcome(miss).fetched_at is None
    requests = {
        "Accept-Language": {"url": URL, "headers": {"accept-language": "it"}},
        "path": "https://e.org/b",
        "host": "https://other.org/a",
        "scheme": "http://e.org/a",
        "method": {"method": "PUT", "url": URL},
        "body": {"method": "POST", "url": URL, "content": b"x"},
        "query parameter 'x'": f"{URL}?x=1",
        "": "https://nowhere.org/nothing",
    }
    misses = play(corpus.tape("replay"), *requests.values())
    assert [miss.difference for miss in misses] == list(requests)
    assert misses[-1].nearest is None
    assert len(web.asked) == asked


def test_a_damaged_answer_is_refused_and_recording_heals_it(
    corpus: Corpus, web: Any, play: Any
) -> None:
    play(corpus.tape("record", inner=web.transport), URL, "https://e.org/b")
    good = pack(f"answer 1 to {URL}".encode())
    corpus._store._cache.set(
        f"body:{body_sha256(f'answer 1 to {URL}'.encode())}", good[:-1] + bytes([good[-1] ^ 1])
    )
    damaged, fine = play(corpus.tape("replay"), URL, "https://e.org/b")
    assert isinstance(damaged, CorpusDamagedError)
    assert outcome(damaged).failure == "CorpusDamagedError"
    assert fine.status_code == 200
    assert [problem.where[:4] for problem in corpus.verify()] == ["body"]
    healed = play(corpus.tape("record", inner=web.transport), URL)
    assert texts(healed) == [f"answer 3 to {URL}"]
    assert texts(play(corpus.tape("replay"), URL)) == [f"answer 3 to {URL}"]


def test_a_damaged_entry_is_healed_too(corpus: Corpus, web: Any, play: Any) -> None:
    play(corpus.tape("record", inner=web.transport), URL)
    key = request_key("GET", URL, {}, None).sha256
    intact = corpus.digest()
    corpus._store._cache.set(f"entry:{key}:0", b"sha256:nonsense\n{}")
    assert corpus.digest() != intact
    assert isinstance(play(corpus.tape("replay"), URL)[0], CorpusDamagedError)
    assert len(corpus.verify()) == 1
    play(corpus.tape("record", inner=web.transport), URL)
    assert corpus.verify() == []


def test_live_stores_nothing_but_tells_the_same(web: Any, play: Any) -> None:
    answer, failure = play(live_tape(web.transport), URL, "https://e.org/fail")
    assert answer.text == f"answer 1 to {URL}"
    assert not outcome(answer).recorded
    assert outcome(answer).key == request_key("GET", URL, {}, None).sha256
    assert outcome(failure).failure == "ConnectError"
    (cut,) = play(live_tape(web.transport), URL, policy=RequestPolicy(max_bytes=4))
    assert cut.text == "answ"
    assert outcome(cut).truncated


def test_declared_times_make_a_recording_reproducible(tmp_path: Path, play: Any) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/late":
            raise httpx.ConnectTimeout("after 3.1415 s on port 4711")
        if request.url.path == "/dead":
            raise httpx.ConnectError("[Errno 111] on port 4711")
        headers = {"server-timing": 'engine;dur=9, total;dur=812.5;desc="all"'}
        return httpx.Response(200, headers=headers if request.url.path == "/told" else {})

    digests = []
    for name in ("one", "two"):
        with Corpus.create(tmp_path / name, name="t", clock=VirtualClock()) as corpus:
            tape = corpus.tape(
                "record",
                inner=httpx.MockTransport(answer),
                clock=VirtualClock(),
                timing="declared",
            )
            urls = [f"https://e.org/{path}" for path in ("told", "untold", "late", "dead")]
            found = play(tape, *urls, policy=RequestPolicy(total_s=4.5))
            assert [outcome(one).elapsed_s for one in found] == [0.8125, 0.0, 4.5, 0.0]
            assert {outcome(one).fetched_at for one in found} == {"2026-01-01T00:00:00.000000Z"}
            corpus.export(tmp_path / f"{name}.out")
            digests.append(corpus.digest())
    assert digests[0] == digests[1]
    files = [sorted((tmp_path / f"{name}.out").iterdir()) for name in ("one", "two")]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_headers_are_stored_in_printable_ascii(corpus: Corpus, play: Any) -> None:
    raw = [
        (b"content-type", b"text/html;\tcharset=utf-8"),
        (b"Location", "/caf\u00e9?q=\u00fc".encode()),
        (b"Set-Cookie", b"session=1"),
        (b"Date", b"now"),
    ]
    inner = httpx.MockTransport(lambda request: httpx.Response(200, headers=raw))
    play(corpus.tape("record", inner=inner), URL)
    (entry,) = corpus.entries()
    assert entry.headers == (
        ("content-type", "text/html; charset=utf-8"),
        ("location", "/caf%C3%A9?q=%C3%BC"),
    )


def test_a_packed_body_that_ends_early_counts_as_cut(corpus: Corpus, play: Any) -> None:
    packed = gzip.compress(b"a page " * 1000)[:-10]
    inner = httpx.MockTransport(
        lambda request: httpx.Response(
            200, stream=httpx.ByteStream(packed), headers={"content-encoding": "gzip"}
        )
    )
    (answer,) = play(corpus.tape("record", inner=inner), URL)
    assert outcome(answer).truncated
    assert answer.text.startswith("a page a page")


def test_a_recording_needs_a_transport_and_a_writable_corpus(corpus: Corpus, web: Any) -> None:
    with pytest.raises(ValueError, match="transport"):
        corpus.tape("record")
    with (
        Corpus.open(corpus.path, read_only=True) as closed,
        pytest.raises(CorpusError, match="read-only"),
    ):
        closed.tape("record", inner=web.transport)


def test_errors_that_are_not_the_webs_pass_through_unrecorded(corpus: Corpus, play: Any) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise CorpusError("not this one")

    (error,) = play(corpus.tape("record", inner=httpx.MockTransport(refuse)), URL)
    assert isinstance(error, CorpusError)
    assert list(corpus.entries()) == []
