"""Vectors as few bytes: pooled ones in float16, token vectors in int8 with a scale each.

A text's vectors are always what its packed bytes say, also when they were
computed a moment ago, so no result can tell whether they were stored.
Unpacked vectors are scaled back to length 1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from harness.retrieval._encoding import TINY, unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMAT", "pack_pooled", "pack_tokens", "unpack_pooled", "unpack_tokens"]

FORMAT = "pooled float16, tokens int8"  # part of a stored vector's identity

_STEPS = 127
_SHAPE = struct.Struct("<HH")
_SCALE = np.dtype("<f4")


def pack_pooled(vector: NDArray[np.float32]) -> bytes:
    """Return a vector of shape (d,), of length 1, as ``2 · d`` bytes."""
    return bytes(vector.astype("<f2").tobytes())


def unpack_pooled(packed: bytes) -> NDArray[np.float32]:
    """Return the vector, read-only.  Raises :class:`ValueError` for other bytes."""
    row = np.frombuffer(packed, dtype="<f2").astype(np.float32)
    if not len(row):
        raise ValueError("a pooled vector has at least one number")
    return unit(row[None, :]).reshape(-1)


def pack_tokens(rows: NDArray[np.float32]) -> bytes:
    """Return vectors of shape (n, d) as ``4 + n · (4 + d)`` bytes: shape, scales, numbers."""
    scales = np.abs(rows).max(axis=1, initial=0.0).astype(_SCALE) / np.float32(_STEPS)
    whole = np.rint(rows / np.maximum(scales, TINY)[:, None])
    return b"".join((_SHAPE.pack(*rows.shape), scales.tobytes(), whole.astype(np.int8).tobytes()))


def unpack_tokens(packed: bytes) -> NDArray[np.float32]:
    """Return the vectors, read-only.  Raises :class:`ValueError` for other bytes."""
    if len(packed) < _SHAPE.size:
        raise ValueError("no shape")
    count, width = _SHAPE.unpack_from(packed)
    start = _SHAPE.size + count * _SCALE.itemsize
    if len(packed) != start + count * width:
        raise ValueError("the shape is another's")
    scales = np.frombuffer(packed, dtype=_SCALE, count=count, offset=_SHAPE.size)
    whole = np.frombuffer(packed, dtype=np.int8, offset=start).reshape(count, width)
    return unit(whole.astype(np.float32) * scales.astype(np.float32)[:, None])
