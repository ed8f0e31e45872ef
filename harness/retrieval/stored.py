"""Passages encoded once: an encoder whose vectors outlive the process."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.retrieval._packing import (
    FORMAT,
    pack_pooled,
    pack_tokens,
    unpack_pooled,
    unpack_tokens,
)
from harness.retrieval._vector_file import VectorFile
from harness.retrieval.protocol import Encoder, Encoding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["StoredVectors"]

_FILE = "vectors.sqlite"
_CPU_INFO = Path("/proc/cpuinfo")


class StoredVectors:
    """Packs an encoder's vectors and, given a folder, keeps them there.

    Every vector is what its packed bytes say, so results are the same bits
    with a folder and without, with vectors found in it and without.  Pooled
    vectors are kept of every text, token vectors (forty times as large) of
    those that :meth:`encode` was asked for.

    Found again is what the same model made of the same text, read to the same
    length, on the same kind of CPU: the last digits may differ between two.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        """Wrap ``encoder``; ``folder`` is where ``vectors.sqlite`` lies or shall lie."""
        self._encoder = encoder
        self._identity = _identity(encoder)
        self._file: VectorFile | None = None
        if folder is not None:
            self.keep_in(folder)
        # What the last call of `pooled` encoded: its tokens are likely to be asked for next.
        self._fresh: dict[bytes, tuple[bytes, bytes]] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong with the stored vectors so far; results don't suffer from it."""
        return self._file.problems if self._file else ()

    def keep_in(self, folder: Path) -> None:
        """Keep vectors in ``folder`` from now on."""
        self.close()
        self._file = VectorFile(folder / _FILE)

    def describe(self) -> dict[str, Any]:
        """Return the encoder's identity, and how its vectors are packed."""
        return {**self._encoder.describe(), "packed": FORMAT}

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return one encoding per text, in order."""
        keys = {text: self._key(text) for text in texts}
        fresh = {key: self._fresh.pop(key) for key in keys.values() if key in self._fresh}
        packed = dict(fresh)
        if self._file is not None:
            pooled = self._file.read("pooled", [k for k in keys.values() if k not in fresh])
            tokens = self._file.read("tokens", pooled)
            packed |= {key: (pooled[key], tokens[key]) for key in tokens}
        made = self._make([text for text, key in keys.items() if key not in packed])
        packed |= made
        self._keep(pooled=made, tokens={**fresh, **made})
        found = {text: _unpacked(*packed[key]) for text, key in keys.items()}
        return [found[text] for text in texts]

    def pooled(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return one vector of shape (d,) per text, in order: those that ``encode`` returns."""
        keys = {text: self._key(text) for text in texts}
        packed = self._file.read("pooled", keys.values()) if self._file is not None else {}
        self._fresh = self._make([text for text, key in keys.items() if key not in packed])
        self._keep(pooled=self._fresh, tokens={})
        packed |= {key: pooled for key, (pooled, _) in self._fresh.items()}
        found = {text: unpack_pooled(packed[key]) for text, key in keys.items()}
        return [found[text] for text in texts]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _make(self, texts: Sequence[str]) -> dict[bytes, tuple[bytes, bytes]]:
        encodings = self._encoder.encode(texts) if texts else []
        return {
            self._key(text): (pack_pooled(encoding.pooled), pack_tokens(encoding.tokens))
            for text, encoding in zip(texts, encodings, strict=True)
        }

    def _keep(
        self, *, pooled: dict[bytes, tuple[bytes, bytes]], tokens: dict[bytes, tuple[bytes, bytes]]
    ) -> None:
        if self._file is not None:
            self._file.write("pooled", {key: body for key, (body, _) in pooled.items()})
            self._file.write("tokens", {key: body for key, (_, body) in tokens.items()})

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(self._identity + text.encode("utf-8", "surrogatepass")).digest()


def _unpacked(pooled: bytes, tokens: bytes) -> Encoding:
    return Encoding(unpack_pooled(pooled), unpack_tokens(tokens))


def _identity(encoder: Encoder) -> bytes:
    """Return what makes a text's vectors, as 32 bytes.

    All that the encoder tells of itself, its threads included, as no library
    promises the same sums for any number; how vectors are packed; the CPU.  A
    version that makes no difference costs an encoding, one left out would
    cost the same results.
    """
    told = json.dumps([encoder.describe(), FORMAT, _cpu()], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(told.encode("ascii")).digest()


def _cpu() -> list[str]:
    """Return what decides which instructions a library chooses."""
    try:
        with _CPU_INFO.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(65_536).splitlines()
    except OSError:
        lines = []
    flags = [line for line in lines if line.lower().startswith(("model name", "flags", "features"))]
    return [platform.machine(), platform.processor(), *flags[:2]]
