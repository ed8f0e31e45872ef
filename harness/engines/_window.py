"""What does not fit into a context window: said alike by every engine."""

from __future__ import annotations

from harness.errors import EngineError

__all__ = ["check_trained", "check_window"]


def check_window(need: int, window: int) -> None:
    """Raise :class:`~harness.errors.EngineError` if ``need`` tokens are more than ``window``.

    ``need`` counts a prompt together with the answer it leaves room for.
    """
    if need > window:
        raise EngineError(
            f"The prompt needs {need} tokens with its answer, and engine.context_window is "
            f"{window}.",
            remedy="Raise engine.context_window or lower retrieval.context_tokens.",
        )


def check_trained(name: str, trained: int, window: int) -> None:
    """Raise :class:`~harness.errors.EngineError` for a window wider than a model was trained for.

    ``trained`` counts tokens; 0 where the model doesn't say, which allows any window.
    Nothing is lowered in silence: prompts are cut to the window that is set.
    """
    if 0 < trained < window:
        raise EngineError(
            f"The model {name} was trained for {trained} tokens, "
            f"engine.context_window is {window}.",
            remedy="Lower engine.context_window, or name another model.",
        )
