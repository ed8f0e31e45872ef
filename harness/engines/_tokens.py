"""Counting tokens without the model: the tokenizer that a GGUF file carries.

The engine's in-process interface can't tokenise without a socket, so the
byte-level BPE is rebuilt from the file's own vocabulary and merges.  Exact for
the pre-tokenisers listed here; for others the count comes from GPT-2's rule
and is close, not exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.errors import EngineError

if TYPE_CHECKING:
    from harness.engines._gguf import GgufHeader

__all__ = ["GgufTokenizer", "check_tokenizer"]

# Pre-tokenisation rules as published with the models' own tokenizer files.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_RULES: dict[str, tuple[str, bool]] = {
    # name in the file: (rule, digits are split one by one first)
    "qwen2": (_QWEN2, False),
    "smollm": (_GPT2, True),
    "gpt-2": (_GPT2, False),
}


def check_tokenizer(header: GgufHeader) -> None:
    """Raise :class:`~harness.errors.EngineError` for a tokenizer that can't be rebuilt here."""
    meta = header.metadata
    tokens, merges = meta.get("tokenizer.ggml.tokens"), meta.get("tokenizer.ggml.merges")
    if meta.get("tokenizer.ggml.model") != "gpt2" or not tokens or merges is None:
        raise EngineError(
            "This model's tokenizer is not a byte-level BPE, so its tokens can't be counted.",
            remedy="Serve it with llama.cpp's llama-server and use --set engine.name=openai, "
            "or name a model of the Qwen, SmolLM or GPT-2 family.",
        )


class GgufTokenizer:
    """The byte-level BPE tokenizer described by a GGUF header.

    Raises as :func:`check_tokenizer` does.
    """

    def __init__(self, header: GgufHeader) -> None:
        from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

        check_tokenizer(header)
        meta = header.metadata
        tokens, merges = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.merges"]
        kind = str(meta.get("tokenizer.ggml.pre", "gpt-2"))
        rule, digits = _RULES.get(kind, (_GPT2, False))
        vocabulary = {token: number for number, token in enumerate(tokens)}
        pairs = [tuple(merge.split(" ", 1)) for merge in merges]
        tokenizer: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
        if kind == "qwen2":
            tokenizer.normalizer = normalizers.NFC()
        steps: list[Any] = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
        steps.append(pre_tokenizers.Split(Regex(rule), "isolated"))
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
        tokenizer.decoder = decoders.ByteLevel()
        # Control tokens (type 3) and user-defined ones (type 4) are matched whole.
        kinds = meta.get("tokenizer.ggml.token_type") or []
        special = [t for t, k in zip(tokens, kinds, strict=False) if k in (3, 4)]
        if special:
            tokenizer.add_special_tokens(special)
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the token ids of ``text``; control tokens in it count as one."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is."""
        return len(self.encode(text))
