"""What each retrieval setting brings: on HotpotQA, on the shipped recording, on long pages.

    python benchmarks/retrieval_settings.py --data DIR [--vectors FOLDER]

``DIR`` is what ``retrieval_quality.py`` reads.  ``FOLDER`` keeps the vectors,
so that a second run encodes nothing.  Two tables in Markdown:

1. settings: the defaults, and each setting changed alone.  HotpotQA: share of
   the supporting paragraphs among the first 2, 5 and 10 of all 994, ranked by the
   question alone and with options (distractors from elsewhere).  Recording: how
   many prompts hold the right option's text, and the tokens they take.
2. prefilter: ten pages of some 12,000 characters per question, nine parts of
   ten without any bearing.  Counted is how many supporting sentences stand whole
   in what was encoded and in the ten best passages.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from retrieval_quality import (  # beside this file
    RANKING_ONLY,
    Case,
    flat,
    load,
    load_quality_encoder,
    print_table,
    remember,
    reranker_named,
    share,
)

from harness.evidence import Document
from harness.retrieval import Encoder, select_passages
from harness.retrieval.stored import StoredVectors
from harness.settings import RetrievalSettings
from harness.trace import Trace

PARAGRAPHS: dict[str, Any] = {
    **RANKING_ONLY,
    "reranker": "maxsim",  # "auto" is another one where that has been pulled
    "chunk_chars": 8_000,
    "context_tokens": 32_768,
    "prefilter": 0,
}
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"first_stage": "vectors", "lexical_weight": 0.0},
    {"first_stage": "vectors"},
    {"lexical_weight": 0.0},
    {"lexical_weight": 0.25},
    {"lexical_weight": 1.0},
    {"reranker": "none"},
    {"reranker": "none", "first_stage": "vectors", "lexical_weight": 0.0},
    {"titles": False},
    {"lead_weight": 0.5},
    {"per_source": 1},
    {"repeated": 0.6},
    {"repeated": 1.0},
    {"keep": 20},
    {"prefilter": 0},
    {"prefilter": 32},
)
# These have no say in the order of whole paragraphs, one a document.
ONLY_RECORDING = {"lead_weight", "per_source", "prefilter"}
PREFILTERS = (0, 256, 128, 64, 48, 32, 16)
PAGE_CHARS, PAGES, QUESTIONS_A_GROUP = 12_000, 10, 6

Choose = Callable[..., Any]


def settings_table(
    cases: Sequence[Case], paragraphs: dict[str, str], encoder: Encoder, recording: Choose | None
) -> Iterator[str]:
    yield (
        "| setting | question alone @2 | @5 | @10 | options @2 | @10 "
        "| recording: answer in the prompt | first | tokens |"
    )
    yield "|" + "---|" * 9
    urls = {title: f"https://example.org/{number}" for number, title in enumerate(paragraphs)}
    documents = [Document(urls[t], t, text, "page") for t, text in paragraphs.items()]
    for variant in VARIANTS:
        cells: list[str] = []
        if ONLY_RECORDING.isdisjoint(variant):
            for distractors in ("-", "elsewhere"):
                ranks = paragraph_ranks(cases, documents, urls, encoder, variant, distractors)
                places = (2, 5, 10) if distractors == "-" else (2, 10)
                cells += [found(ranks, place, exact=not variant) for place in places]
        else:
            cells += ["same"] * 5
        cells += recording(variant) if recording else ["-"] * 3
        name = ", ".join(f"{key} {value}" for key, value in variant.items()) or "**defaults**"
        yield f"| {name} | {' | '.join(cells)} |"


def halves_table(
    cases: Sequence[Case], paragraphs: dict[str, str], encoder: Encoder
) -> Iterator[str]:
    yield "| questions | setting | @2 | @5 | @10 |"
    yield "|" + "---|" * 5
    urls = {title: f"https://example.org/{number}" for number, title in enumerate(paragraphs)}
    documents = [Document(urls[t], t, text, "page") for t, text in paragraphs.items()]
    for name, some in (("even", cases[::2]), ("odd", cases[1::2])):
        for variant in VARIANTS[:2]:
            ranks = paragraph_ranks(some, documents, urls, encoder, variant, "-")
            cells = [found(ranks, place, exact=True) for place in (2, 5, 10)]
            told = ", ".join(f"{key} {value}" for key, value in variant.items()) or "defaults"
            yield f"| {name} | {told} | {' | '.join(cells)} |"


def paragraph_ranks(
    cases: Sequence[Case],
    documents: Sequence[Document],
    urls: dict[str, str],
    encoder: Encoder,
    variant: dict[str, Any],
    distractors: str,
) -> list[int]:
    """Return where each supporting paragraph came, 99 for beyond what is chosen."""
    settings = RetrievalSettings(**{**PARAGRAPHS, **variant})
    ranks: list[int] = []
    for case in cases:
        text, options = case.ask("one by one", distractors)
        selection = select_passages(
            text,
            documents,
            settings=settings,
            encoder=encoder,
            reranker=reranker_named(settings.reranker),
            count_tokens=lambda _: 1,
            trace=Trace(),
            options=options,
        )
        order = [passage.url for passage in selection.passages]
        ranks += [order.index(u) if u in order else 99 for u in map(urls.get, case.titles)]
    return ranks


def found(ranks: Sequence[int], within: int, *, exact: bool) -> str:
    hits = sum(rank < within for rank in ranks)
    return share(hits, len(ranks)) if exact else f"{hits / len(ranks):.3f}"


def prefilter_table(
    cases: Sequence[Case], paragraphs: dict[str, str], encoder: Encoder
) -> Iterator[str]:
    yield (
        "| prefilter | query | passages | encoded | sentences in what is encoded "
        "| in the ten best passages |"
    )
    yield "|" + "---|" * 6
    groups = long_pages(cases, paragraphs)
    for distractors in ("-", "elsewhere"):
        for prefilter in PREFILTERS:
            settings = RetrievalSettings(
                **{**RANKING_ONLY, "max_passages": 10},
                reranker=PARAGRAPHS["reranker"],
                prefilter=prefilter,
                context_tokens=32_768,
            )
            facts = in_encoded = in_best = encoded = candidates = 0
            for number, case in enumerate(cases):
                text, options = case.ask("one by one", distractors)
                watched = Watched(encoder)
                trace = Trace()
                selection = select_passages(
                    text,
                    ten_pages(number, case, groups, paragraphs),
                    settings=settings,
                    encoder=watched,
                    reranker=reranker_named(settings.reranker),
                    count_tokens=lambda text: len(text) // 4,
                    trace=trace,
                    options=options,
                )
                seen = [flat(text) for text in watched.texts]
                best = [flat(passage.text) for passage in selection.passages]
                facts += len(case.facts)
                in_encoded += sum(any(flat(f) in text for text in seen) for f in case.facts)
                in_best += sum(any(flat(f) in text for text in best) for f in case.facts)
                encoded += trace.facts["encoded"]
                candidates += selection.candidates
            n = len(cases)
            query = "question" if distractors == "-" else "with options"
            yield (
                f"| {prefilter or 'off'} | {query} | {candidates / n:.0f} | {encoded / n:.0f} "
                f"| {in_encoded / facts:.3f} | {in_best / facts:.3f} |"
            )


class Watched:
    """An encoder that remembers the passages it was asked for."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.texts: list[str] = []

    def describe(self) -> dict[str, Any]:
        return self._encoder.describe()

    def encode(self, texts: Sequence[str]) -> list[Any]:
        return self._encoder.encode(texts)

    def pooled(self, texts: Sequence[str]) -> list[Any]:
        self.texts += texts
        assert isinstance(self._encoder, StoredVectors)
        return self._encoder.pooled(texts)


def long_pages(cases: Sequence[Case], paragraphs: dict[str, str]) -> list[list[Document]]:
    """Return, for each six questions, their paragraphs as pages of some 12,000 characters."""
    groups: list[list[Document]] = []
    used: set[str] = set()
    for first in range(0, len(cases), QUESTIONS_A_GROUP):
        titles = [
            title
            for case in cases[first : first + QUESTIONS_A_GROUP]
            for title in case.context
            if title not in used
        ]
        titles = list(dict.fromkeys(titles))
        used.update(titles)
        random.Random(first).shuffle(titles)
        blocks = [f"{title}\n{paragraphs[title]}" for title in titles]
        count = max(1, round(sum(map(len, blocks)) / PAGE_CHARS))
        groups.append(
            [
                Document(
                    f"https://example.org/{first}/{page}",
                    "",
                    "\n".join(blocks[page::count]),
                    "page",
                )
                for page in range(count)
            ]
        )
    return groups


def ten_pages(
    number: int, case: Case, groups: Sequence[list[Document]], paragraphs: dict[str, str]
) -> list[Document]:
    """Return the pages of the question's group, what it shares with others, and more up to ten."""
    group = number // QUESTIONS_A_GROUP
    pages = list(groups[group])
    ahead = [page for other in (*groups[group + 1 :], *groups[:group]) for page in other]
    pages += [p for p in ahead if any(paragraphs[t] in p.text for t in case.titles)]
    pages += [page for page in ahead if page not in pages]
    return pages[:PAGES]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what each retrieval setting brings.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the HotpotQA sample")
    parser.add_argument("--vectors", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--tables", default="123", help="which of the three tables, such as 13")
    chosen = parser.parse_args()
    _, encoder = load_quality_encoder(chosen.vectors)
    cases, paragraphs = load(chosen.data)
    remember()
    if "1" in chosen.tables:
        lines = settings_table(cases, paragraphs, encoder, recording(encoder))
        print_table("Settings, one at a time", lines)
    if "2" in chosen.tables:
        print_table("Two halves of the questions", halves_table(cases, paragraphs, encoder))
    if "3" in chosen.tables:
        print_table("Prefilter, over ten long pages", prefilter_table(cases, paragraphs, encoder))


def recording(encoder: Encoder) -> Choose:
    """Return a function from a variant to its cells for the shipped recording."""
    import sample_context

    corpus, settings, tokens, asked = sample_context.prepare()
    corpus.close()

    def cells(variant: dict[str, Any]) -> list[str]:
        chosen = sample_context.changed(settings, variant)
        inside, first, size, _ = sample_context.counts(chosen, asked, encoder, tokens)
        return [f"{inside}/{len(asked)}", str(first), f"{size / len(asked):.0f}"]

    return cells


if __name__ == "__main__":
    main()
