"""Model folders for ExLlamaV2 that Hotseat knows by name.

Only the large files' hashes can be told by the hub before a pull.  Where one is
not written here, the pull says so aloud and holds on to what it got first.
"""

from __future__ import annotations

from harness.models._spec import HubSource, ModelFile, ModelSpec

__all__ = ["EXL2_MODELS"]

_QWEN_7B_GPTQ = ModelSpec(
    name="qwen2.5-7b-instruct-gptq-int4",
    title="Qwen2.5 7B Instruct, 4-bit GPTQ",
    kind="safetensors",
    licence="Apache-2.0",
    upstream="Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4",
    files=(
        ModelFile(
            "model-00001-of-00002.safetensors",
            None,
            "278698de6ca93314e68edf14f57fe14af9fb4255034f06d4eb8272671b4973d2",
        ),
        ModelFile("model-00002-of-00002.safetensors", None, None),
        ModelFile("config.json", None, None),
        ModelFile("generation_config.json", None, None),
        ModelFile("tokenizer.json", None, None),
        ModelFile("tokenizer_config.json", None, None),
    ),
    sources=(
        HubSource("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "db83a026998b2be8ba48eb48d3091d695528ff49"),
    ),
    aliases=("qwen-7b-gptq",),
)

EXL2_MODELS: tuple[ModelSpec, ...] = (_QWEN_7B_GPTQ,)
