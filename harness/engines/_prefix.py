"""The rule for llama.cpp's prompt cache that keeps results the same in every order.

llama.cpp keeps what a slot evaluated last and reuses whatever a new prompt
shares with it.  That is fast, but how much is shared depends on what was asked
before, and the last digits of the result with it.  Here a conversation's fixed
part is evaluated once in a slot of its own.  Before each question the slot is
put back to *exactly* the end of that part (its last token evaluated again,
alone), so the rest is always computed from the same state.  The counts that
llama.cpp reports are checked each time: a reuse of any other length is an
error, never a different answer.

The in-process library and llama.cpp's HTTP server take the same requests and
report the same counts, so both engines share this class.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from harness.errors import EngineError

__all__ = ["PrefixSlots", "reused_tokens"]

Call = Callable[[dict[str, Any]], dict[str, Any]]


class PrefixSlots:
    """The slots of one llama.cpp, and which fixed part each of them holds.

    ``complete`` sends a plain completion request and returns the reply.  The
    last of ``slots`` takes conversations without a fixed part, so that they
    disturb none of the others; with a single slot everything goes through it
    and fixed parts are evaluated again where needed.
    """

    def __init__(self, complete: Call, *, slots: int) -> None:
        self._complete = complete
        self._room = max(1, slots - 1)
        self._loose = slots - 1
        self._slots: OrderedDict[str, int] = OrderedDict()
        self._tokens: dict[str, int] = {}

    def send(
        self, fixed: str, request: dict[str, Any], through: Call | None = None
    ) -> dict[str, Any]:
        """Send ``request``, whose prompt begins with ``fixed``, and return the reply.

        Without a fixed part (``""``) nothing is reused.  ``through`` sends the
        request itself where that is not a plain completion.  Raises
        :class:`~harness.errors.EngineError` when llama.cpp reused anything
        but the fixed part.
        """
        through = through or self._complete
        if not fixed:
            return through({**request, "id_slot": self._loose, "cache_prompt": False})
        slot = self._rewind(fixed)
        reply = through({**request, "id_slot": slot, "cache_prompt": True})
        reused = reused_tokens(reply)
        if reused != self._tokens[fixed]:
            raise EngineError(
                f"llama.cpp reused {reused} prompt tokens where the rule is "
                f"{self._tokens[fixed]}; the answer would not be reproducible.",
                remedy="Use --set engine.prefix=none and report this.",
            )
        return reply

    def _rewind(self, fixed: str) -> int:
        """Put a slot to exactly the end of ``fixed`` and return its number."""
        slot = self._slots.get(fixed)
        if slot is None:
            slot = self._slots[fixed] = self._take_slot()
            self._evaluate_whole(fixed, slot)
        self._slots.move_to_end(fixed)
        if not self._evaluate_last(fixed, slot):
            # Something else went through this slot, such as a request cut short.
            self._evaluate_whole(fixed, slot)
            if not self._evaluate_last(fixed, slot):
                raise EngineError(
                    "llama.cpp does not keep a prompt's fixed part; the answer would not "
                    "be reproducible.",
                    remedy="Use --set engine.prefix=none.",
                )
        return slot

    def _evaluate_whole(self, fixed: str, slot: int) -> None:
        reply = self._complete(_evaluate(fixed, slot, reuse=False))
        self._tokens[fixed] = _prompt_tokens(reply)

    def _evaluate_last(self, fixed: str, slot: int) -> bool:
        """Evaluate the last token of ``fixed`` again; say whether all others were kept."""
        if fixed not in self._tokens:
            return False  # its first evaluation failed
        reply = self._complete(_evaluate(fixed, slot, reuse=True))
        return reused_tokens(reply) == self._tokens[fixed] - 1

    def _take_slot(self) -> int:
        if len(self._slots) < self._room:
            return len(self._slots)
        oldest, slot = self._slots.popitem(last=False)
        self._tokens.pop(oldest, None)
        return slot


def reused_tokens(reply: dict[str, Any]) -> int:
    """Return how many prompt tokens were taken from the cache, -1 if the reply doesn't say."""
    try:
        return int(reply["usage"]["prompt_tokens_details"]["cached_tokens"])
    except (KeyError, TypeError, ValueError):
        return -1


def _prompt_tokens(reply: dict[str, Any]) -> int:
    try:
        return int(reply["usage"]["prompt_tokens"])
    except (KeyError, TypeError, ValueError):
        raise EngineError(
            "llama.cpp's reply does not say how many tokens the prompt has.",
            remedy="Use --set engine.prefix=none.",
        ) from None


def _evaluate(prompt: str, slot: int, *, reuse: bool) -> dict[str, Any]:
    return {"prompt": prompt, "n_predict": 0, "id_slot": slot, "cache_prompt": reuse}
