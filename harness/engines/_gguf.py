"""Reading the header of a GGUF file: metadata and the list of tensors, no tensor itself.

The format (version 2 and 3): magic ``GGUF``, version, tensor count, number of
key/value pairs, the pairs, then per tensor its name, shape, type and place;
strings carry a 64-bit length.  A file comes from strangers, so every length is
checked before it is believed.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import EngineError

__all__ = ["BLOCKS", "SCALARS", "GgufHeader", "read_header"]

# Type of a value: its letter in a layout of the module struct.

SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING = 8
_ARRAY = 9
_MAX_STRING_BYTES = 1 << 20
_MAX_PAIRS = 10_000
_MAX_ITEMS = 2_000_000
_MAX_TENSORS = 200_000
_MAX_DIMENSIONS = 8
_MAX_ALIGNMENT = 1 << 20

# Tensor type: (weights per block, bytes per block).
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4),
    27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66),
    39: (32, 17),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata of a GGUF file by key, the bytes a whole file has at least, its tensors' names.

    Of a tensor whose type isn't known only its beginning counts.
    """

    version: int
    metadata: dict[str, Any]
    size_bytes: int = 0
    tensors: frozenset[str] = frozenset()

    @property
    def architecture(self) -> str:
        """The model family, such as ``qwen2``; empty when the file doesn't say."""
        return str(self.metadata.get("general.architecture", ""))


def read_header(path: Path) -> GgufHeader:
    """Read the metadata of a GGUF file.

    Raises :class:`~harness.errors.EngineError` for anything that is not a
    whole GGUF header.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except (struct.error, UnicodeDecodeError, MemoryError):
        raise EngineError(
            f"{path} is damaged: its GGUF header ends early or makes no sense.",
            remedy="Fetch the file again.",
        ) from None
    except OSError as error:
        raise EngineError(f"Can't read the model file {path}: {error.strerror}.") from None


def _read(file: BinaryIO, path: Path) -> GgufHeader:
    if file.read(4) != b"GGUF":
        raise EngineError(
            f"{path} is not a GGUF file.",
            remedy="The llama.cpp engine reads GGUF; convert the model or name another.",
        )
    version, tensors, pairs = _unpack(file, "<IQQ")
    if version not in (2, 3) or pairs > _MAX_PAIRS or tensors > _MAX_TENSORS:
        raise EngineError(f"{path} is a GGUF file of a version that isn't known ({version}).")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = _string(file).decode("utf-8")
        (kind,) = _unpack(file, "<I")
        metadata[key] = _value(file, kind)
    names: set[str] = set()
    end = 0
    for _ in range(tensors):
        names.add(_string(file).decode("utf-8", "replace"))
        end = max(end, _tensor_end(file))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= _MAX_ALIGNMENT:
        raise struct.error("odd alignment")
    start = -(-file.tell() // alignment) * alignment if tensors else file.tell()
    return GgufHeader(version, metadata, start + end, frozenset(names))


def _tensor_end(file: BinaryIO) -> int:
    """Read a tensor's entry behind its name; return its end, counted from the first tensor."""
    (dimensions,) = _unpack(file, "<I")
    if dimensions > _MAX_DIMENSIONS:
        raise struct.error("too many dimensions")
    shape = _unpack(file, f"<{dimensions}Q")
    kind, offset = _unpack(file, "<IQ")
    weights, block_bytes = BLOCKS.get(kind, (1, 0))
    size: int = math.prod(shape) // weights * block_bytes
    return int(offset) + size


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file).decode("utf-8", "replace")
    if kind == _ARRAY:
        inner, count = _unpack(file, "<IQ")
        if count > _MAX_ITEMS:
            raise struct.error("array too long")
        if inner in SCALARS:
            return list(_unpack(file, f"<{count}{SCALARS[inner]}"))
        return [_value(file, inner) for _ in range(count)]
    if kind not in SCALARS:
        raise struct.error("unknown type")
    return _unpack(file, f"<{SCALARS[kind]}")[0]


def _string(file: BinaryIO) -> bytes:
    (length,) = _unpack(file, "<Q")
    if length > _MAX_STRING_BYTES:
        raise struct.error("string too long")
    data = file.read(length)
    if len(data) != length:
        raise struct.error("string cut")
    return data


def _unpack(file: BinaryIO, layout: str) -> tuple[Any, ...]:
    size = struct.calcsize(layout)
    return struct.unpack(layout, file.read(size))
