"""Small models made on the spot: BERT as safetensors and ONNX, with or without a head, and GGUF.

The same weights in both forms, written without any model library, so that two
runtimes can be compared.  Loaded through the fixture ``tiny``.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!'-:;()"
Arrays = dict[str, np.ndarray[Any, Any]]


# ---- ONNX, as the protocol buffer it is ----


def _varint(number: int) -> bytes:
    out = b""
    number &= (1 << 64) - 1
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _field(number: int, value: bytes | str | int | float) -> bytes:
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: int | float | list[int]) -> bytes:
    if isinstance(value, list):
        body = b"".join(_field(8, item) for item in value) + _field(20, 7)
    else:
        body = _field(3, value) + _field(20, 2) if isinstance(value, int) else (
            _field(2, value) + _field(20, 1)
        )  # fmt: skip
    return _field(5, _field(1, name) + body)


def _tensor(name: str, array: np.ndarray[Any, Any]) -> bytes:
    kind = {"float32": 1, "int64": 7}[str(array.dtype)]
    dims = b"".join(_field(1, size) for size in array.shape)
    return dims + _field(2, kind) + _field(8, name) + _field(9, array.tobytes())


def _value(name: str, kind: int, shape: Iterable[int | str]) -> bytes:
    dims = b"".join(
        _field(1, _field(1, size) if isinstance(size, int) else _field(2, size)) for size in shape
    )
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


class Graph:
    """A graph under construction; each call adds a node and returns its output's name."""

    def __init__(self) -> None:
        self.nodes = b""
        self.constants: Arrays = {}
        self._count = 0

    def const(self, array: Any, dtype: str = "float32") -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(array, dtype=dtype)
        return name

    def __call__(self, op: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        self._count += 1
        output = output or f"n{self._count}"
        self.nodes += _field(
            1,
            b"".join(_field(1, name) for name in inputs)
            + _field(2, output)
            + _field(4, op)
            + b"".join(_attribute(name, value) for name, value in attributes.items()),
        )
        return output

    def write(self, path: Path, inputs: Iterable[str], output: str, rank: int) -> None:
        graph = self.nodes + _field(2, "tiny")
        graph += b"".join(_field(5, _tensor(*item)) for item in self.constants.items())
        graph += b"".join(_field(11, _value(name, 7, ("b", "n"))) for name in inputs)
        graph += _field(12, _value(output, 1, [f"d{n}" for n in range(rank)]))
        opset = _field(8, _field(1, "") + _field(2, 17))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_field(1, 8) + opset + _field(7, graph))


def write_bert_onnx(path: Path, weights: Arrays, *, heads: int, epsilon: float = 1e-12) -> None:
    """Write a BERT's graph; with a classifier among the weights it gives logits."""
    cross = "classifier.weight" in weights
    prefix = "bert." if cross else ""
    g = Graph()

    def weight(name: str) -> str:
        return g.const(weights[prefix + name])

    def linear(x: str, name: str, root: str = prefix) -> str:
        y = g("MatMul", x, g.const(weights[f"{root}{name}.weight"].T))
        return g("Add", y, g.const(weights[f"{root}{name}.bias"]))

    def norm(x: str, name: str, output: str = "") -> str:
        parts = weight(f"{name}.weight"), weight(f"{name}.bias")
        return g("LayerNormalization", x, *parts, output=output, axis=-1, epsilon=epsilon)

    width = weights[f"{prefix}embeddings.word_embeddings.weight"].shape[1]
    layers = 1 + max(int(n.split(".layer.")[1].split(".")[0]) for n in weights if ".layer." in n)
    length = g("Gather", g("Shape", "input_ids"), g.const(1, "int64"), axis=0)
    places = g("Range", g.const(0, "int64"), length, g.const(1, "int64"))
    x = g("Gather", weight("embeddings.word_embeddings.weight"), "input_ids", axis=0)
    x = g("Add", x, g("Gather", weight("embeddings.position_embeddings.weight"), places, axis=0))
    kinds = g("Gather", weight("embeddings.token_type_embeddings.weight"), "token_type_ids", axis=0)
    x = norm(g("Add", x, kinds), "embeddings.LayerNorm")
    split = g.const([0, 0, heads, width // heads], "int64")
    for layer in range(layers):
        own = f"encoder.layer.{layer}"
        q, k, v = (
            g("Transpose", g("Reshape", linear(x, f"{own}.attention.self.{part}"), split), perm=p)
            for part, p in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scores = g("Mul", g("MatMul", q, k), g.const(1 / math.sqrt(width / heads)))
        mixed = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = g("Reshape", mixed, g.const([0, 0, width], "int64"))
        dense = linear(mixed, f"{own}.attention.output.dense")
        x = norm(g("Add", dense, x), f"{own}.attention.output.LayerNorm")
        inner = linear(x, f"{own}.intermediate.dense")
        erf = g("Erf", g("Mul", inner, g.const(math.sqrt(0.5))))
        inner = g("Mul", g("Mul", inner, g.const(0.5)), g("Add", erf, g.const(1.0)))
        outer = g("Add", linear(inner, f"{own}.output.dense"), x)
        last = layer == layers - 1 and not cross
        x = norm(outer, f"{own}.output.LayerNorm", "last_hidden_state" if last else "")
    if cross:
        first = g("Gather", x, g.const(0, "int64"), axis=1)
        pooled = g("Tanh", linear(first, "pooler.dense"))
        scored = g("MatMul", pooled, g.const(weights["classifier.weight"].T))
        g("Add", scored, g.const(weights["classifier.bias"]), output="logits")
    inputs = ("input_ids", "token_type_ids")
    g.write(path, inputs, "logits" if cross else "last_hidden_state", 2 if cross else 3)


# ---- safetensors ----


def write_safetensors(path: Path, weights: Arrays) -> None:
    head, body = {}, b""
    for name, array in weights.items():
        raw = array.astype("<f4").tobytes()
        place = [len(body), len(body) + len(raw)]
        head[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": place}
        body += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **head}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_safetensors(path: Path) -> Arrays:
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    found: Arrays = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + place for place in entry["data_offsets"])
            found[name] = np.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"])
    return found


# ---- a tiny BERT ----


def random_bert(
    seed: int, vocabulary: int, *, outputs: int = 0, width: int = 32, positions: int = 64
) -> Arrays:
    """Return random weights of two layers; ``outputs`` > 0 adds a head that scores pairs."""
    rng = np.random.default_rng(seed)
    p = "bert." if outputs else ""
    weights: Arrays = {}

    def add(name: str, *shape: int, spread: float = 0.3) -> None:
        weights[name] = rng.normal(scale=spread, size=shape).astype(np.float32)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = np.ones(width, np.float32)
        weights[f"{name}.bias"] = np.zeros(width, np.float32)

    def linear(name: str, rows: int, columns: int) -> None:
        add(f"{name}.weight", rows, columns)
        add(f"{name}.bias", rows, spread=0.05)

    add(f"{p}embeddings.word_embeddings.weight", vocabulary, width)
    add(f"{p}embeddings.position_embeddings.weight", positions, width, spread=0.05)
    add(f"{p}embeddings.token_type_embeddings.weight", 2, width)
    norm(f"{p}embeddings.LayerNorm")
    for layer in range(2):
        own = f"{p}encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{own}.attention.{part}", width, width)
        norm(f"{own}.attention.output.LayerNorm")
        linear(f"{own}.intermediate.dense", 2 * width, width)
        linear(f"{own}.output.dense", width, 2 * width)
        norm(f"{own}.output.LayerNorm")
    linear(f"{p}pooler.dense", width, width)
    if outputs:
        linear("classifier", outputs, width)
    return weights


def write_tokenizer(path: Path, words: Iterable[str]) -> int:
    """Write a word-piece tokenizer that falls back on letters; return its vocabulary's size."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    pieces += sorted({word for word in words if word not in LETTERS})
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(path))
    return len(vocabulary)


def write_bert(
    folder: Path,
    *,
    seed: int,
    words: Iterable[str] = (),
    outputs: int = 0,
    forms: Iterable[str] = ("onnx", "safetensors"),
    pooling: str = "mean",
) -> Path:
    """Write a model's folder: an encoder, or with ``outputs`` a cross-encoder."""
    folder.mkdir(parents=True, exist_ok=True)
    size = write_tokenizer(folder / "tokenizer.json", words)
    weights = random_bert(seed, size, outputs=outputs)
    config = {
        "architectures": ["BertForSequenceClassification" if outputs else "BertModel"],
        "model_type": "bert",
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "vocab_size": size,
        "pad_token_id": 0,
    }
    if outputs:
        config["id2label"] = {str(n): f"LABEL_{n}" for n in range(outputs)}
    else:
        modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
        _json(
            folder / "modules.json",
            [
                {
                    "idx": n,
                    "name": str(n),
                    "path": path,
                    "type": f"sentence_transformers.models.{k}",
                }
                for n, (k, path) in enumerate(modules)
            ],
        )
        marks = {f"pooling_mode_{m}": m.startswith(pooling) for m in ("mean_tokens", "cls_token")}
        _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 32, **marks})
    _json(folder / "config.json", config)
    names = zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True)
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    _json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 64,
            "model_input_names": inputs,
            **dict(names),
        },
    )
    for form in forms:
        if form == "onnx":
            write_bert_onnx(folder / "model.onnx", weights, heads=2)
        else:
            write_safetensors(folder / "model.safetensors", weights)
    return folder


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


# ---- GGUF ----


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _pair(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Arrays) -> Path:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(key) + _pair(value) for key, value in metadata.items())
    body = b""
    for name, array in tensors.items():
        shape = array.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, len(body))
        raw = array.astype("<f4").tobytes()
        body += raw + b"\0" * (-len(raw) % 32)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)
    return path


def write_gguf_bert(path: Path, *, seed: int, words: Iterable[str] = (), head: bool = True) -> Path:
    """Write a one-layer BERT for llama.cpp, with or without the layers that score a pair."""
    rng = np.random.default_rng(seed)
    whole = [f"▁{piece}" for piece in [*LETTERS, *sorted({w for w in words if w not in LETTERS})]]
    pieces = [*SPECIAL, *whole, *LETTERS]
    width, positions = 32, 256

    def noise(*shape: int, spread: float = 0.3) -> np.ndarray[Any, Any]:
        return rng.normal(scale=spread, size=shape)

    tensors: Arrays = {
        "token_embd.weight": noise(len(pieces), width),
        "position_embd.weight": noise(positions, width, spread=0.03),
        "token_types.weight": noise(2, width),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensors[f"blk.0.{name}.weight"] = noise(width, width)
        tensors[f"blk.0.{name}.bias"] = np.zeros(width)
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        tensors[f"{name}.weight"] = np.ones(width)
        tensors[f"{name}.bias"] = np.zeros(width)
    for name, rows, columns in (("ffn_up", 2 * width, width), ("ffn_down", width, 2 * width)):
        tensors[f"blk.0.{name}.weight"] = noise(rows, columns)
        tensors[f"blk.0.{name}.bias"] = np.zeros(rows)
    if head:
        for name, rows in (("cls", width), ("cls.output", 1)):
            tensors[f"{name}.weight"] = noise(rows, width)
            tensors[f"{name}.bias"] = np.zeros(rows)
    metadata: dict[str, Any] = {
        "general.architecture": "bert",
        "bert.block_count": 1,
        "bert.context_length": positions,
        "bert.embedding_length": width,
        "bert.feed_forward_length": 2 * width,
        "bert.attention.head_count": 2,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": [3] * 4 + [1] * (len(pieces) - 4),
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.unknown_token_id": 1,
        "tokenizer.ggml.seperator_token_id": 3,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 3,
    }
    return write_gguf(path, metadata, tensors)
