"""The command line."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (``None``: the process's arguments)."""
    try:
        from harness.cli._app import run

        return run(arguments)
    except KeyboardInterrupt:  # while the program itself was still loading
        return 130
