"""The answer contract: from a question and its passages to a conversation.

Prompts are files (``prompts/<style>/``): one ``system.txt`` for all and one
TOML file per category with a persona and a solved example.  A family of
prompts is identified by the hash over its files, which stands in every run's
manifest.  The system turn and the example are the *fixed part*: equal for all
questions of a category, so an engine may evaluate them once.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from harness.engines import Chat, Message
from harness.evidence import Passage
from harness.quiz import Category, Option, Question
from harness.retrieval import source_block

__all__ = [
    "PREFILL",
    "PromptFamily",
    "is_cut",
    "load_prompts",
    "render_passage",
    "render_user_turn",
]

# The assistant's turn begins with this header: small models keep to a form
# they have already begun.
PREFILL = "Finding:"

_MAX_QUESTION_CHARS = 2_000
_MAX_OPTION_CHARS = 400


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """A loaded family of prompts: fixed messages by category, and their hash."""

    style: str
    sha256: str
    fixed: Mapping[Category, tuple[Message, ...]]

    def chat(self, question: Question, passages: Sequence[Passage]) -> Chat:
        """Return the conversation that asks ``question`` over ``passages``."""
        fixed = self.fixed[question.category]
        turn = Message("user", render_user_turn(question, passages))
        return Chat((*fixed, turn), prefill=PREFILL, fixed=len(fixed))


def load_prompts(style: str = "contract") -> PromptFamily:
    """Read a family of prompts from the package."""
    folder = resources.files("harness.contestant") / "prompts" / style
    texts = {
        item.name: item.read_text(encoding="utf-8")
        for item in folder.iterdir()
        if item.name.endswith((".txt", ".toml"))
    }
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\n{texts[name]}\n".encode())
    fixed = {
        category: _fixed_part(texts["system.txt"], tomllib.loads(texts[f"{category}.toml"]))
        for category in Category
    }
    return PromptFamily(style, digest.hexdigest(), fixed)


def _fixed_part(system: str, data: Mapping[str, Any]) -> tuple[Message, ...]:
    example = data["example"]
    options = tuple(Option(number, text) for number, text in enumerate(example["options"]))
    question = Question("example", Category.HISTORY, example["question"], options)
    passages = [
        Passage((0, i), p["text"], p["title"], "", "page", date=p["date"] or None)
        for i, p in enumerate(example["passages"])
    ]
    lines = [f"{PREFILL} {example['finding']}"]
    for option, why in zip(options, example["reasons"], strict=True):
        verdict = "supported" if option.id == example["answer"] else "contradicted"
        lines.append(f"{option.id} {option.text}: {verdict}, {why}")
    right = options[example["answer"]]
    lines.append(f"ANSWER: {right.id} {right.text}")
    return (
        Message("system", system.replace("{persona}", data["persona"]).strip()),
        Message("user", render_user_turn(question, passages)),
        Message("assistant", "\n".join(lines)),
    )


def render_user_turn(question: Question, passages: Sequence[Passage]) -> str:
    """Return the user's turn: fenced passages, the question, options by id."""
    parts = []
    if passages:
        quoted = "\n".join(render_passage(p, i) for i, p in enumerate(passages, 1))
        parts.append(f"<passages>\n{quoted}\n</passages>")
    else:
        parts.append("No passages: use your own knowledge.")
    parts.append(f"Question: {_line(question.text, _MAX_QUESTION_CHARS)}")
    parts += [f"{o.id} {_line(o.text, _MAX_OPTION_CHARS)}" for o in question.options]
    return "\n".join(parts)


def is_cut(question: Question) -> bool:
    """Say whether the question or one of its options is too long to be shown whole."""
    lines = [(question.text, _MAX_QUESTION_CHARS)]
    lines += [(option.text, _MAX_OPTION_CHARS) for option in question.options]
    return any(len(" ".join(text.split())) > limit for text, limit in lines)


def render_passage(passage: Passage, number: int) -> str:
    """Return one numbered passage with its title and date, on one line.

    The text can't close the fence it stands in.
    """
    text = source_block(passage, number).rstrip("\n")
    return text.replace("<passages>", "(passages)").replace("</passages>", "(/passages)")


def _line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
