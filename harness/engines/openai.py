"""Any OpenAI-compatible server as an engine: llama.cpp's own, vLLM, SGLang, Ollama.

Two interfaces: ``chat``, where the server renders the conversation, and
``completion``, where it is rendered here with the model's chat template.  What
a server can't do is found out when the engine is made and said in
:meth:`OpenAIEngine.describe`: the server's address is not part of that
identity, its software and build are.

With llama.cpp behind it the rules of the prompt cache are those of the
in-process engine, request for request, so both give the same answers on equal
weights, threads and slots.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from harness.clock import Clock
from harness.engines._continuing import Continuing, find_out
from harness.engines._gguf import read_header
from harness.engines._http import RefusedError, Server
from harness.engines._prefix import PrefixSlots
from harness.engines._replies import LLAMA_LOGPROBS, Reply, read_reply, score
from harness.engines._server import TokenCounter, discover, short_name
from harness.engines._template import ChatTemplate, defuse
from harness.engines._window import check_window
from harness.engines.availability import availability
from harness.engines.protocol import Chat, EngineInfo, Generation, Message
from harness.errors import EngineError, NoLogprobsError

__all__ = ["OpenAIEngine", "is_available"]

_LOGPROBS = (20, 5)  # what the others allow at most, and older ones
_COUNTS_KEPT = 8_192
_MAX_TEMPLATE_BYTES = 2**20
_MESSAGE_TOKENS = 8  # for the marks a template puts around a message, where it can't be seen


def is_available() -> bool:
    """Say whether the engine can be used here; whether a server answers is another question."""
    return availability("openai").ready


class OpenAIEngine:
    """A model behind an OpenAI-compatible server at ``server``, such as ``http://host:8081/v1``.

    ``model`` is an id or alias of the server's, or ``auto`` where it has only
    one.  ``concurrency`` bounds the requests under way at once from all
    threads that share this engine: one keeps results reproducible, more only
    serve callers that answer several questions at a time.  A key is read from
    the environment variable ``HOTSEAT_SERVER_KEY`` alone.

    Raises :class:`~harness.errors.EngineError` when the server can't be
    reached, has no such model, a smaller window than ``context_window``, or no
    chat template for the completion interface.
    """

    def __init__(
        self,
        server: str,
        *,
        model: str,
        api: Literal["chat", "completion"] = "chat",
        context_window: int = 2_048,
        prefix: str = "fixed",
        template: str = "",
        timeout_s: float = 60.0,
        retries: int = 2,
        concurrency: int = 1,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = Server(
            server,
            timeout_s=timeout_s,
            retries=retries,
            concurrency=concurrency,
            clock=clock,
            sleep=sleep,
        )
        self._api, self._window = api, context_window
        self._lock = Lock()
        self._count = lru_cache(_COUNTS_KEPT)(lambda text: self._counter.count(text))
        try:
            self._connect(model, prefix, template)
        except BaseException:
            self._server.close()
            raise

    def _connect(self, model: str, prefix: str, template: str) -> None:
        facts = self._facts = discover(self._server, model)
        if facts.window is not None and facts.window < self._window:
            raise EngineError(
                f"The model server {self._server.name} has a window of {facts.window} tokens, "
                f"engine.context_window is {self._window}.",
                remedy="Start the server with a larger window for each slot, or lower the setting.",
            )
        self._is_llama = facts.software == "llama.cpp"
        self._counter = TokenCounter(self._server, facts)
        self._template, digest = self._load_template(template)
        self._reuse = prefix == "fixed" and self._is_llama and self._template is not None
        self._slots = PrefixSlots(lambda r: self._post("completions", r), slots=facts.slots)
        self._continuing = Continuing(True)
        if self._api == "chat":
            self._continuing = find_out(
                lambda request: self._send("chat/completions", "", request),
                facts.ways_to_continue,
                tokens=self._counter.count("A") if self._counter.exact else 1,
            )
        own = prefix if self._is_llama else "left to the server"
        settings = {
            "context_window": self._window,
            "decoding": "greedy",
            "interface": self._api,
            "prefill": "continued" if self._continuing.works else "dropped",
            "prefix": own if self._reuse or own != "fixed" else "none",
            "server": facts.software or "unknown",
            "template_sha256": digest,
            "tokens": "exact" if self._counter.exact else self._counter.ESTIMATE,
            "weights": "not verified: a server does not show them",
        }
        name = short_name(facts.model)
        self._info = EngineInfo("openai", facts.build or "unknown", name, "", settings)

    def _load_template(self, path: str) -> tuple[ChatTemplate | None, str]:
        facts = self._facts
        source, bos, eos = facts.template, facts.bos, facts.eos
        if not source and path:
            source, bos, eos = _read_template(Path(path).expanduser())
        if not source:
            if self._api == "completion":
                raise EngineError(
                    f"The model server {self._server.name} does not tell its chat template, "
                    "which the completion interface needs.",
                    remedy="Set engine.server_template to a GGUF file of the model or to its "
                    "Jinja template, or use --set engine.server_api=chat.",
                )
            return None, ""
        if self._is_llama and self._counter.tokens("", special=True):
            bos = ""  # the server puts it in front itself; twice would be one too many
        digest = hashlib.sha256(source.encode()).hexdigest()
        return ChatTemplate(source, bos=bos, eos=eos), digest

    def describe(self) -> EngineInfo:
        """Return software, build, the model's id and what moves results; no address, no key."""
        return self._info

    def count_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` is: exact or estimated, as ``describe`` says."""
        return self._count(text)

    def generate(self, chat: Chat, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Continue ``chat`` greedily up to a stop string or ``max_tokens``."""
        more = {"stop": list(stop)} if stop else {}
        reply, expected = self._complete(chat, max_tokens, more)
        prefilled = self._continuing.works or not chat.prefill
        return reply.as_generation(
            expected=expected, count=self._count, stop=stop, prefilled=prefilled
        )

    def next_token_logprobs(self, chat: Chat, candidates: Sequence[str]) -> dict[str, float]:
        """Return the natural-log probability of each candidate's first token.

        A candidate outside what the server lists gets the lowest value listed.
        Without a tokenizer the first token is the longest listed one that the
        candidate begins with.  Raises :class:`~harness.errors.NoLogprobsError`
        where the server gives none.
        """
        if chat.prefill and not self._continuing.works:
            raise NoLogprobsError(
                "The model server does not continue a begun answer, so it can't tell how "
                "probable its next token is."
            )
        first = self._first_token if self._counter.exact else None
        for most in (LLAMA_LOGPROBS,) if self._is_llama else _LOGPROBS:
            try:
                reply, _ = self._complete(chat, 1, self._ask_logprobs(most))
            except RefusedError as error:
                if error.status not in (400, 422):
                    raise
                continue
            return score(reply.first, candidates, first)
        raise NoLogprobsError("The model server refuses to tell log-probabilities.")

    def close(self) -> None:
        """Give the connections back; the engine can't be used afterwards."""
        self._server.close()

    def _first_token(self, text: str) -> int | None:
        tokens = self._counter.tokens(text) if text else []
        return tokens[0] if tokens else None

    def _ask_logprobs(self, most: int) -> dict[str, Any]:
        as_ids = {"return_tokens_as_token_ids": True} if self._facts.software == "vllm" else {}
        if self._api == "chat":
            return {"logprobs": True, "top_logprobs": most, **as_ids}
        return {"logprobs": most, **as_ids}

    def _complete(self, chat: Chat, max_tokens: int, more: dict[str, Any]) -> tuple[Reply, int]:
        """Send ``chat`` and return the reply and the tokens that its prompt should have."""
        if self._api == "chat":
            path, request, prompt = self._as_chat(chat)
        else:
            assert self._template is not None
            prompt = self._template.render(chat.messages, open_turn=True) + chat.prefill
            path, request = "completions", {"prompt": prompt}
            if self._facts.software == "vllm":
                request["add_special_tokens"] = False  # the template has written them
        expected = self._count(prompt) if prompt else self._guess(chat)
        self._check_window(expected + max_tokens)
        fixed = self._fixed_text(chat, prompt)
        data = self._send(path, fixed, {**request, "max_tokens": max_tokens, **more})
        echoed = chat.prefill if self._api == "chat" and self._continuing.echoes else ""
        reply = read_reply(data, echoed=echoed)
        self._check_whole(reply, expected)
        return reply, expected

    def _as_chat(self, chat: Chat) -> tuple[str, dict[str, Any], str]:
        """Return path, request and, where the server shows it, the prompt it will render."""
        turns = [_turn(m.role, defuse(m.content)) for m in chat.messages]
        request: dict[str, Any] = {"messages": turns}
        if chat.prefill and self._continuing.works:
            turns.append(_turn("assistant", chat.prefill))
            request |= self._continuing.fields
        prompt = ""
        if self._is_llama:
            shown = self._server.post("/apply-template", request)
            prompt = str(shown.get("prompt", "")) if isinstance(shown, dict) else ""
            request["reasoning_format"] = "none"  # nothing the model wrote is moved or dropped
        return "chat/completions", request, prompt

    def _fixed_text(self, chat: Chat, prompt: str) -> str:
        if not self._reuse or not chat.fixed or self._template is None:
            return ""
        fixed = self._template.render(chat.messages[: chat.fixed], open_turn=False)
        return fixed if prompt.startswith(fixed) else ""

    def _guess(self, chat: Chat) -> int:
        begun = [Message("assistant", chat.prefill)] if chat.prefill else []
        return sum(self._count(m.content) + _MESSAGE_TOKENS for m in (*chat.messages, *begun))

    def _check_window(self, need: int) -> None:
        # An estimate is on the high side: only what can't fit is refused, the server has its say.
        if self._counter.exact or math.ceil(need / 2) > self._window:
            check_window(need, self._window)

    def _check_whole(self, reply: Reply, expected: int) -> None:
        """Notice a server that cut the prompt to its own window and said nothing."""
        if reply.prompt_tokens is not None and reply.prompt_tokens < expected // 8:
            raise EngineError(
                f"The model server {self._server.name} read {reply.prompt_tokens} tokens of a "
                f"prompt of about {expected}: it cuts prompts without saying so.",
                remedy="Start it with a larger window (Ollama: OLLAMA_CONTEXT_LENGTH).",
            )

    def _send(self, path: str, fixed: str, request: dict[str, Any]) -> dict[str, Any]:
        if not self._is_llama:
            return self._post(path, request)
        with self._lock:  # rewinding a slot and using it belong together
            return self._slots.send(fixed, request, lambda r: self._post(path, r))

    def _post(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        body = {**self._facts.greedy, "model": self._facts.model, **request}
        reply = self._server.post(path, body)
        if not isinstance(reply, dict):
            raise EngineError(f"The model server {self._server.name} sent no reply to read.")
        return reply


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _read_template(path: Path) -> tuple[str, str, str]:
    """Return template, first and last token's text from a GGUF or a Jinja file."""
    if path.suffix.lower() == ".gguf":
        from harness.engines._template import template_parts

        return template_parts(read_header(path).metadata)
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TEMPLATE_BYTES).decode("utf-8"), "", ""
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(
            f"engine.server_template can't be read: {path}: "
            f"{getattr(error, 'strerror', None) or 'it is not UTF-8 text'}."
        ) from None
