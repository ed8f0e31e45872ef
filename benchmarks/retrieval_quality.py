"""How much of the evidence reaches the prompt, by chunker, size, reranker and query.

    python benchmarks/retrieval_quality.py --data DIR [--vectors FOLDER]

``FOLDER`` keeps the vectors, so that a second run encodes nothing.
``DIR`` holds ``questions.json`` and ``corpus.json`` of a HotpotQA sample: a
list of questions (``question``, ``answer``, ``context``: ``[[title,
sentences], …]``, ``supporting_facts``: ``[[title, sentence number], …]``) and
a mapping ``{title: [sentences]}``.  The set is not shipped.

Four tables in Markdown are printed, made with ``select_passages`` itself:

1. paragraphs: share of the supporting paragraphs among the first 2, 5 and 10;
2. pages: the paragraphs of three questions are shuffled into three long pages,
   and each question is asked over six such pages (about 33,000 characters, half
   of them without any bearing).  Counted is how many supporting sentences stand
   whole in one of the passages chosen within a token budget, by chunker and size;
   vectors alone rank, so that nothing but the chunks differs;
3. queries: the same over the default chunks, by reranker and query;
4. threshold: what the threshold costs and saves, and how often nothing is over
   the floor, over the question's own pages and over unrelated ones.

Tokens are the encoder's own word pieces; a language model's count differs
little on English.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness.retrieval.select as selecting
from harness.evidence import Document
from harness.retrieval import Selection, load_encoder, load_reranker, select_passages
from harness.retrieval.rerank import COSINE, MAXSIM, MAXSIM_OPTIONS
from harness.retrieval.stored import StoredVectors
from harness.settings import RetrievalSettings
from harness.trace import Trace

BUDGETS = (300, 450, 600)
CHUNKINGS: tuple[tuple[str, int, int], ...] = (
    *(("characters", size, size // 5) for size in (250, 350, 500, 700)),
    *(("sentences", size, 0) for size in (250, 350, 500, 700)),
    ("sentences", 350, 100),
    ("sentences", 350, 175),
)
# (reranker, query, distractors): see `Case.ask`.
QUERIES: tuple[tuple[str, str, str], ...] = (
    ("none", "question", "-"),
    ("none", "joined", "pages"),
    ("maxsim", "question", "-"),
    ("maxsim", "joined", "pages"),
    ("maxsim", "one by one", "pages"),
    ("maxsim", "one by one", "elsewhere"),
)
DEFAULT = RetrievalSettings()
reranker_named = functools.cache(load_reranker)
# Nothing but the order and the budget decides.
VECTORS_ALONE: dict[str, Any] = {
    "first_stage": "vectors",
    "lexical_weight": 0.0,
    "prefilter": 0,
}
RANKING_ONLY: dict[str, Any] = {
    "threshold": 0.0,
    "floor": dict.fromkeys((COSINE.name, MAXSIM.name, MAXSIM_OPTIONS.name), -9.0),
    "max_passages": 20,
}


@dataclass(frozen=True)
class Case:
    """A question with what has to be found for it."""

    question: str
    answer: str
    titles: tuple[str, ...]
    facts: tuple[str, ...]
    context: tuple[str, ...]
    options: dict[str, tuple[str, ...]]

    @property
    def binary(self) -> bool:
        return self.answer.lower() in ("yes", "no")

    def ask(self, query: str, distractors: str) -> tuple[str, tuple[str, ...]]:
        """Return the query and options for one of the ways to ask.

        Options are the answer and three distractors: headings that stand on
        the same pages (``pages``, which is hard) or answers to other questions
        (``elsewhere``, which is easy).  Real options lie in between.
        """
        options = self.options.get(distractors, ())
        if query == "joined":
            return f"{self.question} {'; '.join(options)}", ()
        return self.question, options


@dataclass
class Found:
    """Counts over all questions, for one setting."""

    facts: int = 0
    facts_found: int = 0
    questions: int = 0
    questions_whole: int = 0
    answers: int = 0
    answers_found: int = 0
    tokens: int = 0
    passages: int = 0
    candidates: int = 0
    refused: int = 0

    def add(self, case: Case, selection: Selection) -> None:
        texts = [flat(passage.text) for passage in selection.passages]
        found = [any(flat(fact) in text for text in texts) for fact in case.facts]
        self.facts += len(found)
        self.facts_found += sum(found)
        self.questions += 1
        self.questions_whole += all(found)
        if not case.binary:
            self.answers += 1
            self.answers_found += any(flat(case.answer) in text for text in texts)
        self.tokens += selection.context_tokens
        self.passages += len(selection.passages)
        self.candidates += selection.candidates
        self.refused += selection.threshold is None


def flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % score interval of a proportion (Wilson, 1927)."""
    if not trials:
        return 0.0, 1.0
    p, square = successes / trials, z * z
    centre = (p + square / (2 * trials)) / (1 + square / trials)
    half = z * math.sqrt(p * (1 - p) / trials + square / (4 * trials**2)) / (1 + square / trials)
    return centre - half, centre + half


def share(successes: int, trials: int) -> str:
    low, high = wilson(successes, trials)
    return f"{successes / trials:.3f} [{low:.2f}, {high:.2f}]"


def load(folder: Path) -> tuple[list[Case], dict[str, str]]:
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    corpus = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    answers = list(dict.fromkeys(q["answer"] for q in questions))
    cases = [_case(number, q, corpus, answers) for number, q in enumerate(questions)]
    return cases, {title: "".join(sentences).strip() for title, sentences in corpus.items()}


def _case(number: int, q: dict[str, Any], corpus: dict[str, Any], answers: list[str]) -> Case:
    titles = tuple(dict.fromkeys(title for title, _ in q["supporting_facts"]))
    others = [title for title, _ in q["context"] if title not in titles]
    wrong = [a for a in answers if a.lower() not in ("yes", "no") and a != q["answer"]]
    options = {
        name: _options(number, q["answer"], pool)
        for name, pool in (("pages", others), ("elsewhere", wrong))
    }
    return Case(
        question=q["question"],
        answer=q["answer"],
        titles=titles,
        facts=tuple(corpus[title][place] for title, place in q["supporting_facts"]),
        context=tuple(title for title, _ in q["context"]),
        options=options,
    )


def _options(number: int, answer: str, pool: list[str]) -> tuple[str, ...]:
    if answer.lower() in ("yes", "no"):
        return ("yes", "no")
    chance = random.Random(number)
    options = [answer, *chance.sample(pool, 3)]
    chance.shuffle(options)
    return tuple(options)


def page_groups(cases: Sequence[Case], paragraphs: dict[str, str]) -> list[list[Document]]:
    """Return, for each three questions, their paragraphs as long pages under headings."""
    groups: list[list[Document]] = []
    used: set[str] = set()
    for first in range(0, len(cases), 3):
        titles = [t for case in cases[first : first + 3] for t in case.context if t not in used]
        titles = list(dict.fromkeys(titles))
        used.update(titles)
        random.Random(first).shuffle(titles)
        count = max(1, round(len(titles) / 10))
        groups.append(
            [
                Document(
                    url=f"https://example.org/{first}/{page}",
                    title="",
                    text="\n".join(f"{t}\n{paragraphs[t]}" for t in titles[page::count]),
                    origin="page",
                )
                for page in range(count)
            ]
        )
    return groups


def own_pages(
    number: int, case: Case, groups: Sequence[list[Document]], paragraphs: dict[str, str]
) -> list[Document]:
    group = number // 3
    pages = groups[group] + groups[(group + 1) % len(groups)]
    # A paragraph that two questions share lies on the earlier one's pages.
    for other in groups:
        for page in other:
            if page not in pages and any(paragraphs[t] in page.text for t in case.titles):
                pages = [*pages, page]
    return pages


def paragraph_table(
    cases: Sequence[Case], paragraphs: dict[str, str], choose: Callable[..., Selection]
) -> Iterator[str]:
    yield "| titles | reranker | query | distractors | @2 | @5 | @10 |"
    yield "|" + "---|" * 7
    urls = {title: f"https://example.org/{number}" for number, title in enumerate(paragraphs)}
    for titled in (False, True):
        documents = [
            Document(urls[title], title if titled else "", text, "page")
            for title, text in paragraphs.items()
        ]
        for reranker, query, distractors in QUERIES:
            settings = RetrievalSettings(
                chunk_chars=8_000,
                reranker=reranker,
                context_tokens=32_768,
                prefilter=0,
                **RANKING_ONLY,
            )
            ranks: list[int] = []
            for case in cases:
                text, options = case.ask(query, distractors)
                found = [p.url for p in choose(text, documents, settings, options).passages]
                ranks += [found.index(u) if u in found else 99 for u in map(urls.get, case.titles)]
            cells = [share(sum(rank < k for rank in ranks), len(ranks)) for k in (2, 5, 10)]
            told = "yes" if titled else "no"
            yield f"| {told} | {reranker} | {query} | {distractors} | {' | '.join(cells)} |"


def page_table(
    cases: Sequence[Case],
    pages: Sequence[list[Document]],
    choose: Callable[..., Selection],
    chunkings: Sequence[tuple[str, int, int]],
    fixed: dict[str, Any],
) -> Iterator[str]:
    yield (
        "| chunker | size / overlap | passages | reranker | query | distractors "
        "| sentences @300 | @450 | @600 | all of a question @450 | answer @450 |"
    )
    yield "|" + "---|" * 11
    for chunker, size, overlap in chunkings:
        base = {"chunker": chunker, "chunk_chars": size, "chunk_overlap": overlap, **fixed}
        for reranker, query, distractors in QUERIES:
            by_budget = []
            for budget in BUDGETS:
                settings = RetrievalSettings(
                    **base, **RANKING_ONLY, reranker=reranker, context_tokens=budget
                )
                found = Found()
                for case, documents in zip(cases, pages, strict=True):
                    text, options = case.ask(query, distractors)
                    found.add(case, choose(text, documents, settings, options))
                by_budget.append(found)
            low, middle, high = by_budget
            rates = [f"{f.facts_found / f.facts:.3f}" for f in (low, middle, high)]
            yield (
                f"| {chunker} | {size} / {overlap} | {middle.candidates / middle.questions:.0f} "
                f"| {reranker} | {query} | {distractors} | {' | '.join(rates)} "
                f"| {share(middle.questions_whole, middle.questions)} "
                f"| {share(middle.answers_found, middle.answers)} |"
            )


def threshold_table(
    cases: Sequence[Case], pages: Sequence[list[Document]], choose: Callable[..., Selection]
) -> Iterator[str]:
    yield (
        "| reranker | query | threshold | sentences | answer | tokens | passages "
        "| refused, own pages | refused, unrelated pages |"
    )
    yield "|" + "---|" * 9
    half = len(cases) // 2
    for reranker, query, distractors in (QUERIES[0], QUERIES[2], QUERIES[4]):
        for threshold in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            settings = RetrievalSettings(reranker=reranker, threshold=threshold)
            own, unrelated = Found(), Found()
            for number, case in enumerate(cases):
                text, options = case.ask(query, distractors)
                own.add(case, choose(text, pages[number], settings, options))
                if threshold == DEFAULT.threshold:
                    other = pages[(number + half) % len(cases)]
                    unrelated.add(case, choose(text, other, settings, options))
            refused = share(unrelated.refused, unrelated.questions) if unrelated.questions else ""
            yield (
                f"| {reranker} | {query} | {threshold} | {own.facts_found / own.facts:.3f} "
                f"| {own.answers_found / own.answers:.3f} | {own.tokens / own.questions:.0f} "
                f"| {own.passages / own.questions:.1f} | {share(own.refused, own.questions)} "
                f"| {refused} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what retrieval brings into the prompt.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the HotpotQA sample")
    parser.add_argument("--vectors", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--tables", default="1234", help="which of the four tables, such as 13")
    chosen = parser.parse_args()

    folder, encoder = load_quality_encoder(chosen.vectors)
    count_tokens = token_counter(folder)

    def choose(
        text: str,
        documents: Sequence[Document],
        settings: RetrievalSettings,
        options: Sequence[str],
    ) -> Selection:
        return select_passages(
            text,
            documents,
            settings=settings,
            encoder=encoder,
            reranker=reranker_named(settings.reranker),
            count_tokens=count_tokens,
            trace=Trace(),
            options=options,
        )

    cases, paragraphs = load(chosen.data)
    remember()
    groups = page_groups(cases, paragraphs)
    pages = [own_pages(n, case, groups, paragraphs) for n, case in enumerate(cases)]
    if "1" in chosen.tables:
        print_table("Supporting paragraphs found", paragraph_table(cases, paragraphs, choose))
    if "2" in chosen.tables:
        lines = page_table(cases, pages, choose, CHUNKINGS, VECTORS_ALONE)
        print_table("Evidence within a token budget, by chunker", lines)
    if "3" in chosen.tables:
        lines = page_table(cases, pages, choose, [CHUNKINGS[8]], {})
        print_table("Evidence within a token budget, by query", lines)
    if "4" in chosen.tables:
        print_table("Threshold and floor", threshold_table(cases, pages, choose))


def remember() -> None:
    """Do the same work once: equal texts are cut and their words counted for many questions."""
    made: dict[Any, Any] = {}

    def remembering(plain: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(*given: Any) -> Any:
            called = (plain, key(*given))
            if called not in made:
                made[called] = plain(*given)
            return made[called]

        return remembered

    for name, key in (
        ("Bm25", lambda texts: hash(tuple(texts))),
        (
            "_passages",
            lambda documents, s: (
                hash(tuple(documents)),
                (s.chunker, s.chunk_chars, s.chunk_overlap),
            ),
        ),
    ):
        setattr(selecting, name, remembering(getattr(selecting, name), key))


def load_quality_encoder(vectors: Path | None) -> tuple[Path, StoredVectors]:
    """Return the default encoder's folder, and it with its vectors kept in ``vectors``."""
    from harness.models import ensure

    return ensure(DEFAULT.encoder), StoredVectors(load_encoder(DEFAULT.encoder), vectors)


def token_counter(folder: Path) -> Callable[[str], int]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def print_table(title: str, lines: Iterator[str]) -> None:
    print(f"\n### {title}\n", flush=True)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
