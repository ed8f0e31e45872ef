"""llama.cpp in this process, through ``xllamacpp``: the default engine.

Determinism.  Greedy decoding, fixed threads, one request at a time, and one
of two rules for the prompt cache, named in :meth:`LlamaCppEngine.describe`:

``none``
    every prompt is evaluated from its first token;
``fixed``
    the conversation's fixed part is evaluated once and put back to exactly
    its end before each question (:mod:`harness.engines._prefix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.engines._gguf import GgufHeader, read_header
from harness.engines._gguf_check import check_header, check_whole, gguf_parts
from harness.engines._llama_library import new_params, start
from harness.engines._memory import check_fits
from harness.engines._prefix import PrefixSlots
from harness.engines._replies import LLAMA_LOGPROBS, Reply, read_reply, score
from harness.engines._template import ChatTemplate, template_parts
from harness.engines._tokens import GgufTokenizer, check_tokenizer
from harness.engines._window import check_trained, check_window
from harness.engines.availability import availability
from harness.engines.protocol import Chat, EngineInfo, Generation
from harness.errors import EngineError
from harness.machine import cores

__all__ = ["LlamaCppEngine", "default_threads", "inspect_model", "is_available", "slots_for"]

# One slot per category keeps that category's fixed part; conversations without
# a fixed part use the last slot, so that they disturb none of the others.
FIXED_SLOTS = 6
GREEDY: dict[str, Any] = {"temperature": 0.0, "seed": 0, "samplers": ["temperature"]}


def is_available() -> bool:
    """Say whether the package is installed; see :mod:`harness.engines.availability`."""
    return availability("xllamacpp").ready


def default_threads() -> int:
    """Return the cores this process may use; half of them where there are many.

    Small machines report their cores one by one; large ones count each core
    twice, and llama.cpp gains nothing from the second half.
    """
    found = cores()
    return found if found <= 4 else max(4, found // 2)


def slots_for(prefix: str) -> int:
    """Return how many conversations llama.cpp keeps under a prefix rule."""
    return FIXED_SLOTS + 1 if prefix == "fixed" else 1


def inspect_model(
    path: Path,
    *,
    context_window: int,
    slots: int,
    gpu_layers: int,
    check_memory: bool,
) -> GgufHeader:
    """Return the header of the GGUF file at ``path``, reading nothing but headers.

    Raises :class:`~harness.errors.EngineError` for what can't be loaded or
    can't answer: no GGUF file, a truncated one, a model that only makes
    vectors, a tokenizer whose tokens can't be counted, a window that it was not
    trained for, too little memory.
    """
    if path.is_dir():
        raise EngineError(
            f"{path} is a folder; the llama.cpp engine reads a GGUF file.",
            remedy="Name the file, or the engine that reads folders: engine.name=exllamav2.",
        )
    header = read_header(path)
    check_header(path, header)
    size_bytes = check_whole(gguf_parts(path), known={path: header})
    check_tokenizer(header)
    trained = header.metadata.get(f"{header.architecture}.context_length")
    check_trained(path.name, trained if isinstance(trained, int) else 0, context_window)
    if check_memory:
        tokens = slots * context_window
        check_fits(path, header, file_bytes=size_bytes, tokens=tokens, layers=gpu_layers)
    return header


class LlamaCppEngine:
    """A GGUF model loaded with llama.cpp.

    ``context_window`` counts tokens of one conversation, prompt and answer
    together.  Not safe for several threads at once.  Raises
    :class:`~harness.errors.EngineError` for a file that is damaged, cut short,
    of an unknown architecture or no language model, and unless ``check_memory``
    is off for one that does not fit into memory: all before it is loaded.
    """

    def __init__(
        self,
        path: Path,
        *,
        model: str,
        model_sha256: str,
        context_window: int = 2_048,
        threads: int = 0,
        gpu_layers: int = 0,
        prefix: str = "fixed",
        check_memory: bool = True,
    ) -> None:
        slots = slots_for(prefix)
        header = inspect_model(
            path,
            context_window=context_window,
            slots=slots,
            gpu_layers=gpu_layers,
            check_memory=check_memory,
        )
        self._tokenizer = GgufTokenizer(header)
        source, bos, eos = template_parts(header.metadata)
        self._template = ChatTemplate(source, bos=bos, eos=eos)
        self._window = context_window
        self._reuse = prefix == "fixed"
        self._prefix = PrefixSlots(self._call, slots=slots)
        self._threads = threads or default_threads()
        self._info = self._describe(model, model_sha256, gpu_layers, prefix)
        self._server: Any = self._load(path, header.architecture, slots, gpu_layers)

    def _describe(self, model: str, sha256: str, gpu_layers: int, prefix: str) -> EngineInfo:
        from importlib import metadata

        settings = {
            "context_window": self._window,
            "decoding": "greedy",
            "gpu_layers": gpu_layers,
            "prefix": prefix,
            "threads": self._threads,
        }
        return EngineInfo("xllamacpp", metadata.version("xllamacpp"), model, sha256, settings)

    def _load(self, path: Path, family: str, slots: int, gpu_layers: int) -> Any:
        params = new_params(path, self._threads)
        params.n_parallel = slots
        params.n_ctx = self._window * slots
        params.kv_unified = False  # each slot has its own cache, undisturbed by the others
        params.n_gpu_layers = gpu_layers
        params.ctx_shift = False
        return start(params, path, family)

    def describe(self) -> EngineInfo:
        """Return engine, version, model, its hash, and the settings that move results."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` is, without special ones."""
        return self._tokenizer.count(text)

    def generate(self, chat: Chat, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Continue ``chat`` greedily up to a stop string or ``max_tokens``."""
        reply, expected = self._complete(chat, max_tokens, stop=list(stop))
        return reply.as_generation(expected=expected, count=self._tokenizer.count, stop=stop)

    def next_token_logprobs(self, chat: Chat, candidates: Sequence[str]) -> dict[str, float]:
        """Return the natural-log probability of each candidate's first token.

        A candidate outside the model's best 512 tokens gets the probability of
        the last of those, an upper bound that keeps its rank below all listed.
        Raises :class:`~harness.errors.NoLogprobsError` where the library gives none.
        """
        reply, _ = self._complete(chat, 1, n_probs=LLAMA_LOGPROBS)
        return score(reply.first, candidates, self._first_token)

    def close(self) -> None:
        """Free the model; the engine can't be used afterwards."""
        self._server = None

    def _first_token(self, text: str) -> int | None:
        return next(iter(self._tokenizer.encode(text)), None)

    def _complete(self, chat: Chat, max_tokens: int, **more: Any) -> tuple[Reply, int]:
        """Send ``chat`` and return the reply and the tokens that its prompt should have."""
        prompt = self._template.render(chat.messages, open_turn=True) + chat.prefill
        expected = self._tokenizer.count(prompt)
        check_window(expected + max_tokens, self._window)
        request: dict[str, Any] = {"prompt": prompt, "n_predict": max_tokens, **more}
        return read_reply(self._prefix.send(self._fixed_text(chat, prompt), request)), expected

    def _fixed_text(self, chat: Chat, prompt: str) -> str:
        if not self._reuse or not chat.fixed:
            return ""
        fixed = self._template.render(chat.messages[: chat.fixed], open_turn=False)
        return fixed if prompt.startswith(fixed) else ""

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._server is None:
            raise EngineError("This engine was closed.")
        try:
            reply = self._server.handle_completions({**GREEDY, **request})
        except (RuntimeError, ValueError) as error:
            raise EngineError(f"llama.cpp failed: {error}.") from None
        if not isinstance(reply, dict) or "choices" not in reply:
            raise EngineError(f"llama.cpp failed: {reply!r:.300}.")
        return reply
