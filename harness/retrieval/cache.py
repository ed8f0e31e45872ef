"""Vectors kept in memory between calls, least recently used ones dropped first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.retrieval.protocol import Encoding

__all__ = ["VectorCache"]


class VectorCache:
    """A mapping from key to encoding that never holds more than ``max_bytes`` of vectors.

    It only saves time: an encoding read back is the object put in.  Safe to
    use from several threads.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[str, Encoding] = OrderedDict()
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes of vectors held now."""
        return self._size_bytes

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Encoding | None:
        """Return the encoding under ``key``, or ``None``."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: str, encoding: Encoding) -> None:
        """Keep an encoding, unless it alone is larger than the whole cache."""
        if encoding.size_bytes > self._max_bytes:
            return
        with self._lock:
            old = self._kept.pop(key, None)
            if old is not None:
                self._size_bytes -= old.size_bytes
            self._kept[key] = encoding
            self._size_bytes += encoding.size_bytes
            while self._size_bytes > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._size_bytes -= dropped.size_bytes
