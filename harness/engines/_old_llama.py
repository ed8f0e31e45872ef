"""Looking into an old llama-family file before a C library from 2023 does.

That library maps the file and trusts what it reads: a tensor that lies beyond
the end kills the process, and no exception can be caught.  So the whole
header is read here first, with bounds, and every tensor is found to be there,
of the right shape, inside the file.

Two formats are let through: GGUF version 2 with architecture ``llama``, and
GGML's ``ggjt`` version 3 (the last before GGUF), which holds no architecture
and is llama by convention.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from harness.engines._bounded import Bounded, Cut
from harness.engines._gguf import SCALARS, read_header
from harness.engines._llama_tensors import (
    GGJT_NAMES,
    GGUF_NAMES,
    MAX_LAYERS,
    MAX_WIDTH,
    Sizes,
    Tensor,
    check_sizes,
    check_tensors,
    dimension_count,
    tensor_kind,
)
from harness.engines._window import check_trained
from harness.errors import EngineError

__all__ = ["CONVERT", "OldLlama", "inspect_file"]

# llama's own tokenizer is one that the engine xllamacpp does not count with.
_USE_LLAMA_CPP = "Use --set engine.name=xllamacpp for it."
_SERVE = "Serve it with llama.cpp's llama-server and use --set engine.name=openai."
CONVERT = (
    "Convert it to GGUF, serve that with llama.cpp's llama-server, and use "
    "--set engine.name=openai."
)

_SCALAR_BYTES = {kind: struct.calcsize(f"<{letter}") for kind, letter in SCALARS.items()}
_STRING, _ARRAY = 8, 9
# The library takes these lists for what they should be and never asks.
_ARRAY_ITEMS = {
    "tokenizer.ggml.tokens": _STRING,
    "tokenizer.ggml.scores": 6,
    "tokenizer.ggml.token_type": 5,
}
_BYTE_KIND = 6
_BYTES = frozenset(f"<0x{number:02X}>" for number in range(256))
_FIRST_BYTE_TOKEN = 3  # in GGML files, by convention

_MAX_PAIRS = 10_000
_SEVENTY = re.compile(r"(\b|_)70b(\b|_)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OldLlama:
    """What the engine has to know of a file that was found sound.

    ``library_type`` is the library's own name for the format; ``trained_window``
    counts tokens, 0 where the file doesn't say; ``cache_bytes_per_token`` is the
    size of the attention cache at half precision.
    """

    form: str
    library_type: str
    vocabulary: int
    trained_window: int
    cache_bytes_per_token: int
    size_bytes: int


def inspect_file(path: Path, *, context_window: int = 0) -> OldLlama:
    """Return what an old llama-family file holds.

    Raises :class:`~harness.errors.EngineError` for anything the library can't
    read or would crash on, naming the engine to use instead, and for a model
    that was not trained for ``context_window`` tokens.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            found = _inspect(file, path, size)
    except Cut:
        raise EngineError(
            f"{path} is damaged: it ends early or its header makes no sense.",
            remedy="Fetch the file again.",
        ) from None
    except OSError as error:
        raise EngineError(f"Can't read the model file {path}: {error.strerror}.") from None
    check_trained(path.name, found.trained_window, context_window)
    return found


def _inspect(file: BinaryIO, path: Path, size: int) -> OldLlama:
    head = file.read(16)
    file.seek(0)
    reader = Bounded(file, size)
    match head[:4]:
        case b"GGUF":
            return _gguf(reader, path, size)
        case b"tjgg":
            return _ggjt(reader, path, size)
        case b"lmgg" | b"fmgg":
            raise EngineError(
                f"{path} is a GGML file of a form older than ctransformers' llama reader takes.",
                remedy=CONVERT,
            )
    if path.suffix == ".safetensors" or head[8:9] == b"{":
        raise EngineError(
            f"{path} is a safetensors file, which ctransformers does not read.",
            remedy="Use --set engine.name=exllamav2 with the folder it lies in.",
        )
    raise EngineError(
        f"{path} is not a model file of the old llama family (GGML or GGUF version 2).",
        remedy="A current GGUF file goes with --set engine.name=xllamacpp.",
    )


def _gguf(reader: Bounded, path: Path, size: int) -> OldLlama:
    reader.skip(4)
    version = reader.u32()
    if version != 2:
        raise EngineError(
            f"{path} is a GGUF file of version {version}, and ctransformers reads version 2 only.",
            remedy=_elsewhere(read_header(path).metadata) if version == 3 else CONVERT,
        )
    count, pairs = reader.u64(), reader.u64()
    meta = read_header(path).metadata
    family = str(meta.get("general.architecture", ""))[:40]
    if family != "llama" or meta.get("tokenizer.ggml.model") != "llama":
        raise EngineError(
            f"{path} holds a model of the family '{family or 'unknown'}' (tokenizer "
            f"'{str(meta.get('tokenizer.ggml.model', 'none'))[:40]}'), and the ctransformers "
            "engine reads llama models with llama's tokenizer only.",
            remedy=_elsewhere(meta),
        )
    sizes = _gguf_sizes(meta)
    tensors = _gguf_tensors(reader, meta, count, pairs)
    check_tensors(tensors, sizes, GGUF_NAMES, size)
    window = meta.get("llama.context_length")
    return _result("gguf 2", "gguf", sizes, window if isinstance(window, int) else 0, size)


def _elsewhere(meta: dict[str, Any]) -> str:
    """Return what to do with a GGUF file that only a current llama.cpp reads."""
    return _USE_LLAMA_CPP if meta.get("tokenizer.ggml.model") == "gpt2" else _SERVE


def _gguf_sizes(meta: dict[str, Any]) -> Sizes:
    def number(key: str, default: int | None = None) -> int:
        value = meta.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Cut
        return value

    tokens = meta.get("tokenizer.ggml.tokens")
    scores = meta.get("tokenizer.ggml.scores")
    kinds = meta.get("tokenizer.ggml.token_type")
    if not (isinstance(tokens, list) and isinstance(scores, list) and isinstance(kinds, list)):
        raise Cut
    if not len(tokens) == len(scores) == len(kinds) or not _BYTES.issubset(tokens):
        raise Cut  # a byte without a token ends the process, in the middle of a question
    if any(
        kind == _BYTE_KIND and token not in _BYTES
        for token, kind in zip(tokens, kinds, strict=True)
    ):
        raise Cut
    if not all(0 < kind <= _BYTE_KIND for kind in kinds):
        raise Cut
    for key in ("tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"):
        if not 0 <= number(key, 1) < len(tokens):
            raise Cut
    if not isinstance(meta.get("llama.attention.layer_norm_rms_epsilon"), float):
        raise Cut
    heads = number("llama.attention.head_count")
    sizes = Sizes(
        len(tokens),
        number("llama.embedding_length"),
        heads,
        number("llama.attention.head_count_kv", heads),
        number("llama.block_count"),
        number("llama.feed_forward_length"),
    )
    check_sizes(sizes, number("llama.rope.dimension_count", sizes.width // max(heads, 1)))
    return sizes


def _gguf_tensors(
    reader: Bounded, meta: dict[str, Any], count: int, pairs: int
) -> dict[str, Tensor]:
    if pairs > _MAX_PAIRS or count > MAX_LAYERS * 16:
        raise Cut
    for _ in range(pairs):
        key = reader.text(reader.u64())
        kind = _skip_value(reader, reader.u32())
        if kind != _ARRAY_ITEMS.get(key, kind):
            raise Cut
    found: dict[str, Tensor] = {}
    for _ in range(count):
        name = reader.text(reader.u64())
        if name in found:
            raise Cut
        shape = tuple(reader.u64() for _ in range(dimension_count(reader.u32())))
        found[name] = Tensor(shape, tensor_kind(reader.u32()), reader.u64())
    step = meta.get("general.alignment", 32)
    if not isinstance(step, int) or not 8 <= step <= 1 << 16:
        raise Cut
    base = reader.tell() + -reader.tell() % step
    if any(tensor.start % step for tensor in found.values()):
        raise Cut
    return {n: Tensor(t.shape, t.kind, base + t.start) for n, t in found.items()}


def _skip_value(reader: Bounded, kind: int) -> int:
    """Move behind a value and return its type; of a list the type of its items."""
    if kind == _STRING:
        reader.skip(reader.u64())
    elif kind == _ARRAY:
        kind, count = reader.u32(), reader.u64()
        if kind in _SCALAR_BYTES:
            reader.skip(count * _SCALAR_BYTES[kind])
        elif kind == _STRING:
            for _ in range(count):
                reader.skip(reader.u64())
        else:  # lists of lists are in no model's header
            raise Cut
    elif kind in _SCALAR_BYTES:
        reader.skip(_SCALAR_BYTES[kind])
    else:
        raise Cut
    return kind


def _ggjt(reader: Bounded, path: Path, size: int) -> OldLlama:
    reader.skip(4)
    version = reader.u32()
    if version != 3:
        raise EngineError(
            f"{path} is a GGML file of version ggjt {version}, and only ggjt 3 is read.",
            remedy=CONVERT,
        )
    vocabulary, width, multiple, heads, layers, rotated, _ = (reader.u32() for _ in range(7))
    if not 0 < multiple <= MAX_WIDTH:
        raise Cut
    inner = -(-(2 * (4 * width) // 3) // multiple) * multiple
    # The format has no field for it: the library goes by the file's name, and so must this.
    shared = 8 if _SEVENTY.search(str(path)) else 1
    if shared > 1 and layers == 80:
        inner = -(-int(1.3 * (2 * (4 * width) // 3)) // multiple) * multiple
    sizes = Sizes(vocabulary, width, heads, heads // shared, layers, inner)
    check_sizes(sizes, rotated)
    if vocabulary < _FIRST_BYTE_TOKEN + len(_BYTES):
        raise Cut
    for _ in range(vocabulary):
        reader.skip(reader.u32())
        reader.skip(4)
    tensors: dict[str, Tensor] = {}
    while reader.tell() < size:
        count, length = dimension_count(reader.u32()), reader.u32()
        kind = tensor_kind(reader.u32())
        shape = tuple(reader.u32() for _ in range(count))
        name = reader.text(length)
        tensor = Tensor(shape, kind, reader.tell() + -reader.tell() % 32)
        reader.skip(tensor.start - reader.tell() + tensor.size_bytes)
        tensors[name] = tensor
    check_tensors(tensors, sizes, GGJT_NAMES, size)
    return _result(f"ggjt {version}", "llama", sizes, 0, size)


def _result(form: str, library_type: str, sizes: Sizes, window: int, size: int) -> OldLlama:
    per_token = 2 * 2 * sizes.layers * (sizes.width // sizes.heads * sizes.cache_heads)
    return OldLlama(form, library_type, sizes.vocabulary, max(0, window), per_token, size)
