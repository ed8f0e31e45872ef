"""Passages into a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.evidence import Passage
from harness.retrieval.chunking import one_line
from harness.retrieval.sentences import units

__all__ = ["Fitted", "fit", "source_block", "source_line"]

_WORTH_CUTTING = 0.5  # share of a passage that a cut must leave, save of the best one


@dataclass(frozen=True, slots=True)
class Fitted:
    """The passages that fit, the tokens they take, and what the budget took away."""

    passages: tuple[Passage, ...]
    tokens: int
    cut: int
    left_out: int


def source_line(passage: Passage, number: int) -> str:
    """Return what heads a passage: ``[1] Title (2024-05-01)``.

    Without a title the address stands in.  Always a single short line, so that
    a page's title can't pass for anything else or use up the room.
    """
    title = one_line(passage.title) or one_line(passage.url)
    date = one_line(passage.date or "")
    return f"[{number}] {title}" + (f" ({date})" if date else "")


def source_block(passage: Passage, number: int) -> str:
    """Return a passage as it is counted: source line, text on one line, a line break."""
    return f"{source_line(passage, number)}: {' '.join(passage.text.split())}\n"


def fit(
    passages: Sequence[Passage], *, budget_tokens: int, count_tokens: Callable[[str], int]
) -> Fitted:
    """Take passages, best first, while their blocks fit ``budget_tokens``.

    One that does not fit is cut after a sentence if that leaves at least half
    of it (of the first: a sentence), else left out; later, shorter ones are
    still tried.  Tokens are counted block by block.
    """
    kept: list[Passage] = []
    used = cut = 0
    for passage in passages:
        number = len(kept) + 1
        for shorter in _shortenings(passage, at_least=_WORTH_CUTTING if kept else 0.0):
            tokens = count_tokens(source_block(shorter, number))
            if used + tokens <= budget_tokens:
                kept.append(shorter)
                used += tokens
                cut += shorter.text != passage.text
                break
    return Fitted(tuple(kept), used, cut, len(passages) - len(kept))


def _shortenings(passage: Passage, *, at_least: float) -> list[Passage]:
    """Return the passage and, one sentence shorter each, its openings, longest first."""
    text = passage.text
    ends = [end for _, end in units(text, len(text))][:-1]
    worth = [end for end in reversed(ends) if end >= at_least * len(text)]
    return [passage, *(replace(passage, text=text[:end]) for end in worth)]
