"""Does a chat server continue an answer that was begun for it?  Found out, never assumed.

Servers that don't know the idea close the begun turn and open a new one, and
answer all the same.  The prompt's token count gives it away: continuing "A"
costs exactly its tokens, closing a turn and opening another costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.engines._http import RefusedError
from harness.engines._replies import read_reply

__all__ = ["Continuing", "find_out"]

_ASK = [{"role": "user", "content": "Name one letter."}]
_SHORT = "A"
_ODD = "Zyx-47 qvarn"  # nothing that one token can spell


@dataclass(frozen=True, slots=True)
class Continuing:
    """Whether a begun turn is continued, the fields that ask for it, and the echo.

    ``echoes`` is true where the reply repeats what was begun.
    """

    works: bool
    fields: dict[str, Any] = field(default_factory=dict)
    echoes: bool = False


def find_out(
    send: Callable[[dict[str, Any]], Any],
    ways: Sequence[dict[str, Any]],
    *,
    tokens: int,
) -> Continuing:
    """Try the ``ways`` and return the first under which a begun turn is continued.

    ``send`` sends a chat request; ``tokens`` is what "A" counts.  A server
    that does not tell the length of a prompt counts as one that does not continue.
    """
    plain = read_reply(send(_begun("")))
    for way in ways:
        try:
            short = read_reply(send({**_begun(_SHORT), **way}))
            if plain.prompt_tokens is None or short.prompt_tokens is None:
                return Continuing(False)
            if short.prompt_tokens - plain.prompt_tokens == tokens:
                odd = read_reply(send({**_begun(_ODD), **way}))
                return Continuing(True, way, odd.text.startswith(_ODD))
        except RefusedError as error:
            if error.status in (401, 403):
                raise
    return Continuing(False)


def _begun(text: str) -> dict[str, Any]:
    turn = [{"role": "assistant", "content": text}] if text else []
    return {"messages": _ASK + turn, "max_tokens": 1}
