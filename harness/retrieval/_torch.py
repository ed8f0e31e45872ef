"""What both sentence-transformers models share: loading offline, quietly, on a stated device."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from harness.errors import EngineError
from harness.retrieval._folder import first_line
from harness.retrieval._tokens import Tokenised

__all__ = ["INSTALL", "computing", "describe", "installed", "load", "pick_device", "tensors"]

INSTALL = "pip install 'hotseat[torch]'"


def installed() -> bool:
    """Whether sentence-transformers and torch are here, without importing them."""
    return all(importlib.util.find_spec(name) for name in ("sentence_transformers", "torch"))


def pick_device(device: str, what: str) -> str:
    """Return ``device`` if it can be used.

    Raises :class:`~harness.errors.EngineError` without the libraries, and for
    ``cuda`` where there is no GPU.
    """
    if not installed():
        raise EngineError(
            f"The {what} needs sentence-transformers, which isn't installed.",
            remedy=f"Install it with: {INSTALL}",
        )
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise EngineError(
            f"The {what} is to run on a GPU, and torch finds none.",
            remedy="Use --set retrieval.device=cpu.",
        )
    return device


def load(make: Callable[..., Any], folder: str, device: str, what: str, **options: Any) -> Any:
    """Load a model from a local folder: nothing is fetched, no code and no pickle is run.

    The weights are widened to float32.  Raises
    :class:`~harness.errors.EngineError` when they can't be used.
    """
    try:
        with _quiet():
            model = make(
                folder,
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
                **options,
            )
            return model.float().eval()
    except Exception as error:  # noqa: BLE001 - several libraries, each with classes of its own
        raise EngineError(
            f"sentence-transformers can't load the {what}: {first_line(error)}.",
            remedy="Verify pulled models with 'hotseat models verify', or fetch your own again.",
        ) from None


@contextmanager
def computing(threads: int, what: str) -> Iterator[None]:
    """Compute with so many threads; the number is the process's, so it is put back.

    Raises :class:`~harness.errors.EngineError` for what goes wrong in torch,
    such as a GPU without memory left.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        raise EngineError(f"The {what} failed: {first_line(error)}.") from None
    finally:
        torch.set_num_threads(before)


def tensors(tokens: Tokenised, device: str, accepted: Callable[[str], bool]) -> dict[str, Any]:
    """Return the tensors that a model is fed, with those names that it takes."""
    import torch

    arrays = tokens.feed(["input_ids", "attention_mask", "token_type_ids"])
    return {
        name: torch.from_numpy(array).to(device) for name, array in arrays.items() if accepted(name)
    }


def describe(device: str) -> dict[str, str]:
    """Return device and library versions, for a manifest."""
    import torch

    where = torch.cuda.get_device_name() if device == "cuda" else device
    return {
        "device": where,
        "sentence_transformers": metadata.version("sentence-transformers"),
        "transformers": metadata.version("transformers"),
        "torch": str(torch.__version__),
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide transformers' progress bars; they are on or off for the whole process."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
