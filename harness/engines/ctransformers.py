"""Old llama-family files, through ``ctransformers`` (2023, its last release).

Reads what current llama.cpp no longer does: GGML files (``ggjt`` version 3),
and GGUF version 2, of llama models.  Everything else is refused before the C
library sees it; see :mod:`harness.engines._old_llama`.

Old files carry no chat template, so every conversation is written in the form
that Llama 2 was trained on (see ``_LLAMA2``), whatever the model.

Determinism.  Greedy decoding (of equally probable tokens the first), fixed
threads, one conversation at a time, and every prompt evaluated from its first
token in batches of the same size: nothing is reused and no state is left over.
Which of its libraries ctransformers picks depends on the processor, moves the
last digits of the results, and is therefore part of the identity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines._decoding import (
    best_token,
    candidate_logprobs,
    check_finite,
    continue_greedily,
)
from harness.engines._memory import free_bytes
from harness.engines._old_llama import CONVERT, OldLlama, inspect_file
from harness.engines._template import ChatTemplate
from harness.engines._window import check_window
from harness.engines.availability import availability, check_ready
from harness.engines.protocol import Chat, EngineInfo, Generation
from harness.engines.xllamacpp import default_threads
from harness.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CTransformersEngine", "is_available"]

BATCH_TOKENS = 64
"""Prompt tokens evaluated at once."""

_LLAMA2 = (
    "{% set ns = namespace(system='') %}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}"
    "{% set ns.system = '<<SYS>>\n' ~ m.content ~ '\n<</SYS>>\n\n' %}"
    "{% elif m.role == 'user' %}"
    "{{ bos_token }}[INST] {{ ns.system }}{{ m.content }} [/INST]{% set ns.system = '' %}"
    "{% else %} {{ m.content }} {{ eos_token }}{% endif %}"
    "{% endfor %}"
    "{% if ns.system %}{{ bos_token }}[INST] {{ ns.system }}[/INST]{% endif %}"
)
_BOS, _EOS = "<s>", "</s>"
_SPECIAL = re.compile(f"({_BOS}|{_EOS})")
_SYSTEM_MARK = re.compile(r"<(</?SYS>>)")
_ROOM_BYTES = 512 << 20  # what the library sets aside to compute in
_GIB = 2**30


def is_available() -> bool:
    """Say whether the package is installed; see :mod:`harness.engines.availability`."""
    return availability("ctransformers").ready


class CTransformersEngine:
    """A llama model in an old file format.

    ``context_window`` counts tokens of one conversation, prompt and answer
    together.  Not safe for several threads at once.  Raises
    :class:`~harness.errors.EngineError` for a file that can't be used, a window
    that the model was not trained for, or too little memory.
    """

    def __init__(
        self,
        path: Path,
        *,
        model: str,
        model_sha256: str,
        context_window: int = 2_048,
        threads: int = 0,
        check_memory: bool = True,
    ) -> None:
        found = inspect_file(path, context_window=context_window)
        check_ready("ctransformers")
        self._window = context_window
        if check_memory:
            _check_fits(path, found, self._window)
        self._threads = threads or default_threads()
        self._template = ChatTemplate(_LLAMA2, bos=_BOS, eos=_EOS)
        library = _library()
        self._info = self._describe(model, model_sha256, found, Path(library).parent.name)
        self._llm: Any = self._load(path, found, library)
        self._vocabulary = found.vocabulary

    def _describe(self, model: str, sha256: str, found: OldLlama, library: str) -> EngineInfo:
        from importlib import metadata

        settings = {
            "batch_size": BATCH_TOKENS,
            "context_window": self._window,
            "decoding": "greedy",
            "file": found.form,
            "library": library,
            "prefix": "none",
            "template": "llama-2",
            "threads": self._threads,
        }
        return EngineInfo(
            "ctransformers", metadata.version("ctransformers"), model, sha256, settings
        )

    def _load(self, path: Path, found: OldLlama, library: str) -> Any:
        from ctransformers import LLM, Config

        config = Config(context_length=self._window, batch_size=BATCH_TOKENS, threads=self._threads)
        try:
            llm = LLM(str(path), found.library_type, config=config, lib=library)
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineError(
                f"ctransformers can't load {path}: {_line(error)}.",
                remedy=CONVERT,
            ) from None
        if llm.vocab_size != found.vocabulary:
            raise EngineError(f"ctransformers read another vocabulary from {path} than it holds.")
        return llm

    def describe(self) -> EngineInfo:
        """Return engine, version, model, its hash, and the settings that move results."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` is, without special ones."""
        return len(self._encode(text))

    def generate(self, chat: Chat, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Continue ``chat`` greedily up to a stop string or ``max_tokens``."""
        prompt = self._prompt(chat, max_tokens)
        place = len(prompt)

        def step(token: int) -> int:
            nonlocal place
            self._evaluate([token], place)
            place += 1
            return best_token(self._logits())

        self._evaluate(prompt, 0)
        written = continue_greedily(
            best_token(self._logits()),
            step=step,
            decode=self._decode,
            ends=lambda token: bool(self._loaded().is_eos_token(token)),
            max_tokens=max_tokens,
            stop=stop,
        )
        return Generation(written.text, len(prompt), written.tokens, 0, written.stopped)

    def next_token_logprobs(self, chat: Chat, candidates: Sequence[str]) -> dict[str, float]:
        """Return the natural-log probability of each candidate's first token."""
        self._evaluate(self._prompt(chat, 1), 0)
        return candidate_logprobs(self._logits(), candidates, self._encode)

    def close(self) -> None:
        """Free the model; the engine can't be used afterwards."""
        self._llm = None  # the library frees it with the last reference

    def _loaded(self) -> Any:
        if self._llm is None:
            raise EngineError("This engine was closed.")
        return self._llm

    def _prompt(self, chat: Chat, max_tokens: int) -> list[int]:
        messages = [
            replace(m, content=_SYSTEM_MARK.sub("<\u200b\\1", m.content)) for m in chat.messages
        ]
        text = self._template.render(messages, open_turn=True)
        if chat.prefill:
            text += f" {chat.prefill}"
        llm = self._loaded()
        marks = {_BOS: llm.bos_token_id, _EOS: llm.eos_token_id}
        tokens: list[int] = []
        for piece in filter(None, _SPECIAL.split(text)):
            tokens += [marks[piece]] if piece in marks else self._encode(piece)
        check_window(len(tokens) + max_tokens, self._window)
        return tokens

    def _encode(self, text: str) -> list[int]:
        from ctypes import c_int

        llm = self._loaded()
        raw = text.replace("\0", "\ufffd").encode("utf-8", "replace")
        # The package's own method gives the library room for one token per
        # character, which text outside the vocabulary overruns.  A byte is a
        # token at most, and a blank becomes a sign of three bytes.
        room = (c_int * (3 * len(raw) + 16))()
        count = llm.ctransformers_llm_tokenize(raw, False, room)
        return room[:count]

    def _decode(self, tokens: Sequence[int]) -> str:
        llm = self._loaded()
        silent = (llm.bos_token_id, llm.eos_token_id)  # some files give these a spelling
        raw: bytes = llm.detokenize([t for t in tokens if t not in silent], decode=False)
        return raw.decode("utf-8", "replace")

    def _evaluate(self, tokens: Sequence[int], place: int) -> None:
        """Compute ``tokens``, the first of which is number ``place`` of its conversation."""
        from ctypes import c_int

        # Past the package's own bookkeeping, which keeps what two prompts share.
        numbers = (c_int * len(tokens))(*tokens)
        good = self._loaded().ctransformers_llm_batch_eval(
            numbers, len(tokens), place, BATCH_TOKENS, self._threads
        )
        if not good:
            raise EngineError("ctransformers failed to evaluate a prompt.")

    def _logits(self) -> NDArray[np.float32]:
        import numpy as np

        llm = self._loaded()
        size = llm.ctransformers_llm_logits_size()
        if size != self._vocabulary:
            raise EngineError(
                f"ctransformers returned {size} values for {self._vocabulary} tokens."
            )
        # Copied: the next evaluation writes to the same place.
        return check_finite(
            np.ctypeslib.as_array(llm.ctransformers_llm_logits_data(), (size,)).copy()
        )


def _check_fits(path: Path, found: OldLlama, window: int) -> None:
    need = found.size_bytes + window * found.cache_bytes_per_token + _ROOM_BYTES
    free = free_bytes()
    if free is not None and need > free:
        raise EngineError(
            f"The model {path.name} needs about {need / _GIB:.1f} GiB of memory, "
            f"but {free / _GIB:.1f} GiB are free.",
            remedy="Name a smaller model, lower engine.context_window, "
            "or load it all the same with --set engine.check_memory=false.",
        )


def _library() -> str:
    from ctransformers.lib import find_library

    try:
        return str(find_library())
    except (OSError, TypeError) as error:  # TypeError: a system it has never heard of
        raise EngineError(
            f"ctransformers has no library for this machine: {_line(error)}.",
            remedy=CONVERT,
        ) from None


def _line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".:")
