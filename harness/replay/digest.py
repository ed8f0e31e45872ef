"""The results digest: one line by which two people compare two replays.

It is SHA-256 over the UTF-8 bytes of canonical JSON: the rows sorted by
question id, each as an object of all columns but the ``t_…`` ones, keys
sorted, no white space, non-ASCII characters as themselves.

Left out, with the reason: seconds (measured, they vary), and everything that
is not in a row.  Settings, models and corpus are named in the manifest
instead: two runs with other settings but the same answers share a digest,
which is what a refactoring wants to see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["canonical_json", "results_digest"]


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no blanks, no NaN."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def results_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return ``sha256:…`` over the non-timing columns of ``rows``, in any order."""
    kept = [
        {name: value for name, value in row.items() if not name.startswith("t_")} for row in rows
    ]
    kept.sort(key=lambda row: str(row["question_id"]))
    return "sha256:" + hashlib.sha256(canonical_json(kept).encode()).hexdigest()
