"""Seconds from ten long pages to passages, beside plain sentence-transformers.

    python benchmarks/bench_retrieval.py [--quick]
    pytest benchmarks/bench_retrieval.py

The pages are the shipped recording's texts, strung together and cut every
12,000 characters, so each question is asked over ten pages of which one or two
hold its own documents.  Plain sentence-transformers means: the same chunks, all
encoded in batches of 32 by the same model (float32, PyTorch on CPU), the ten
of highest cosine.  All ways are timed in one process, one after the other, without
loading the models.  Recall counts questions with the right option's text in
the ten best passages.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from sample_context import research  # beside this file

from harness.corpus import Corpus
from harness.errors import HotseatError
from harness.evidence import Document, Passage
from harness.models import locate
from harness.quiz import Question, normalise_text
from harness.replay import sample_path
from harness.retrieval import Selection, load_encoder, load_reranker, select_passages
from harness.retrieval.chunking import chunk_text
from harness.retrieval.index import nearest
from harness.retrieval.rerank import COSINE, MAXSIM, MAXSIM_OPTIONS
from harness.retrieval.stored import StoredVectors
from harness.settings import RetrievalSettings, resolve
from harness.trace import Trace

PAGES, PAGE_CHARS, BEST, BATCH = 10, 12_000, 10, 32
RIVAL_MODEL = "minilm-l6-v2"
SETTINGS = RetrievalSettings(
    reranker="maxsim",  # "auto" is another one where that has been pulled
    threshold=0.0,
    floor=dict.fromkeys((COSINE.name, MAXSIM.name, MAXSIM_OPTIONS.name), -9.0),
    max_passages=BEST,
    context_tokens=32_768,
)
reranker_named = functools.cache(load_reranker)  # loaded once, not in every timing
ALL_ENCODED = SETTINGS.model_copy(update={"prefilter": 0})


@dataclass(frozen=True)
class Asked:
    """A question with its ten pages."""

    question: Question
    pages: tuple[Document, ...]

    def answered_by(self, texts: Sequence[str]) -> bool:
        gold = normalise_text(self.question.gold.answer or "")
        return any(gold in normalise_text(text) for text in texts)


def asked_over_ten_pages() -> list[Asked]:
    """Return the recording's questions of known gold whose answer stands on a page."""
    corpus = Corpus.open(sample_path())
    settings = resolve(corpus=corpus.manifest.settings, env={}).settings
    questions: list[tuple[Question, int, int]] = []
    texts: list[str] = []
    length = 0
    for question, found in research(corpus, settings):
        started = length
        for document in found.documents:
            texts.append(document.text + "\n")
            length += len(texts[-1])
        questions.append((question, started, length))
    corpus.close()
    whole = "".join(texts)
    pages = [
        Document(f"https://example.org/{at}", "", whole[at : at + PAGE_CHARS], "page")
        for at in range(0, len(whole), PAGE_CHARS)
    ]
    asked = []
    for question, start, end in questions:
        first = start // PAGE_CHARS
        order = [*pages[first:], *pages[:first]]
        assert (end - start) // PAGE_CHARS < PAGES
        asked.append(Asked(question, tuple(order[:PAGES])))
    return [one for one in asked if one.answered_by([page.text for page in one.pages])]


def choose(encoder: Any, asked: Asked, settings: RetrievalSettings = SETTINGS) -> Selection:
    return select_passages(
        asked.question.text,
        asked.pages,
        settings=settings,
        encoder=encoder,
        reranker=reranker_named(settings.reranker),
        count_tokens=lambda text: len(text) // 4,
        trace=Trace(),
        options=[option.text for option in asked.question.options],
    )


def chunks(pages: Sequence[Document]) -> list[str]:
    cut = [
        chunk.text
        for page in pages
        for chunk in chunk_text(
            page.text,
            chunker=SETTINGS.chunker,
            size=SETTINGS.chunk_chars,
            overlap=SETTINGS.chunk_overlap,
        )
    ]
    return list(dict.fromkeys(cut))


class PlainSentenceTransformers:
    """What people would otherwise write."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(str(locate(RIVAL_MODEL)), device="cpu")

    def encode(self, texts: Sequence[str]) -> Any:
        return self.model.encode(
            list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        )

    def choose(self, asked: Asked) -> list[str]:
        texts = chunks(asked.pages)
        vectors = self.encode([asked.question.text, *texts])
        return self.best(vectors[0], vectors[1:], texts)

    def best(self, question: Any, vectors: Any, texts: Sequence[str]) -> list[str]:
        order = np.argsort(-(vectors @ question), kind="stable")[:BEST]
        return [texts[row] for row in order]


def why_no_rival() -> str | None:
    """Return why sentence-transformers can't be measured here, ``None`` if it can."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return "sentence-transformers is not installed (`pip install 'hotseat[torch]'`)"
    try:
        locate(RIVAL_MODEL)
    except HotseatError:
        return f"its model is not here (`hotseat models pull {RIVAL_MODEL}`)"
    return None


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def texts_of(passages: Sequence[Passage]) -> list[str]:
    return [passage.text for passage in passages]


RIVAL = f"sentence-transformers, batch {BATCH}"


def retrieval_table(timed: int, counted: int | None) -> Iterator[str]:
    asked = asked_over_ten_pages()
    asked_timed = asked[:: max(1, len(asked) // timed)][:timed]
    counted_over = asked[:counted]
    reason = why_no_rival()
    rival = None if reason else PlainSentenceTransformers()
    yield "## Retrieval from ten pages of 12,000 characters"
    yield ""
    passages = sum(len(chunks(one.pages)) for one in asked_timed) / len(asked_timed)
    yield (
        f"Median seconds of {len(asked_timed)} questions over {passages:.0f} passages each, "
        f"all ways by turns; {SETTINGS.encoder_threads} encoder thread"
        + (f", PyTorch with {torch_threads()}" if rival else "")
        + f". Recall over {len(counted_over)} questions."
    )
    yield ""
    yield "| way | seconds | times as fast | answer in the ten best |"
    yield "|---|---|---|---|"
    spent = timings(asked_timed, rival)
    base = median(spent[RIVAL]) if rival else None
    if rival is None:
        yield f"| {RIVAL} | missing: {reason} | | |"
    right = {
        "all": recall(counted_over, lambda one, kept: choose(kept, one, ALL_ENCODED)),
        "defaults": recall(counted_over, lambda one, kept: choose(kept, one, SETTINGS)),
    }
    if rival is not None:
        right["rival"] = rival_recall(rival, counted_over)
    for name, found in spent.items():
        which = "rival" if name == RIVAL else "all" if "every passage" in name else "defaults"
        yield row(name, median(found), base, share(right[which], len(counted_over)))


def timings(asked: Sequence[Asked], rival: PlainSentenceTransformers | None) -> dict[str, Any]:
    """Return the seconds by way; a question goes all ways before the next one comes."""
    spent: dict[str, list[float]] = defaultdict(list)
    if rival is not None:
        rival.encode(["warm", "up"])
    for one in asked:
        if rival is not None:
            spent[RIVAL].append(seconds(lambda one=one: rival.choose(one)))
        for name, settings in (("every passage encoded", ALL_ENCODED), ("defaults", SETTINGS)):
            with tempfile.TemporaryDirectory() as folder:
                for state in ("cold", "vectors stored"):
                    encoder = fresh(Path(folder))  # as a new process: nothing in memory
                    took = seconds(lambda e=encoder, o=one, s=settings: choose(e, o, s))
                    encoder.close()
                    spent[f"hotseat, {name}, {state}"].append(took)
        with tempfile.TemporaryDirectory() as folder:
            encoder = fresh(Path(folder), threads=2)
            took = seconds(lambda e=encoder, o=one: choose(e, o, SETTINGS))
            encoder.close()
            spent["hotseat, defaults, cold, 2 encoder threads"].append(took)
    return spent


def recall(asked: Sequence[Asked], find: Callable[[Asked, StoredVectors], Selection]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        kept = fresh(Path(folder))
        right = sum(one.answered_by(texts_of(find(one, kept).passages)) for one in asked)
        kept.close()
    return right


def rival_recall(rival: PlainSentenceTransformers, asked: Sequence[Asked]) -> int:
    vectors: dict[str, Any] = {}
    right = 0
    for one in asked:
        texts = chunks(one.pages)
        new = [text for text in (one.question.text, *texts) if text not in vectors]
        vectors |= zip(new, rival.encode(new), strict=True)
        rows = np.stack([vectors[text] for text in texts])
        right += one.answered_by(rival.best(vectors[one.question.text], rows, texts))
    return right


def fresh(folder: Path | None = None, threads: int = SETTINGS.encoder_threads) -> StoredVectors:
    return StoredVectors(load_encoder(SETTINGS.encoder, threads=threads), folder)


def row(name: str, spent: float, base: float | None, recall: str) -> str:
    ratio = f"{base / spent:.1f}" if base else ""
    return f"| {name} | {spent:.3f} | {ratio} | {recall} |"


def share(hits: int, n: int) -> str:
    return f"{hits}/{n} = {hits / n:.2f}"


def torch_threads() -> str:
    import torch

    return f"{torch.get_num_threads()} threads"


def nearest_table(sizes: Sequence[int]) -> Iterator[str]:
    yield "## The nearest vectors: one product or FAISS"
    yield ""
    yield "Median milliseconds for 160 of n float32 vectors of 384 numbers, the index made anew."
    yield ""
    yield "| n | product | FAISS | same decisions |"
    yield "|---|---|---|---|"
    chance = np.random.default_rng(7)
    for size in sizes:
        rows = chance.normal(size=(size, 384)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        told, found = [], []
        for faiss_from in (10**9, 1):
            call = lambda limit=faiss_from, r=rows: nearest(r[0], r, 160, faiss_from=limit)  # noqa: E731
            found.append(call())
            told.append(median(seconds(call) for _ in range(7)) * 1_000)
        same = "yes" if found[0] == found[1] else "NO"
        yield f"| {size:,} | {told[0]:.2f} | {told[1]:.2f} | {same} |"


def thread_table(count: int) -> Iterator[str]:
    yield "## Encoder threads"
    yield ""
    yield f"Milliseconds a passage, {count} passages one at a time, best of three."
    yield ""
    yield "| threads | milliseconds | same bits as with one |"
    yield "|---|---|---|"
    texts = chunks(asked_over_ten_pages()[0].pages)[:count]
    first: list[bytes] = []
    for threads in (1, 2, 4):
        spent, bits = [], []
        for _ in range(3):
            encoder = load_encoder(SETTINGS.encoder, threads=threads)
            started = time.perf_counter()
            found = encoder.encode(texts)
            spent.append((time.perf_counter() - started) * 1_000 / len(texts))
            bits = [e.pooled.tobytes() + e.tokens.tobytes() for e in found]
        first = first or bits
        yield f"| {threads} | {min(spent):.1f} | {'yes' if bits == first else 'NO'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the retrieval stage.")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    quick = parser.parse_args().quick
    for lines in (
        retrieval_table(1, 3) if quick else retrieval_table(5, None),
        nearest_table((100, 1_000)) if quick else nearest_table((100, 400, 2_000, 10_000, 100_000)),
        thread_table(4 if quick else 64),
    ):
        for line in lines:
            print(line, flush=True)
        print()


@pytest.fixture(scope="module")
def asked() -> Asked:
    try:
        locate(SETTINGS.encoder)
    except HotseatError as error:
        pytest.skip(str(error))
    return asked_over_ten_pages()[0]


@pytest.mark.models
def test_chunk_ten_pages(benchmark: Any, asked: Asked):
    assert len(benchmark(chunks, asked.pages)) > 200


@pytest.mark.models
def test_select_from_ten_pages_cold(benchmark: Any, asked: Asked):
    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (fresh(), asked), {}

    assert benchmark.pedantic(choose, setup=setup, rounds=2, iterations=1).passages


@pytest.mark.models
def test_select_from_ten_pages_stored(benchmark: Any, asked: Asked, tmp_path: Path):
    choose(fresh(tmp_path), asked)

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (fresh(tmp_path), asked), {}

    assert benchmark.pedantic(choose, setup=setup, rounds=5, iterations=1).passages


@pytest.mark.models
@pytest.mark.skipif(why_no_rival() is not None, reason=str(why_no_rival()))
def test_select_from_ten_pages_with_sentence_transformers(benchmark: Any, asked: Asked):
    rival = PlainSentenceTransformers()
    assert benchmark.pedantic(rival.choose, (asked,), rounds=2, iterations=1)


if __name__ == "__main__":
    main()
