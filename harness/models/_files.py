"""Streaming, hashing and replacing files with bounded memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Written",
    "folder_bytes",
    "hash_file",
    "human_size",
    "read_chunks",
    "sync_folder",
    "write_chunks",
    "write_json",
]

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """Size and SHA-256 of a file, as 64 hex digits."""

    size_bytes: int
    sha256: str


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in pieces of at most a mebibyte."""
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def hash_file(path: Path) -> Written:
    """Return size and hash of a file."""
    digest, size = hashlib.sha256(), 0
    for chunk in read_chunks(path):
        digest.update(chunk)
        size += len(chunk)
    return Written(size, digest.hexdigest())


def write_chunks(chunks: Iterable[bytes], target: Path) -> Written:
    """Write a file whole or not at all, and return its size and hash."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".tmp")
    digest, size = hashlib.sha256(), 0
    try:
        with temporary.open("wb") as stream:
            for chunk in chunks:
                stream.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return Written(size, digest.hexdigest())


def write_json(value: Any, target: Path) -> None:
    """Write a JSON file whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_chunks([text.encode("utf-8")], target)


def sync_folder(path: Path) -> None:
    """Make renames in a folder durable, where the platform lets us."""
    if os.name == "nt":  # Windows can't open folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_bytes(path: Path) -> int:
    """Return the size of all files below a folder, some of which may be just going away."""
    total = 0
    for root, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118
            except FileNotFoundError:
                continue
    return total


def human_size(size_bytes: int | None) -> str:
    """Return a size as people read it: ``1.12 GB``."""
    if size_bytes is None:
        return "unknown"
    size = float(size_bytes)
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}"
        size /= 1_000
    return f"{size:.2f} GB"
