"""What the rule for the prompt's fixed part saves, and what it changes.

python benchmarks/bench_engine.py [--model NAME] [--quick]
pytest benchmarks/bench_engine.py

Both rules answer the same conversations, turn by turn, so that whatever else
the machine does falls on both.  Passages are filler of the length that a real
prompt has; the fixed parts are the real ones.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.contestant.prompting import load_prompts
from harness.contestant.weights import find_weights
from harness.engines import Chat, Engine, Generation, load_engine
from harness.errors import HotseatError, ModelMissingError
from harness.evidence import Passage
from harness.quiz import Category, Option, Question
from harness.settings import EngineSettings

SMALL = "smollm2"
DEFAULT = EngineSettings().model
CONTEXT_WORDS = 330  # about 450 tokens, what a prompt's passages take
WORDS = (
    "the a of in and harbour town lighthouse coast northern winter ferry summer council "
    "built founded keeps oldest tower stone bridge market festival river mill school year"
)
OPTIONS = ("Anvera", "Port Calder", "Saint Voss", "Low Ferry")
IDS = [str(number) for number in range(len(OPTIONS))]


@dataclass
class Told:
    """What one rule did with all conversations."""

    seconds: float = 0.0
    generations: list[Generation] = field(default_factory=list)
    logprobs: list[dict[str, float]] = field(default_factory=list)
    fixed: dict[int, int] = field(default_factory=dict)

    @property
    def prompt_tokens(self) -> int:
        return sum(g.prompt_tokens for g in self.generations)

    @property
    def evaluated(self) -> int:
        """Tokens computed: a reused part once, and its last token again for each question."""
        new = sum(
            g.prompt_tokens - g.reused_tokens + (g.reused_tokens > 0) for g in self.generations
        )
        return new + sum(self.fixed.values())


def conversations(categories: int, each: int) -> list[Chat]:
    """Return conversations that alternate between categories, as a game's do."""
    prompts = load_prompts()
    chosen = [category for category in Category if category is not Category.MATHS][:categories]
    words = WORDS.split()
    found = []
    for number in range(each):
        for category in chosen:
            chance = random.Random(f"{category} {number}")
            text = " ".join(chance.choice(words) for _ in range(CONTEXT_WORDS)).capitalize() + "."
            place = chance.choice(OPTIONS)
            passages = (Passage((0, 0), f"{place} keeps it. {text}", "The coast", "", "page"),)
            options = tuple(Option(i, name) for i, name in enumerate(OPTIONS))
            ask = f"Which town keeps lighthouse number {number}?"
            found.append(prompts.chat(Question("q", category, ask, options), passages))
    return found


@contextmanager
def engine(model: str, prefix: str) -> Iterator[Engine]:
    settings = EngineSettings(model=model, prefix=prefix)
    weights = find_weights(model)
    loaded = load_engine(settings, weights.path, name=weights.name, sha256=weights.sha256)
    try:
        yield loaded
    finally:
        loaded.close()


def read(asked: Engine, chat: Chat, told: Told) -> None:
    """Let an engine read a prompt, and keep how long it took and what it expects next."""
    started = time.perf_counter()
    generation = asked.generate(chat, max_tokens=1)
    told.seconds += time.perf_counter() - started
    told.generations.append(generation)
    if generation.reused_tokens:
        told.fixed[hash(chat.messages[: chat.fixed])] = generation.reused_tokens


def write(asked: Engine, chat: Chat, tokens: int) -> tuple[str, dict[str, float]]:
    generation = asked.generate(chat, max_tokens=tokens)
    return generation.text, asked.next_token_logprobs(chat, IDS)


def table(model: str, *, categories: int, each: int, tokens: int) -> str:
    """Return the Markdown table over ``categories`` times ``each`` conversations."""
    chats = conversations(categories, each)
    rules = {"none": Told(), "fixed": Told()}
    with engine(model, "none") as plain, engine(model, "fixed") as ruled:
        both = {"none": plain, "fixed": ruled}
        for chat in chats:
            for name, told in rules.items():
                read(both[name], chat, told)
        written = {name: [write(both[name], chat, tokens) for chat in chats] for name in both}
        backwards = [write(ruled, chat, tokens) for chat in reversed(chats)][::-1]
        info = ruled.describe()
    lines = [
        "## Reading the prompt, with and without its fixed part kept",
        "",
        f"{info.model}, {info.engine} {info.version}, {info.settings['threads']} threads; "
        f"{len(chats)} conversations in {categories} categories, in turn; one question at a time.",
        "",
        "| rule (`engine.prefix`) | prompt tokens | of them computed | seconds to read them | "
        "prompt tokens a second | gain |",
        "|---|---|---|---|---|---|",
    ]
    base = rules["none"].seconds
    for name, told in rules.items():
        lines.append(
            f"| {name} | {told.prompt_tokens:,} | {told.evaluated:,} | {told.seconds:.1f} | "
            f"{told.prompt_tokens / told.seconds:.0f} | {base / told.seconds:.2f}× |"
        )
    return "\n".join([*lines, "", compared(written, backwards, tokens)])


def compared(
    written: dict[str, list[tuple[str, dict[str, float]]]],
    backwards: Sequence[tuple[str, dict[str, float]]],
    tokens: int,
) -> str:
    """Say what the rule changes, and that nothing else does."""
    pairs = list(zip(written["none"], written["fixed"], strict=True))
    texts = sum(one[0] == other[0] for one, other in pairs)
    best = sum(max(one[1], key=one[1].__getitem__) == max(other[1], key=other[1].__getitem__)
               for one, other in pairs)  # fmt: skip
    apart = max(abs(one[1][i] - other[1][i]) for one, other in pairs for i in IDS)
    same = "are bit-identical" if list(backwards) == written["fixed"] else "DIFFER"
    return (
        f"Under `fixed`, all results (texts and log-probabilities) {same} when the "
        f"conversations are asked in reverse order. Between the two rules, {texts} of "
        f"{len(pairs)} texts of {tokens} tokens are equal, {best} of {len(pairs)} most probable "
        f"options, and log-probabilities lie at most {apart:.3f} apart: the sums are made in "
        "another order, which is why the rule belongs to a run's identity."
    )


@pytest.fixture(scope="module", params=["none", "fixed"])
def small(request: Any) -> Iterator[Engine]:
    try:
        with engine(SMALL, request.param) as loaded:
            yield loaded
    except ModelMissingError as error:
        if os.environ.get("HOTSEAT_REQUIRE_MODELS", "") not in ("", "0"):
            raise
        pytest.skip(str(error))


@pytest.mark.models
def test_read_a_prompt(benchmark: Any, small: Engine):
    chats = conversations(1, 3)
    small.generate(chats[0], max_tokens=1)  # the fixed part, once
    turn = iter(range(1_000))

    def ask() -> Generation:
        return small.generate(chats[next(turn) % len(chats)], max_tokens=1)

    generation = benchmark.pedantic(ask, rounds=3, iterations=1)
    benchmark.extra_info["reused_tokens"] = generation.reused_tokens
    assert (generation.reused_tokens > 0) == (small.describe().settings["prefix"] == "fixed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help=f"default {DEFAULT}; with --quick {SMALL}")
    parser.add_argument("--quick", action="store_true", help="a small model and shorter answers")
    asked = parser.parse_args()
    try:
        if asked.quick:
            print(table(asked.model or SMALL, categories=2, each=2, tokens=16))
        else:
            print(table(asked.model or DEFAULT, categories=2, each=2, tokens=24))
    except HotseatError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
