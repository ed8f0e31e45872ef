"""The sizes and tensors of a llama model: all there, of the right shape, inside the file.

Said of the numbers in a header, before a C library that checks few of them
gets to see the file.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.engines._bounded import Cut
from harness.engines._gguf import BLOCKS

__all__ = [
    "GGJT_NAMES",
    "GGUF_NAMES",
    "MAX_LAYERS",
    "MAX_WIDTH",
    "Sizes",
    "Tensor",
    "check_sizes",
    "check_tensors",
    "dimension_count",
    "tensor_kind",
]

# The tensor types that the library knows, with values and bytes of a block.
_TYPES = {kind: BLOCKS[kind] for kind in (0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14)}
_F32 = 0

MAX_LAYERS = 256
_MAX_VOCABULARY = 1_000_000
MAX_WIDTH = 1 << 16


@dataclass(frozen=True, slots=True)
class Tensor:
    """Shape (row length first), type and place in the file of one tensor."""

    shape: tuple[int, ...]
    kind: int
    start: int

    @property
    def size_bytes(self) -> int:
        """Bytes that the tensor takes in the file."""
        values, width = _TYPES[self.kind]
        rows = 1
        for length in self.shape[1:]:
            rows *= length
        return self.shape[0] // values * width * rows


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers that give a llama model its shape.

    ``cache_heads`` are the attention heads with keys of their own, ``inner`` is
    the width between the two halves of a layer's second part.
    """

    vocabulary: int
    width: int
    heads: int
    cache_heads: int
    layers: int
    inner: int


def dimension_count(number: int) -> int:
    """Return ``number`` if a tensor may have so many dimensions; raises :class:`Cut`."""
    if number not in (1, 2):
        raise Cut
    return number


def tensor_kind(number: int) -> int:
    """Return ``number`` if it is a tensor type that the library knows; raises :class:`Cut`."""
    if number not in _TYPES:
        raise Cut
    return number


def check_sizes(sizes: Sizes, rotated: int) -> None:
    """Raise :class:`Cut` for sizes that no model has; ``rotated`` is the width of a head."""
    limits = (
        0 < sizes.vocabulary <= _MAX_VOCABULARY,
        0 < sizes.layers <= MAX_LAYERS,
        0 < sizes.width <= MAX_WIDTH,
        0 < sizes.inner <= 4 * MAX_WIDTH,
        0 < sizes.heads <= sizes.width,
    )
    if not all(limits) or sizes.width % sizes.heads or sizes.cache_heads <= 0:
        raise Cut
    if sizes.heads % sizes.cache_heads or rotated != sizes.width // sizes.heads or rotated % 2:
        raise Cut


Names = tuple[tuple[str, ...], str, tuple[str, ...]]

GGUF_NAMES: Names = (
    ("token_embd", "output_norm", "output"),
    "blk.{}.",
    ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
     "ffn_norm", "ffn_gate", "ffn_down", "ffn_up"),
)  # fmt: skip
GGJT_NAMES: Names = (
    ("tok_embeddings", "norm", "output"),
    "layers.{}.",
    ("attention_norm", "attention.wq", "attention.wk", "attention.wv", "attention.wo",
     "ffn_norm", "feed_forward.w1", "feed_forward.w2", "feed_forward.w3"),
)  # fmt: skip


def check_tensors(
    found: dict[str, Tensor],
    sizes: Sizes,
    names: Names,
    size_bytes: int,
) -> None:
    """Make sure that all tensors, and no others, are there whole and of the right shape.

    Raises :class:`Cut` otherwise.
    """
    wide, shared = sizes.width, sizes.width // sizes.heads * sizes.cache_heads
    whole = ((wide, sizes.vocabulary), (wide,), (wide, sizes.vocabulary))
    layer = ((wide,), (wide, wide), (wide, shared), (wide, shared), (wide, wide),
             (wide,), (wide, sizes.inner), (sizes.inner, wide), (wide, sizes.inner))  # fmt: skip
    outer, prefix, inner = names
    wanted = {f"{name}.weight": shape for name, shape in zip(outer, whole, strict=True)}
    for number in range(sizes.layers):
        for name, shape in zip(inner, layer, strict=True):
            wanted[f"{prefix.format(number)}{name}.weight"] = shape
    if set(found) != set(wanted):
        raise Cut
    for name, tensor in found.items():
        vector = len(tensor.shape) == 1
        if tensor.shape != wanted[name] or (vector and tensor.kind != _F32):
            raise Cut
        if tensor.shape[0] % _TYPES[tensor.kind][0]:
            raise Cut
        if tensor.start + tensor.size_bytes > size_bytes:
            raise Cut
