"""Rendering a conversation with the chat template that a model file carries.

Templates come from strangers' files: they run in Jinja's immutable sandbox.
The text that goes in must not be able to close a turn, so control tokens in
it are taken apart first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.errors import EngineError

if TYPE_CHECKING:
    from harness.engines.protocol import Message

__all__ = ["ChatTemplate", "defuse", "template_parts"]

# ChatML, for files without a template of their own: both model families that
# are shipped as defaults speak it.
_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CONTROL = re.compile(r"<(\|[A-Za-z0-9_▁]{1,40}\|)>|<(/?s)>|\[(/?INST)\]")


def defuse(text: str) -> str:
    """Return ``text`` in which no control token of a chat format is left whole.

    A page or an option that holds ``<|im_end|>`` must stay data: a zero-width
    blank behind the opening bracket keeps it readable and makes it ordinary.
    """
    return _CONTROL.sub(lambda m: m.group(0)[0] + "\u200b" + m.group(0)[1:], text)


class ChatTemplate:
    """A compiled chat template."""

    def __init__(self, source: str | None, *, bos: str = "", eos: str = "") -> None:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _no_time
        self._error = jinja2.TemplateError
        self._names = {"bos_token": bos, "eos_token": eos}
        try:
            self._template = environment.from_string(source or _CHATML)
        except jinja2.TemplateError as error:
            raise EngineError(f"The model's chat template can't be read: {error}.") from None

    def render(self, messages: Sequence[Message], *, open_turn: bool) -> str:
        """Return the prompt text; ``open_turn`` starts the assistant's turn."""
        turns = [{"role": m.role, "content": defuse(m.content)} for m in messages]
        try:
            return self._template.render(
                messages=turns, add_generation_prompt=open_turn, **self._names
            )
        except (self._error, TypeError, ValueError) as error:
            raise EngineError(f"The model's chat template failed: {error}.") from None


def template_parts(metadata: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a GGUF file's chat template and the text of its first and last token.

    The first is empty where llama.cpp puts it in front itself: twice would be
    one too many.
    """
    tokens = metadata.get("tokenizer.ggml.tokens", [])
    bos, eos = (
        tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else ""
        for number in (metadata.get(f"tokenizer.ggml.{n}_token_id") for n in ("bos", "eos"))
    )
    if metadata.get("tokenizer.ggml.add_bos_token") is True:
        bos = ""
    return str(metadata.get("tokenizer.chat_template") or ""), bos, eos


def _raise(message: str) -> None:
    raise ValueError(message)


def _no_time(layout: str) -> str:
    # Some templates print today's date into the prompt; a replay must not.
    return datetime(1970, 1, 1, tzinfo=UTC).strftime(layout)
