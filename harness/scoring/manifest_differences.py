"""In what two runs differ before anybody looks at their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Difference", "manifest_differences"]

# The parts of a manifest, as people would call them.  Left out: times, digests of
# results and identity (they follow from the rest), origins (the values count) and paths.
_PARTS = {
    "settings": "setting",
    "contestant": "model",
    "corpus": "corpus",
    "questions": "questions",
    "on_miss": "unrecorded searches",
    "limit": "selection",
    "categories": "selection",
    "versions": "version",
    "machine": "machine",
}
_LEFT_OUT = frozenset({"questions.file"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: its part, its name, and its value in each run.

    Values are JSON values; ``None`` stands also for what a run does not name.
    """

    part: str
    name: str
    values: tuple[Any, ...]


def manifest_differences(manifests: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """Return what differs between runs' manifests, in the manifest's order of parts."""
    flats = []
    for manifest in manifests:
        flat: dict[str, Any] = {}
        for part in _PARTS:
            _flatten(part, manifest.get(part), flat)
        flats.append(flat)
    names = dict.fromkeys(name for flat in flats for name in flat)
    order = list(_PARTS)
    found = []
    for name in sorted(names, key=lambda name: (order.index(name.partition(".")[0]), name)):
        values = tuple(flat.get(name) for flat in flats)
        if name not in _LEFT_OUT and any(value != values[0] for value in values):
            part, _, short = name.partition(".")
            found.append(Difference(_PARTS[part], short or part, values))
    return found


def _flatten(name: str, value: Any, flat: dict[str, Any]) -> None:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            _flatten(f"{name}.{key}", inner, flat)
    elif value is not None:
        flat[name] = value
