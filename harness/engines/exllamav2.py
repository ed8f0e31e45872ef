"""ExLlamaV2 on an NVIDIA GPU: a 4-bit 7B model at several times the CPU's speed.

Reads a model folder: EXL2, 4-bit GPTQ, or unquantised half precision.  Weights
and cache are spread over the visible GPUs in their order, as far as needed.

Determinism.  Batch size 1, greedy decoding (of equally probable tokens the
first, chosen on the CPU), the attention of PyTorch whatever faster one is
installed, and a cache that is empty before every prompt: no prompt is reused,
so neither the order of questions nor what was asked before can matter.  That
is all that can be promised for quantised weights, because ExLlamaV2's kernels
for single tokens add up partial sums in an order that the GPU decides, in half
precision: the last digits may differ from run to run, and with them, rarely, a
token that two options were close for.  ``describe()`` says so as
``repeatable``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines._decoding import (
    best_token,
    candidate_logprobs,
    check_finite,
    continue_greedily,
)
from harness.engines._exl2_folder import ModelFolder, cache_bytes, inspect_folder
from harness.engines._template import ChatTemplate
from harness.engines._window import check_window
from harness.engines.availability import Gpu, availability, check_ready, gpus
from harness.engines.protocol import Chat, EngineInfo, Generation
from harness.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ExLlamaV2Engine", "is_available"]

BATCH_SIZE = 1
MAX_INPUT_TOKENS = 1_024
"""Prompt tokens evaluated at once."""

# Beside weights and cache: buffers to compute in, most of them for attention
# (two of tokens at once × window × heads), and the driver's own share.
_ROOM_BYTES = 3 << 29
_CACHES = {
    "fp16": "ExLlamaV2Cache",
    "q8": "ExLlamaV2Cache_Q8",
    "q6": "ExLlamaV2Cache_Q6",
    "q4": "ExLlamaV2Cache_Q4",
}
# The library checks with bare assertions and raises whatever torch does.
_LIBRARY_ERRORS = (
    RuntimeError,
    AssertionError,
    ValueError,
    KeyError,
    TypeError,
    OSError,
    ImportError,
)


def is_available() -> bool:
    """Say whether packages and a fitting GPU are here; see ``harness.engines.availability``."""
    return availability("exllamav2").ready


class ExLlamaV2Engine:
    """A model folder loaded with ExLlamaV2.

    ``context_window`` counts tokens of one conversation, prompt and answer
    together.  ``cache_type`` is the precision of the attention cache: ``fp16``,
    ``q8``, ``q6`` or ``q4``.  Not safe for several threads at once.  Raises
    :class:`~harness.errors.EngineError` for a folder that can't be used, a
    window that the model was not trained for, or GPUs that lack something.
    """

    def __init__(
        self,
        path: Path,
        *,
        model: str,
        model_sha256: str,
        context_window: int = 2_048,
        cache_type: str = "fp16",
    ) -> None:
        folder = inspect_folder(path, context_window=context_window)
        if cache_type not in _CACHES:
            raise EngineError(
                f"There is no cache type '{cache_type}'; known: {', '.join(_CACHES)}."
            )
        cards = gpus()  # once: a driver's tool that is slow to answer may not do so twice
        check_ready("exllamav2", cards)
        self._window = context_window
        check_fits(folder, cards, window=self._window, cache_type=cache_type)
        self._text = FolderText(folder)
        self._folder = folder
        self._model: Any = None
        self._cache: Any = None
        self._load(cache_type)
        self._info = self._describe(model, model_sha256, cache_type, cards[0].name)

    def _load(self, cache_type: str) -> None:
        # Read by cuBLAS when it starts: with it, equal sums are added in equal order.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        try:
            # The library prints while it builds its GPU part; stdout is for results.
            with contextlib.redirect_stdout(sys.stderr):
                import exllamav2

                config = exllamav2.ExLlamaV2Config(str(self._folder.path))
                for name, value in config_values(self._window).items():
                    setattr(config, name, value)
                config.arch_compat_overrides(quiet=True)
                self._model = exllamav2.ExLlamaV2(config)
                kind = getattr(exllamav2, _CACHES[cache_type])
                self._cache = kind(
                    self._model, batch_size=BATCH_SIZE, max_seq_len=self._window, lazy=True
                )
                self._model.load_autosplit(self._cache, last_id_only=True)
        except _LIBRARY_ERRORS as error:
            self._free()
            raise EngineError(
                f"ExLlamaV2 can't load {self._folder.path}: {_line(error)}.",
                remedy="Check the folder with 'hotseat models verify', lower "
                "engine.context_window, or use --preset cpu.",
            ) from None

    def _describe(self, model: str, sha256: str, cache_type: str, gpu: str) -> EngineInfo:
        from importlib import metadata

        settings = {
            "attention": "torch",
            "batch_size": BATCH_SIZE,
            "cache_type": cache_type,
            "context_window": self._window,
            "decoding": "greedy",
            "gpu": gpu,
            "prefix": "none",
            "quantisation": f"{self._folder.quantisation} {self._folder.bits:g} bit",
            "repeatable": self._folder.quantisation == "none",
            "torch": metadata.version("torch"),
        }
        return EngineInfo("exllamav2", metadata.version("exllamav2"), model, sha256, settings)

    def describe(self) -> EngineInfo:
        """Return engine, version, model, its hash, and the settings that move results."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` is, without special ones."""
        return len(self._text.encode(text))

    def generate(self, chat: Chat, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Continue ``chat`` greedily up to a stop string or ``max_tokens``."""
        prompt = self._prompt(chat, max_tokens)
        written = continue_greedily(
            best_token(self._evaluate(prompt, fresh=True)),
            step=lambda token: best_token(self._evaluate([token], fresh=False)),
            decode=self._text.decode,
            ends=self._text.ends.__contains__,
            max_tokens=max_tokens,
            stop=stop,
        )
        return Generation(written.text, len(prompt), written.tokens, 0, written.stopped)

    def next_token_logprobs(self, chat: Chat, candidates: Sequence[str]) -> dict[str, float]:
        """Return the natural-log probability of each candidate's first token."""
        logits = self._evaluate(self._prompt(chat, 1), fresh=True)
        return candidate_logprobs(logits, candidates, self._text.encode)

    def close(self) -> None:
        """Free the model; the engine can't be used afterwards."""
        self._free()

    def _free(self) -> None:
        model, self._model, self._cache = self._model, None, None
        if model is None:
            return
        model.unload()
        del model
        gc.collect()
        import torch

        torch.cuda.empty_cache()

    def _prompt(self, chat: Chat, max_tokens: int) -> list[int]:
        tokens = self._text.prompt(chat)
        check_window(len(tokens) + max_tokens, self._window)
        return tokens

    def _evaluate(self, tokens: Sequence[int], *, fresh: bool) -> NDArray[np.float32]:
        """Return the logits that follow ``tokens``; ``fresh`` starts a conversation."""
        if self._model is None:
            raise EngineError("This engine was closed.")
        import torch

        if fresh:
            self._cache.current_seq_len = 0
        try:
            ids = torch.tensor([list(tokens)], dtype=torch.long)
            logits = self._model.forward(ids, self._cache, last_id_only=True)
        except _LIBRARY_ERRORS as error:
            raise EngineError(
                f"ExLlamaV2 failed: {_line(error)}.",
                remedy="Lower engine.context_window if the GPU's memory ran out.",
            ) from None
        # Padding that the kernels want behind the vocabulary is cut off.
        return check_finite(logits[0, -1, : self._folder.vocabulary].float().cpu().numpy())


class FolderText:
    """Text to tokens and back, by the tokenizer and the chat template of a folder."""

    def __init__(self, folder: ModelFolder) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as error:  # noqa: BLE001 - the library raises bare Exception
            raise EngineError(
                f"Can't read {folder.tokenizer}: {_line(error)}.", remedy="Fetch it again."
            ) from None
        self._template = ChatTemplate(folder.template, bos=folder.bos, eos=folder.eos)
        numbers = (
            end if isinstance(end, int) else self._tokenizer.token_to_id(end) for end in folder.ends
        )
        self.ends = frozenset(number for number in numbers if number is not None)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of ``text``; control tokens in it count as one."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``, without control tokens."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def prompt(self, chat: Chat) -> list[int]:
        """Return the tokens of a conversation that the assistant is to continue."""
        return self.encode(self._template.render(chat.messages, open_turn=True) + chat.prefill)


def config_values(window: int) -> dict[str, Any]:
    """Return what is set in ExLlamaV2's configuration besides what the folder says.

    The attention does not depend on which other libraries happen to be there.
    """
    return {
        "max_seq_len": window,
        "max_batch_size": BATCH_SIZE,
        "max_input_len": min(MAX_INPUT_TOKENS, window),
        "max_attention_size": min(MAX_INPUT_TOKENS, window) * window,
        "no_flash_attn": True,
        "no_xformers": True,
    }


def check_fits(folder: ModelFolder, cards: Sequence[Gpu], *, window: int, cache_type: str) -> None:
    """Refuse a model for which the GPUs ``cards`` have too little free memory together.

    Raises :class:`~harness.errors.EngineError` with the need and what is free.
    """
    need = folder.weights_bytes + cache_bytes(folder, window=window, cache_type=cache_type)
    need += _ROOM_BYTES
    free = sum(gpu.free_bytes for gpu in cards)
    if need > free:
        raise EngineError(
            f"The model in {folder.path.name} needs about {need / 1e9:.1f} GB of GPU memory, "
            f"but {free / 1e9:.1f} GB are free.",
            remedy="Lower engine.context_window, use --set engine.cache_type=q4, close what else "
            "uses the GPU, or use --preset cpu.",
        )


def _line(error: Exception) -> str:
    text = str(error).strip(" #\n") or type(error).__name__
    return text.splitlines()[0].rstrip(".:")
