"""What stands behind a server's address: software, model, window, template, tokenizer.

Servers differ in what they tell and in the fields they take; everything that
depends on which one it is stands here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.engines._http import RefusedError, Server
from harness.errors import EngineError, nearest_name

__all__ = ["Facts", "TokenCounter", "discover", "short_name"]

# Seen in a model's "owned_by", and where that software tells its version.
_SOFTWARE = {
    "llamacpp": ("llama.cpp", "/props", "build_info"),
    "vllm": ("vllm", "/version", "version"),
    "sglang": ("sglang", "/get_server_info", "version"),
    "library": ("ollama", "/api/version", "version"),
}
# Greedy decoding for anybody, and what undoes a server's own taste besides.
_GREEDY: dict[str, Any] = {"temperature": 0.0, "seed": 0, "top_p": 1.0}
_NEUTRAL: dict[str, dict[str, Any]] = {
    "llama.cpp": {"samplers": ["temperature"]},
    "vllm": {"repetition_penalty": 1.0},
    "sglang": {"repetition_penalty": 1.0},
}
_CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}
_NO_THOUGHTS = {"chat_template_kwargs": {"enable_thinking": False}}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server tells of itself.

    ``software`` is llama.cpp, vllm, sglang, ollama or empty; ``model`` the id
    to ask for; ``window`` the tokens of one conversation, ``None`` if untold;
    ``slots``, ``template``, ``bos`` and ``eos`` are llama.cpp's.
    """

    software: str
    build: str
    model: str
    window: int | None = None
    slots: int = 1
    template: str = ""
    bos: str = ""
    eos: str = ""
    greedy: dict[str, Any] = field(default_factory=dict)

    @property
    def ways_to_continue(self) -> tuple[dict[str, Any], ...]:
        """The fields that may make this server continue a final assistant message."""
        if self.software == "llama.cpp":
            return ({}, _NO_THOUGHTS)
        if self.software in ("vllm", "sglang"):
            return (_CONTINUE, {**_CONTINUE, **_NO_THOUGHTS})
        return ({},) if self.software == "ollama" else ({}, _CONTINUE)


def discover(server: Server, wanted: str, *, needs_json: bool = False) -> Facts:
    """Ask a server what it is and which of its models ``wanted`` names.

    Raises :class:`~harness.errors.EngineError` when it has no such model, and
    with ``needs_json`` also when its list of models is no JSON document.
    """
    reply = server.find("models", needs_json=needs_json)
    listed = reply.get("data") if isinstance(reply, dict) else None
    models = [m for m in listed or [] if isinstance(m, dict) and isinstance(m.get("id"), str)]
    model = _choose(models, wanted, server.name) if models else {"id": wanted}
    name, place, key = _SOFTWARE.get(str(model.get("owned_by", "")).lower(), ("", "", ""))
    told = server.find(place) if place else None
    props = told if isinstance(told, dict) else {}
    if name != "llama.cpp":
        window = model.get("max_model_len")
        return Facts(
            name,
            str(props.get(key, "")),
            model["id"],
            window=window if isinstance(window, int) else None,
            greedy={**_GREEDY, **_NEUTRAL.get(name, {})},
        )
    default = props.get("default_generation_settings")
    window = default.get("n_ctx") if isinstance(default, dict) else None
    slots = props.get("total_slots")
    return Facts(
        name,
        str(props.get(key, "")),
        model["id"],
        window=window if isinstance(window, int) else None,
        slots=slots if isinstance(slots, int) and slots > 0 else 1,
        template=str(props.get("chat_template", "")),
        bos=str(props.get("bos_token", "")),
        eos=str(props.get("eos_token", "")),
        greedy={**_GREEDY, **_NEUTRAL[name]},
    )


def short_name(model: str) -> str:
    """Return a model's id; of one that is the path of a file only the file's name."""
    is_path = re.match(r"[/\\~.]|[A-Za-z]:[/\\]", model) or model.lower().endswith(".gguf")
    return re.split(r"[/\\]", model)[-1] if is_path else model


def _choose(models: Sequence[dict[str, Any]], wanted: str, where: str) -> dict[str, Any]:
    if wanted == "auto" and len(models) == 1:
        return models[0]
    for model in models:
        if _bare(wanted) in {_bare(name) for name in (model["id"], *_aliases(model))}:
            return model
    names = [short_name(model["id"]) for model in models]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    raise EngineError(
        f"The model server {where} has no model '{wanted}'; it offers "
        f"{', '.join(names[:5])}{more}.{nearest_name(wanted, names)}",
        remedy=f"Set engine.model to it, for example --set engine.model={names[0]}.",
    )


def _aliases(model: dict[str, Any]) -> list[str]:
    aliases = model.get("aliases")
    return [a for a in aliases if isinstance(a, str)] if isinstance(aliases, list) else []


def _bare(name: str) -> str:
    """Return what is compared of a model's name: no folder, no ending, no ``:latest``."""
    return short_name(name).lower().removesuffix(".gguf").removesuffix(":latest")


class TokenCounter:
    """Counts tokens as the server's own tokenizer does, or estimates where it has none.

    ``exact`` says which.  The estimate is one token per three UTF-8 bytes,
    more than most text has, so that what is counted to fit does fit.
    """

    ESTIMATE = "estimated: one token per 3 bytes"

    def __init__(self, server: Server, facts: Facts) -> None:
        self._server = server
        self._facts = facts
        self.exact = True
        try:
            self.exact = bool(self.tokens("a"))
        except RefusedError:
            self.exact = False
        except EngineError:
            if facts.software == "llama.cpp":
                raise
            self.exact = False  # whatever lies at that address, it is no tokenizer

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is, without special ones."""
        if not text:
            return 0
        return len(self.tokens(text)) if self.exact else math.ceil(len(text.encode()) / 3)

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token numbers of ``text``; ``special`` adds what begins a prompt.

        Raises :class:`~harness.errors.EngineError` where the server has no tokenizer.
        """
        if self._facts.software == "llama.cpp":
            body: dict[str, Any] = {"content": text, "add_special": special}
        else:
            body = {"model": self._facts.model, "prompt": text, "add_special_tokens": special}
        reply = self._server.post("/tokenize", body)
        tokens = reply.get("tokens") if isinstance(reply, dict) else None
        if not isinstance(tokens, list) or not all(isinstance(t, int) for t in tokens):
            raise EngineError(f"The model server {self._server.name} returned no token list.")
        return tokens
