"""What every language-model engine can do, and the values it speaks in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["Chat", "Engine", "EngineInfo", "Generation", "Message"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation that the model is to continue.

    The first ``fixed`` messages are the same for many questions: an engine may
    evaluate them once and reuse exactly that state.  ``prefill`` is text with
    which the assistant's turn already begins.
    """

    messages: tuple[Message, ...]
    prefill: str = ""
    fixed: int = 0


@dataclass(frozen=True, slots=True)
class Generation:
    """What the model wrote.

    ``text`` excludes the prefill; ``prompt_tokens`` counts the whole prompt,
    ``reused_tokens`` the part whose evaluation was reused.  ``stopped`` is
    ``"limit"`` when the token limit cut the text.  ``prefilled`` is ``False``
    where the engine could not begin the turn with the prefill: the text is
    then the whole turn.
    """

    text: str
    prompt_tokens: int
    output_tokens: int
    reused_tokens: int
    stopped: Literal["end", "stop", "limit"]
    prefilled: bool = True


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An engine's identity: what has to be equal for results to be equal."""

    engine: str
    version: str
    model: str
    model_sha256: str
    settings: Mapping[str, Any]


class Engine(Protocol):
    """A loaded language model; one request at a time."""

    def describe(self) -> EngineInfo:
        """Return the identity that belongs in a run's manifest."""

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` is to this model, without special ones."""

    def generate(self, chat: Chat, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Continue ``chat`` greedily up to a stop string or ``max_tokens``.

        Raises :class:`~harness.errors.EngineError` when the prompt does not
        fit the context window or the engine fails.
        """

    def next_token_logprobs(self, chat: Chat, candidates: Sequence[str]) -> dict[str, float]:
        """Return the natural-log probability of each candidate as the next token.

        A candidate of several tokens is scored by its first; candidates that
        share a first token share its value.  Over the full vocabulary, not
        renormalised over the candidates.  Raises
        :class:`~harness.errors.NoLogprobsError` where the engine can't tell.
        """

    def close(self) -> None:
        """Free the model."""
