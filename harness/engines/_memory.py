"""Whether a model fits into memory, estimated from its header before it is loaded.

The estimate: the weights as they are on disk, the attention cache for the
whole context (16-bit keys and values of every layer), and room to compute in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.engines._gguf import GgufHeader
from harness.errors import EngineError
from harness.machine import memory_bytes

__all__ = ["check_fits", "free_bytes", "needed_bytes"]

_BATCH = 512  # tokens that llama.cpp computes at a time
_ROOM_BYTES = 64 * 2**20
_GIB = 2**30


def check_fits(
    path: Path, header: GgufHeader, *, file_bytes: int, tokens: int, layers: int
) -> None:
    """Refuse a model that needs more memory than is free.

    ``tokens`` counts all slots together, ``layers`` those on a GPU (-1: all).
    Where the free memory can't be told, nothing is refused.  Raises
    :class:`~harness.errors.EngineError` with the need and what is free.
    """
    need = needed_bytes(header, file_bytes=file_bytes, tokens=tokens, layers=layers)
    free = free_bytes()
    if free is None or need <= free:
        return
    raise EngineError(
        f"The model {path.name} needs about {need / _GIB:.1f} GiB of memory "
        f"({file_bytes / _GIB:.1f} for the weights, the rest for {tokens:,} tokens of context), "
        f"but {free / _GIB:.1f} GiB are free.",
        remedy="Name a smaller model, lower engine.context_window, use --set engine.prefix=none, "
        "or load it all the same with --set engine.check_memory=false.",
    )


def needed_bytes(header: GgufHeader, *, file_bytes: int, tokens: int, layers: int = 0) -> int:
    """Return the memory in bytes that a model needs on this side of a GPU, roughly."""
    family, meta = header.architecture, header.metadata
    blocks = _number(meta.get(f"{family}.block_count"))
    embedding = _number(meta.get(f"{family}.embedding_length"))
    heads = max(_numbers(meta.get(f"{family}.attention.head_count")), default=0) or 1
    kv_heads = _numbers(meta.get(f"{family}.attention.head_count_kv")) or [heads]
    key = _number(meta.get(f"{family}.attention.key_length")) or embedding // heads
    value = _number(meta.get(f"{family}.attention.value_length")) or embedding // heads
    # One number for all layers, or one for each.
    in_all = kv_heads[0] * blocks if len(kv_heads) == 1 else sum(kv_heads)
    cache = 2 * tokens * in_all * (key + value)
    wide = max(_numbers(meta.get(f"{family}.feed_forward_length")), default=0)
    room = _ROOM_BYTES + 4 * _BATCH * (2 * wide + 8 * embedding)
    here = 1.0
    if layers:
        here = 0.0 if layers < 0 else 1 - min(1.0, layers / (blocks or layers))
    return int(here * (file_bytes + cache)) + room


def free_bytes() -> int | None:
    """Return the memory this process may still take, ``None`` where that can't be told.

    On Linux what the kernel calls available, within the limit of the control
    group; on Windows the free physical memory; elsewhere all physical memory.
    """
    if sys.platform == "win32":
        return _windows_free()
    found = [size for size in (_meminfo(), *_cgroup_rooms()) if size is not None]
    if found:
        return min(found)
    return memory_bytes()


def _meminfo(path: Path = Path("/proc/meminfo")) -> int | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable" and rest.split():
            return int(rest.split()[0]) * 1024
    return None


def _cgroup_rooms(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> list[int]:
    """Return the room under each memory limit that control groups put on this process."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    rooms = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if not controllers:
            names = ("memory.max", "memory.current", "inactive_file")
            top = root
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            top = root / "memory"
        else:
            continue
        inner = top / place.strip("/")
        # In a container the group's own path is often mounted as the root.
        for folder in {inner, *inner.parents} if inner.is_relative_to(top) else {top}:
            if folder.is_relative_to(top):
                room = _room(folder, *names)
                if room is not None:
                    rooms.append(room)
    return rooms


def _room(folder: Path, limit: str, usage: str, reclaimable: str) -> int | None:
    try:
        most = int((folder / limit).read_text(encoding="ascii"))
        used = int((folder / usage).read_text(encoding="ascii"))
        stat = (folder / "memory.stat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None  # no such group, or no limit ("max")
    # Cached files are given back when memory runs short.
    cached = dict(zip(stat[::2], stat[1::2], strict=False)).get(reclaimable, "0")
    return max(0, most - used + int(cached))


def _windows_free() -> int | None:
    if sys.platform == "win32":
        import ctypes

        class Status(ctypes.Structure):
            _fields_ = [
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                *((n, ctypes.c_ulonglong) for n in ("total", "free", "a", "b", "c", "d", "e")),
            ]

        status = Status()
        status.length = ctypes.sizeof(Status)
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return int(status.free)
    return None


def _number(value: Any) -> int:
    return max(_numbers(value), default=0)


def _numbers(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [n for n in values if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
