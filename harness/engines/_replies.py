"""Reading what a model server replied, whichever dialect of the two interfaces it speaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.engines.protocol import Generation
from harness.errors import EngineError, NoLogprobsError

__all__ = ["LLAMA_LOGPROBS", "Listed", "Reply", "read_reply", "score"]

LLAMA_LOGPROBS = 512
"""How many of the most probable tokens llama.cpp is asked for, in this process or behind a server.
"""

_AS_ID = "token_id:"  # how vLLM writes a token as its number


@dataclass(frozen=True, slots=True)
class Listed:
    """One of the most probable next tokens; ``number`` where the server tells it."""

    token: str
    number: int | None
    logprob: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: counts are ``None`` where the server keeps them to itself.

    ``first`` lists the candidates for the first token, empty without log-probabilities.
    """

    text: str
    cut: bool
    prompt_tokens: int | None
    output_tokens: int | None
    reused_tokens: int
    first: tuple[Listed, ...]

    def as_generation(
        self,
        *,
        expected: int,
        count: Callable[[str], int],
        stop: Sequence[str],
        prefilled: bool = True,
    ) -> Generation:
        """Return what was generated, asked for with these ``stop`` strings.

        What the reply leaves untold is taken from ``expected``, the tokens that the
        prompt should have, and from ``count``.
        """
        counted = self.output_tokens
        return Generation(
            text=self.text,
            prompt_tokens=expected if self.prompt_tokens is None else self.prompt_tokens,
            output_tokens=count(self.text) if counted is None else counted,
            reused_tokens=self.reused_tokens,
            stopped="limit" if self.cut else ("stop" if stop else "end"),
            prefilled=prefilled,
        )


def read_reply(data: Any, *, echoed: str = "") -> Reply:
    """Read a reply of either interface.

    ``echoed`` is text that the server repeats in front of its own.  Raises
    :class:`~harness.errors.EngineError` for anything that is no such reply.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise EngineError(
            "The model server's reply holds no choice to read.",
            remedy="Is engine.server the address of an OpenAI-compatible server?",
        )
    text = _text(choice)
    if echoed:
        if not text.startswith(echoed):
            raise EngineError(
                "The model server left out the beginning of the answer that it repeats otherwise.",
                remedy="Use --set engine.server_api=completion.",
            )
        text = text[len(echoed) :]
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    reused = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Reply(
        text=text,
        cut=choice.get("finish_reason") == "length",
        prompt_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        reused_tokens=reused or 0,
        first=tuple(_first(choice.get("logprobs"))),
    )


def score(
    listed: Sequence[Listed],
    candidates: Sequence[str],
    first_token: Callable[[str], int | None] | None,
) -> dict[str, float]:
    """Return each candidate's log-probability; one not listed gets the lowest listed.

    ``first_token`` gives the number of a text's first token.  Without it, or
    where the server tells no numbers, a candidate takes the longest listed
    token that it begins with.  Raises
    :class:`~harness.errors.NoLogprobsError` when nothing is listed.
    """
    if not listed:
        raise NoLogprobsError("The model's reply holds no log-probabilities.")
    floor = min(item.logprob for item in listed)
    if first_token is not None and all(item.number is not None for item in listed):
        by_number = {item.number: item.logprob for item in listed}
        return {text: by_number.get(first_token(text), floor) for text in candidates}
    by_text = {item.token: item.logprob for item in reversed(listed)}
    return {text: _longest(text, by_text, floor) for text in candidates}


def _longest(text: str, by_text: Mapping[str, float], floor: float) -> float:
    for end in range(len(text), 0, -1):
        if text[:end] in by_text:
            return by_text[text[:end]]
    return floor


def _text(choice: dict[str, Any]) -> str:
    message = choice.get("message")
    if not isinstance(message, dict):
        text = choice.get("text")
        if isinstance(text, str):
            return text
        raise EngineError("The model server's reply holds no text.")
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    # A server that keeps a model's thoughts apart: they go back to where they were written.
    thought = message.get("reasoning_content") or message.get("reasoning")
    return f"<think>{thought}</think>{text}" if isinstance(thought, str) and thought else text


def _first(logprobs: Any) -> Iterator[Listed]:
    if not isinstance(logprobs, dict):
        return
    content, top = logprobs.get("content"), logprobs.get("top_logprobs")
    if isinstance(content, list) and content and isinstance(content[0], dict):
        for item in content[0].get("top_logprobs") or ():
            if isinstance(item, dict):
                yield from _listed(item.get("token"), item.get("id"), item.get("logprob"))
    elif isinstance(top, list) and top and isinstance(top[0], dict):
        for token, logprob in top[0].items():
            yield from _listed(token, None, logprob)


def _listed(token: Any, number: Any, logprob: Any) -> Iterator[Listed]:
    if not isinstance(token, str) or not isinstance(logprob, int | float) or math.isnan(logprob):
        return
    if number is None and token.startswith(_AS_ID) and token[len(_AS_ID) :].isdecimal():
        number = int(token[len(_AS_ID) :])
    yield Listed(token, number if isinstance(number, int) else None, float(logprob))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
