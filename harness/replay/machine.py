"""On what a run was made: the machine and the versions that can matter."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from harness import __version__
from harness.machine import cores, memory_bytes

__all__ = ["machine", "versions"]

# Distributions whose version can change an answer.
_KEY_LIBRARIES = (
    "charset-normalizer",
    "faiss-cpu",
    "httpx",
    "lxml",
    "numpy",
    "onnxruntime",
    "polars",
    "tokenizers",
    "trafilatura",
    "xllamacpp",
)


def versions() -> dict[str, str | None]:
    """Return versions by name: ``python``, ``hotseat``, key libraries (``None`` if absent)."""
    found: dict[str, str | None] = {
        "python": platform.python_version(),
        "hotseat": __version__,
    }
    for name in _KEY_LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine() -> dict[str, Any]:
    """Return processor, usable cores, memory and operating system; nothing that names a user."""
    return {
        "cpu": _processor(),
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "os": f"{platform.system()} {platform.release()}",
        "arch": platform.machine(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
