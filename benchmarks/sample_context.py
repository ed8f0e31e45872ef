"""How often does the prompt hold the answer?  Measured on the shipped recording.

    python benchmarks/sample_context.py [--vectors FOLDER]

Replays the first half for every question with known gold that isn't maths,
chooses passages under several settings, and looks for the right option's text
in them.  No language model runs; its tokenizer counts the tokens.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.contestant.research import search_documents
from harness.contestant.weights import find_weights
from harness.corpus import Corpus
from harness.engines._gguf import read_header
from harness.engines._tokens import GgufTokenizer
from harness.evidence import Evidence
from harness.question_file import load_questions
from harness.quiz import Category, Question, normalise_text
from harness.replay import sample_path
from harness.retrieval import Encoder, load_encoder, load_reranker, select_passages
from harness.retrieval.stored import StoredVectors
from harness.scoring import wilson
from harness.settings import RetrievalSettings, Settings, resolve
from harness.trace import Trace

VARIANTS: tuple[Mapping[str, Any], ...] = (
    {"threshold": 0.5},
    {"threshold": 0.65},
    {"threshold": 0.8},
    {"threshold": 0.9},
    {"threshold": 0.8, "context_tokens": 300},
    {"threshold": 0.8, "chunk_chars": 250, "chunk_overlap": 60},
    {"threshold": 0.8, "chunker": "characters"},
    {"threshold": 0.8, "reranker": "none"},
)

reranker_named = functools.cache(load_reranker)


def main() -> None:
    """Print one table row a variant."""
    parser = argparse.ArgumentParser(description="Look for the answers in the prompts.")
    parser.add_argument("--vectors", type=Path, help="folder in which vectors are kept")
    corpus, settings, tokens, found = prepare()
    encoder = StoredVectors(load_encoder(settings.retrieval.encoder), parser.parse_args().vectors)
    print(
        "| retrieval settings | answer in the prompt | in the first passage | tokens | passages |"
    )
    print("|---|---|---|---|---|")
    for variant in VARIANTS:
        print(row(variant, changed(settings, variant), found, encoder, tokens))
    corpus.close()


def prepare() -> tuple[Corpus, Settings, GgufTokenizer, list[tuple[Question, Evidence]]]:
    """Open the recording: its settings, the model's tokens, the questions with evidence."""
    corpus = Corpus.open(sample_path())
    settings = resolve(corpus=corpus.manifest.settings, env={}).settings
    tokens = GgufTokenizer(read_header(find_weights(settings.engine.model).path))
    return corpus, settings, tokens, research(corpus, settings)


def changed(settings: Settings, variant: Mapping[str, Any]) -> RetrievalSettings:
    """Return the recording's retrieval settings with changes.

    The reranker is named: ``auto`` is another one where that has been pulled.
    """
    base = {**settings.retrieval.model_dump(), "reranker": "maxsim"}
    return RetrievalSettings.model_validate({**base, **variant})


def research(corpus: Corpus, settings: Settings) -> list[tuple[Question, Evidence]]:
    """Return the questions that count, each with its evidence from the recording."""
    assert corpus.questions_path is not None
    found = []
    for question in load_questions(corpus.questions_path).questions:
        if question.gold.answer is None or question.category is Category.MATHS:
            continue
        evidence = search_documents(
            question.text,
            question.category,
            settings=settings,
            transport=corpus.tape("replay"),
            trace=Trace(),
        )
        found.append((question, evidence))
    return found


def row(
    variant: Mapping[str, Any],
    settings: RetrievalSettings,
    found: Sequence[tuple[Question, Evidence]],
    encoder: Encoder,
    tokens: GgufTokenizer,
) -> str:
    """Return one row of the table."""
    inside, first, size, passages = counts(settings, found, encoder, tokens)
    interval, n = wilson(inside, len(found)), len(found)
    name = ", ".join(f"{key} {value}" for key, value in variant.items())
    share = f"{inside}/{n} = {inside / n:.2f} [{interval.lower:.2f}, {interval.upper:.2f}]"
    return f"| {name} | {share} | {first / n:.2f} | {size / n:.0f} | {passages / n:.1f} |"


def counts(
    settings: RetrievalSettings,
    found: Sequence[tuple[Question, Evidence]],
    encoder: Encoder,
    tokens: GgufTokenizer,
) -> tuple[int, int, int, int]:
    """Return prompts with the answer, first passages with it, tokens, passages."""
    inside = first = size = passages = 0
    for question, evidence in found:
        selection = select_passages(
            question.text,
            evidence.documents,
            settings=settings,
            encoder=encoder,
            reranker=reranker_named(settings.reranker),
            count_tokens=tokens.count,
            trace=Trace(),
            options=[option.text for option in question.options],
        )
        gold = normalise_text(question.gold.answer or "")
        hits = [gold in normalise_text(passage.text) for passage in selection.passages]
        inside += any(hits)
        first += hits[:1] == [True]
        size += selection.context_tokens
        passages += len(hits)
    return inside, first, size, passages


if __name__ == "__main__":
    main()
