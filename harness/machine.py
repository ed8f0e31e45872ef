"""What this machine has: cores that may be used, and memory."""

from __future__ import annotations

import os

__all__ = ["cores", "memory_bytes"]


def cores() -> int:
    """Return how many cores this process may use, where the system tells; else all there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Return the size of the physical memory, ``None`` on a platform without these counters."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
