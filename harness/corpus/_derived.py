"""Where what can be computed again is kept beside a corpus: vectors, the search index."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from harness.home import home

__all__ = ["derived_folder"]

DERIVED: Final = "derived"


def derived_folder(folder: Path) -> Path:
    """Return the folder for derived data of the working corpus in ``folder``.

    It lies in the corpus or, where that can't be written, in the user's home
    under the hash of the corpus's path.  It may not exist yet.  Nothing in it
    belongs to the corpus: it is in no digest and no export, ``verify`` passes
    over it, and it may be deleted at any time.
    """
    inside = folder / DERIVED
    effective = os.access in os.supports_effective_ids
    place = inside if inside.is_dir() else folder
    if os.access(place, os.W_OK, effective_ids=effective):
        return inside
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return home() / DERIVED / name
