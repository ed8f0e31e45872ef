"""The per-user folder: models, unpacked corpora.

``HOTSEAT_HOME`` names it; without that it is the platform's data folder.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["home"]


def home() -> Path:
    """Return the per-user folder (which may not exist yet)."""
    chosen = os.environ.get("HOTSEAT_HOME")
    if chosen:
        return Path(chosen).expanduser().resolve()
    from platformdirs import user_data_path

    return user_data_path("hotseat", appauthor=False)
