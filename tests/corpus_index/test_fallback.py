"""A replay's tape with the index behind it, up to whole replays of the shipped sample."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.contestant.research import search_documents
from harness.corpus import Corpus, RequestPolicy
from harness.corpus_index import CorpusIndex, CorpusSearch
from harness.errors import BadInputError, CorpusMissError
from harness.quiz import Answer, Basis, ParseStep
from harness.replay import Request, read_manifest, read_traces, replay, sample_path
from harness.report._words import degradation_words
from harness.settings import FetchSettings, SearchSettings, Settings
from harness.trace import Code, Trace
from harness.web.fetch import fetch_page
from harness.web.searxng import search

SEARXNG = RequestPolicy(provider="searxng")
ADDRESS = "http://searx.example/search"


def ask(transport: httpx.AsyncBaseTransport, policy: RequestPolicy, **request: Any) -> Any:
    async def go() -> tuple[httpx.Request, httpx.Response]:
        asked = httpx.Request(extensions={"hotseat": policy}, **request)
        response = await transport.handle_async_request(asked)
        await response.aread()
        return asked, response

    return asyncio.run(go())


@pytest.fixture
def desk(record, towns, encoder):
    with Corpus.open(record(towns)) as corpus:
        index = CorpusIndex.open(corpus, encoder)
        index.update()
        service = CorpusSearch(index, results=2)
        yield lambda: service.over(corpus.tape("replay"))
        service.close()


def test_a_missing_search_gets_an_answer_like_the_providers_own(desk):
    asked, response = ask(
        desk(),
        SEARXNG,
        method="GET",
        url=ADDRESS,
        params={"q": "lighthouse Anvera", "format": "json", "pageno": "1"},
    )
    assert response.extensions["hotseat_source"] == "corpus"
    assert response.headers["content-type"] == "application/json"
    reply = response.json()
    assert reply["query"] == "lighthouse Anvera"
    assert set(reply) == {
        "query", "results", "answers", "corrections", "infoboxes", "suggestions",
        "unresponsive_engines",
    }  # fmt: skip
    first = reply["results"][0]
    assert first["url"] == "http://a.example/anvera"
    assert first["parsed_url"] == ["http", "a.example", "/anvera", "", "", ""]
    assert {"title", "content", "engine", "engines", "category", "publishedDate"} <= set(first)
    assert len(reply["results"]) == 2
    outcome = asked.extensions["hotseat_outcome"]
    assert not outcome.recorded
    assert outcome.elapsed_s > 0


def test_pages_of_results_and_posted_forms(desk):
    def found(page: str, **more: Any) -> list[str]:
        fields = {"q": "lighthouse town", "format": "json", "pageno": page}
        _, response = ask(desk(), SEARXNG, url=ADDRESS, **more or {"method": "GET"}, params=fields)
        return [result["url"] for result in response.json()["results"]]

    assert len({*found("1"), *found("2")}) == 4
    assert found("50") == []
    form = {"q": "lighthouse town", "format": "json"}
    _, response = ask(desk(), SEARXNG, method="POST", url=ADDRESS, data=form)
    assert [result["url"] for result in response.json()["results"]] == found("1")


def test_pages_and_other_services_stay_misses(desk):
    with pytest.raises(CorpusMissError):
        ask(desk(), RequestPolicy(), method="GET", url="http://a.example/unknown")
    with pytest.raises(CorpusMissError):  # never named by a search of this question
        ask(
            desk(),
            RequestPolicy(),
            method="GET",
            url="http://a.example/anvera",
            headers={"Accept-Language": "fr"},
        )
    with pytest.raises(CorpusMissError):
        ask(desk(), RequestPolicy(provider="bing"), method="GET", url=ADDRESS, params={"q": "x"})
    with pytest.raises(CorpusMissError):
        ask(desk(), SEARXNG, method="GET", url=ADDRESS, params={"q": "x", "format": "html"})


def test_a_page_named_by_a_search_is_replayed_in_the_language_it_was_recorded_in(desk):
    async def research(transport: httpx.AsyncBaseTransport) -> Any:
        settings = SearchSettings(language="it-IT")
        outcome = await search(transport, "broad", "lighthouse Anvera", settings)
        page = await fetch_page(
            transport, outcome.hits[0].url, FetchSettings(), language="it-IT", blocked={}
        )
        return outcome, page

    outcome, page = asyncio.run(research(desk()))
    assert outcome.from_index
    assert not outcome.recorded
    assert page.failure is None
    assert page.recorded
    assert b"Orla" in page.body


def test_two_searches_at_once(desk):
    async def both(transport: httpx.AsyncBaseTransport) -> Any:
        jobs = [
            search(transport, name, "lighthouse Anvera", SearchSettings())
            for name in ("broad", "trusted")
        ]
        return await asyncio.gather(*jobs)

    one, two = asyncio.run(both(desk()))
    assert one.hits
    assert [hit.url for hit in one.hits] == [hit.url for hit in two.hits]


def test_the_report_has_words_for_it():
    assert "recorded pages" in degradation_words(Code.SEARCHED_CORPUS.value)


class Researcher:
    """Researches each question and answers by a hash of all that it read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def describe(self) -> dict[str, Any]:
        return {"engine": "researcher"}

    def play(self, question: Any, transport: Any, trace: Trace) -> Answer:
        evidence = search_documents(
            question.text,
            question.category,
            settings=self.settings,
            transport=transport,
            trace=trace,
        )
        read = json.dumps([[item.url, item.origin, item.text] for item in evidence.documents])
        digest = hashlib.sha256(read.encode()).hexdigest()
        trace.note(output=digest)
        option = question.options[int(digest, 16) % len(question.options)]
        return Answer(option, Basis.PASSAGES, ParseStep.TEXT)

    def close(self) -> None:
        pass


def run(out: Path, on_miss: str, *, encoder: Any = None, seed: int | None = None, **sets: Any):
    def fallback(corpus: Any, settings: Settings) -> CorpusSearch:
        index = CorpusIndex.open(corpus, encoder)
        index.update()
        return CorpusSearch(index, results=settings.search.results)

    return replay(
        Request(
            sample_path(),
            limit=8,
            out=out,
            shuffle=seed,
            on_miss=on_miss,  # type: ignore[arg-type]
            assignments={name.replace("__", "."): value for name, value in sets.items()},
        ),
        open_corpus=Corpus.open,
        load_contestant=Researcher,
        open_fallback=fallback,
    )


def test_with_everything_recorded_the_policy_changes_nothing(tmp_path):
    fails, searches = run(tmp_path / "1", "fail"), run(tmp_path / "2", "corpus")
    assert fails.digest == searches.digest
    assert read_manifest(tmp_path / "1")["on_miss"] is None
    assert read_manifest(tmp_path / "2")["on_miss"] == {
        "policy": "corpus",
        "format": "hotseat-search/1",
        "encoder": None,
    }


def check_changed_language(tmp_path: Path, encoder: Any) -> None:
    changed = {"search__language": "it-IT"}
    fails = run(tmp_path / "fail", "fail", **changed)
    assert all("not_recorded" in row["degradations"] for row in fails.rows)
    assert all(row["documents"] == 0 for row in fails.rows)
    first = run(tmp_path / "1", "corpus", encoder=encoder, **changed)
    assert all("searched_corpus" in row["degradations"] for row in first.rows)
    assert not any("not_recorded" in row["degradations"] for row in first.rows)
    assert not any(row["t_network_live_s"] for row in first.rows)
    assert all(row["documents"] > 0 and row["t_lookup_s"] > 0 for row in first.rows)
    for line in read_traces(tmp_path / "1"):
        facts = line["trace"]["facts"]
        assert all(search["from_index"] for search in facts["searches"])
        assert any(page["origin"] == "page" for page in facts["pages"])
    again = run(tmp_path / "2", "corpus", encoder=encoder, seed=3, **changed)
    assert again.digest == first.digest


def test_a_changed_language_is_answered_from_the_recorded_pages(tmp_path, encoder):
    check_changed_language(tmp_path, encoder)


def test_with_the_real_encoder(tmp_path, real_models):
    from harness.retrieval import load_encoder

    real_models("minilm-l6-v2-int8")
    check_changed_language(tmp_path, load_encoder("minilm-l6-v2-int8"))


def test_a_run_is_not_resumed_with_another_policy(tmp_path):
    with pytest.raises(ZeroDivisionError):
        replay(
            Request(sample_path(), limit=2, out=tmp_path / "run"),
            open_corpus=Corpus.open,
            load_contestant=Researcher,
            listener=Stops(),
        )
    with pytest.raises(BadInputError, match="on_miss"):
        run(tmp_path / "run", "corpus")
    assert Request.of_run(tmp_path / "run").on_miss == "fail"


class Stops:
    """A listener under whom a run ends before it is finished."""

    def __getattr__(self, name: str) -> Any:
        def hear(*args: Any) -> None:
            if name == "progress":
                raise ZeroDivisionError

        return hear
