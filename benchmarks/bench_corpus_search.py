"""Search over 10,000 recorded pages, and what 100 new ones cost.

python benchmarks/bench_corpus_search.py [--quick] [--data FOLDER]
pytest benchmarks/bench_corpus_search.py

Pages are made of the shipped sample's sentences, a few topics each, with
numbers and names of their own; with --data also of the paragraphs in
FOLDER/hotpotqa/corpus.json.  The vectors of the many are random unit vectors:
they take as long to compare as any.  The query's own encoding and that of the
new pages are measured with the real encoder where its weights are.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from harness.clock import VirtualClock
from harness.corpus import Corpus
from harness.corpus_index import CorpusIndex, Updated
from harness.corpus_index._terms import query_terms, terms
from harness.corpus_index._vectors import PASSAGES, passages
from harness.errors import ModelMissingError
from harness.question_file import load_questions
from harness.replay import sample_path
from harness.retrieval import Encoder, Encoding, load_encoder
from harness.settings import Settings
from harness.web.query import build_query

PAGES, QUICK_PAGES, NEW, ROUNDS = 10_000, 1_000, 100, 3
DIMENSIONS = 384
HTML = "<html lang='en'><head><title>{0}</title></head><body><main><article><h1>{0}</h1>{1}</article></main></body></html>"  # noqa: E501


class RandomEncoder:
    """A unit vector for each text, random but for the text itself."""

    def describe(self) -> dict[str, Any]:
        return {"name": "random unit vectors", "dimensions": DIMENSIONS}

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        return [
            Encoding(self._vector(text), np.empty((0, DIMENSIONS), np.float32)) for text in texts
        ]

    def _vector(self, text: str) -> Any:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def topics(data: Path | None) -> list[list[str]]:
    """Return sentences by the page they come from."""
    with Corpus.open(sample_path()) as corpus, CorpusIndex.open(corpus) as index:
        index.update()
        rows = index._database.connection.execute("SELECT text FROM pages ORDER BY url").fetchall()
        texts = [str(row[0]) for row in rows]
    if data is not None:
        paragraphs = json.loads((data / "hotpotqa" / "corpus.json").read_text(encoding="utf-8"))
        texts += ["".join(sentences) for sentences in paragraphs.values()]
    split = [re.split(r"(?<=[.!?])\s+|\n+", text) for text in texts]
    return [sentences for sentences in split if len(sentences) > 1]


def pages(
    found: Sequence[Sequence[str]], start: int, number: int
) -> Iterator[tuple[str, str, str]]:
    """Yield address, title and text of made-up pages."""
    for place in range(start, start + number):
        chance = random.Random(place)
        chosen = [sentence for topic in chance.sample(list(found), 3) for sentence in topic]
        length = min(120, max(6, int(chance.lognormvariate(3.2, 0.7))))
        names = [
            f"{chance.choice('BDKLMNRSTV')}{chance.choice('aeiou')}{place % 997:x}" for _ in "ab"
        ]
        text = ""
        for _ in range(length):
            sentence = re.sub(
                r"\d+", lambda _, c=chance: str(c.randint(1, 2_000)), chance.choice(chosen)
            )
            text += sentence + (
                f" {chance.choice(names)} agreed. " if chance.random() < 0.2 else " "
            )
        yield f"http://site{place % 500}.example/{place}", f"{names[0]} and {chosen[0][:40]}", text


def add(corpus: Corpus, some: Iterator[tuple[str, str, str]], *, as_html: bool) -> None:
    """Record pages."""
    told: dict[str, tuple[str, str]] = {}

    def serve(request: httpx.Request) -> httpx.Response:
        title, text = told[str(request.url)]
        if not as_html:
            return httpx.Response(200, headers={"content-type": "text/plain"}, text=text)
        parts = "".join(f"<p>{text[i : i + 600]}</p>" for i in range(0, len(text), 600))
        return httpx.Response(
            200, headers={"content-type": "text/html"}, text=HTML.format(title, parts)
        )

    async def record() -> None:
        inner = httpx.MockTransport(serve)
        tape = corpus.tape("record", inner=inner, clock=VirtualClock())
        with corpus._store.batch():
            for url, title, text in some:
                told[url] = title, text
                response = await tape.handle_async_request(httpx.Request("GET", url))
                await response.aread()
                del told[url]

    asyncio.run(record())


def queries(data: Path | None) -> list[str]:
    """Return questions as research would ask for them."""
    with Corpus.open(sample_path()) as corpus:
        assert corpus.questions_path is not None
        asked = [question.text for question in load_questions(corpus.questions_path).questions]
    if data is not None:
        items = json.loads((data / "hotpotqa" / "questions.json").read_text(encoding="utf-8"))
        asked += [str(item["question"]) for item in items[:200]]
    return [build_query(text) for text in asked]


def real_encoder() -> Encoder | None:
    """Return the encoder of the settings if its weights are here."""
    from harness.models import locate

    name = Settings().retrieval.encoder
    try:
        return load_encoder(name, folder=locate(name))
    except ModelMissingError:
        if os.environ.get("HOTSEAT_REQUIRE_MODELS", "") not in ("", "0"):
            raise
        return None


@contextmanager
def grown(number: int, data: Path | None) -> Iterator[tuple[Corpus, CorpusIndex, list[list[str]]]]:
    """Give a corpus of ``number`` pages with its index."""
    found = topics(data)
    with (
        tempfile.TemporaryDirectory() as folder,
        Corpus.create(Path(folder, "c"), name="c") as corpus,
    ):
        add(corpus, pages(found, 0, number), as_html=False)
        with CorpusIndex.open(corpus, RandomEncoder()) as index:
            index.update()
            yield corpus, index, found


def milliseconds(seconds: Sequence[float]) -> str:
    p50, p95, largest = np.percentile(seconds, [50, 95, 100]) * 1e3
    return f"{p50:.1f} / {p95:.1f} / {largest:.1f} ms"


def timed(jobs: Sequence[Any]) -> list[float]:
    seconds = []
    for job in jobs:
        started = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - started)
    return seconds


def measure(number: int, data: Path | None) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the conditions and the rows of the table."""
    asked, encoder, rows = queries(data), real_encoder(), []
    with grown(number, data) as (corpus, index, found):
        index.search(asked[0])
        searches = timed([lambda q=q: index.search(q) for q in asked * ROUNDS])
        rows.append((f"one search, p50 / p95 / max of {len(searches)}", milliseconds(searches)))
        current = index._current()
        words = [query_terms(query) for query in asked]
        lexical = timed([lambda w=w: current.by_terms(index._database, w) for w in words])
        rows.append(("of which BM25", milliseconds(lexical)))
        matched = [len(current.by_terms(index._database, some)[0]) for some in words]
        if encoder is not None:
            encoded = timed([lambda q=q: encoder.encode([q]) for q in asked])
            rows.append(("beside it, encoding the query", milliseconds(encoded)))
        rows += others(index, words)
        # The store of the many is written; opening anew reads all vectors.
        opened = timed([lambda: opened_once(corpus, asked[0])])
        rows.append(("opening, checking and the first search", f"{opened[0]:.2f} s"))
        rows.append(("an update with nothing new", f"{timed([index.update])[0]:.3f} s"))
        for kind, as_html, start in (("plain text", False, 0), ("HTML", True, NEW)):
            add(corpus, pages(found, number + start, NEW), as_html=as_html)
            done: Updated = index.update()
            parts = f"{done.read_s:.2f} s reading, {done.index_s:.2f} s indexing"
            rows.append(
                (f"{NEW} new pages of {kind}", f"{done.read_s + done.index_s:.2f} s: {parts}")
            )
        if encoder is not None:
            new = [(title, text) for _, title, text in pages(found, number, 20)]
            spent = timed([lambda p=p: encoder.encode(passages(*p)) for p in new])
            rows.append(
                (
                    f"encoding {NEW} pages ({PASSAGES} passages each)",
                    f"{sum(spent) * NEW / 20:.2f} s",
                )
            )
        size = sum(path.stat().st_size for path in corpus.derived.rglob("*") if path.is_file())
        rows.append(("the index on disk", f"{size / 1e6:.0f} MB"))
        said = [
            f"{number:,} pages of {mean_chars(index):,} characters, {len(asked)} queries",
            f"{np.mean(matched) / number:.0%} of all pages hold a query's word on average",
            "vectors random" + ("" if encoder else ", no encoder at hand"),
            f"{os.cpu_count()} cores",
        ]
    return said, rows


def opened_once(corpus: Corpus, query: str) -> None:
    with CorpusIndex.open(corpus, RandomEncoder()) as index:
        index.search(query)


def mean_chars(index: CorpusIndex) -> int:
    row = index._database.connection.execute("SELECT AVG(LENGTH(text)) FROM pages").fetchone()
    return round(row[0])


def others(index: CorpusIndex, words: Sequence[list[str]]) -> list[tuple[str, str]]:
    """Return rows for what else could give BM25: SQLite's FTS5, and bm25s where it is installed."""
    rows = index._database.connection.execute("SELECT id, text FROM pages").fetchall()
    tokens = [terms(text) for _, text in rows]
    return [*with_fts5([row[0] for row in rows], tokens, words), *with_bm25s(tokens, words)]


def with_fts5(
    ids: Sequence[int], tokens: Sequence[list[str]], words: Sequence[list[str]]
) -> list[tuple[str, str]]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, content='', tokenize='ascii')")
    joined = [(number, " ".join(some)) for number, some in zip(ids, tokens, strict=True)]
    connection.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", joined)
    query = "SELECT rowid, bm25(t) FROM t WHERE t MATCH ?"
    asked = [" OR ".join(f'"{word}"' for word in some) for some in words if some]
    seconds = timed([lambda a=a: connection.execute(query, (a,)).fetchall() for a in asked])
    connection.close()
    return [("BM25 by SQLite's FTS5, in its place", milliseconds(seconds))]


def with_bm25s(tokens: list[list[str]], words: Sequence[list[str]]) -> list[tuple[str, str]]:
    try:
        import bm25s
    except ImportError:
        return []
    other = bm25s.BM25()
    built = timed([lambda: other.index(tokens, show_progress=False)])
    known = [[word for word in some if word in other.vocab_dict] for some in words]
    asked = timed([lambda k=k: other.get_scores(k) for k in known if k])
    return [
        ("BM25 by bm25s, in its place", milliseconds(asked)),
        ("which is built anew for each new page", f"{built[0]:.1f} s"),
    ]


@pytest.fixture(scope="module")
def small() -> Iterator[tuple[Corpus, CorpusIndex, list[list[str]]]]:
    with grown(QUICK_PAGES, None) as made:
        yield made


def test_search(benchmark: Any, small: Any) -> None:
    _, index, _ = small
    asked = iter(queries(None) * 1_000)
    assert benchmark(lambda: index.search(next(asked))) is not None


def test_update_of_100_pages(benchmark: Any, small: Any) -> None:
    corpus, index, found = small
    starts = iter(range(QUICK_PAGES, 10**6, NEW))

    def prepare() -> None:
        add(corpus, pages(found, next(starts), NEW), as_html=False)

    benchmark.pedantic(index.update, setup=prepare, rounds=5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAGES} pages")
    parser.add_argument("--data", type=Path, help="folder with hotpotqa/corpus.json")
    chosen = parser.parse_args()
    conditions, table = measure(QUICK_PAGES if chosen.quick else PAGES, chosen.data)
    print("## Search over recorded pages")
    print("; ".join(conditions) + "\n")
    print("| what | time |\n|---|---|")
    for name, value in table:
        print(f"| {name} | {value} |")
