"""Where the shipped recording is."""

from __future__ import annotations

from pathlib import Path

from harness.errors import MissingError

__all__ = ["sample_path"]


def sample_path() -> Path:
    """Return the folder of the shipped recording.

    An installed package carries it as ``harness/_sample``; in a checkout it is
    ``cache/sample``.  Raises :class:`~harness.errors.MissingError` without
    either.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_sample", package.parent / "cache" / "sample"):
        if (folder / "manifest.json").is_file():
            return folder
    raise MissingError(
        "The shipped recording is not there.",
        remedy="Install hotseat again, or run it from a full checkout.",
    )
