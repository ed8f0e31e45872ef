"""The server's two clocks, and which boot of the machine they belong to."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from harness.clock import Clock, SystemClock
from harness.games.practice._rules import Moment

__all__ = ["ServerTime", "iso"]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def _this_boot() -> str:
    """Return what names this boot of the machine, or this process where nothing does."""
    if sys.platform == "linux":
        try:
            return _BOOT_ID.read_text(encoding="ascii").strip()
        except OSError:  # no /proc in this sandbox
            pass
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class ServerTime:
    """Reads a :class:`~harness.clock.Clock` as :class:`Moment` values.

    ``boot`` must differ between two starts whose monotonic readings do not
    compare.  On Linux they do until the machine itself restarts.
    """

    clock: Clock = field(default_factory=SystemClock)
    boot: str = field(default_factory=_this_boot)

    def now(self) -> Moment:
        """Return this moment."""
        return Moment(self.clock.monotonic(), self.clock.now().timestamp(), self.boot)


def iso(wall_s: float) -> str:
    """Return a wall time as ISO 8601 in UTC with ``Z``: ``2026-01-01T00:00:30.000Z``."""
    text = datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
