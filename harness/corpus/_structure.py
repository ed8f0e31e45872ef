"""What is wrong with a store's database itself, row contents apart."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

from harness.corpus._cache_queries import Queries
from harness.corpus._guard import guarded
from harness.errors import CorpusError

__all__ = ["KEY", "structural_problems"]

KEY: Final = re.compile(r"body:[0-9a-f]{64}|(?:entry|damaged):[0-9a-f]{64}:(?:0|[1-9][0-9]{0,8})")
"""The form of a store's keys."""

_KINDS: Final = ("body", "damaged", "entry")


def structural_problems(cache: Queries, folder: Path) -> list[str]:
    """Return what is wrong with the database of the store in ``folder``.

    Raises nothing: a database that can't be used is such a problem.
    """
    found: list[str] = []
    for look in (Queries.integrity, _strange_rows, _unseen_rows):
        try:
            with guarded(folder):
                found.extend(look(cache))
        except CorpusError as error:
            if error.message not in found:
                found.append(error.message)
    return found


def _strange_rows(cache: Queries) -> list[str]:
    return [f"{row} is not of a kind that Hotseat writes" for row in cache.strange_rows(KEY)]


def _unseen_rows(cache: Queries) -> list[str]:
    """Return that walking through the keys ends too early, if it does."""
    expected = cache.expected_rows()
    try:
        seen = sum(len(cache.keys(f"{kind}:")) for kind in _KINDS)
        # Rows of other kinds are no part of that walk, and told elsewhere.
        seen += cache.other_rows(tuple(f"{kind}:" for kind in _KINDS))
    except sqlite3.DatabaseError:
        seen = 0
    if seen >= expected:
        return []
    return [
        f"the index of the store is damaged; {expected - seen} entries or bodies "
        "could not be looked at; restore it from an export"
    ]
