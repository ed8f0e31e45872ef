"""What makes two runs the same run, so that one may go on where the other stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from harness.replay.digest import canonical_json

__all__ = ["differences", "identity_digest"]

# Key material, as parts of the manifest.  Left out: the order of play (results
# do not depend on it), paths (a corpus may be moved), origins of settings (the
# values count), versions and machine (a killed run may be resumed after an
# update; the manifest of the resumed run names both), where a model server is
# and how patiently it is asked (what it is stands in the contestant's part), why
# a reranker was chosen (which one it is counts), how live games are played.
_PARTS = ("settings", "contestant", "corpus", "questions", "on_miss", "limit", "categories")
_LEFT_OUT = frozenset(
    {
        "contestant.reranker.chosen",
        "corpus.name",
        "questions.file",
        "settings.engine.check_memory",
        "settings.engine.server",
        "settings.engine.server_retries",
        "settings.engine.server_template",
        "settings.engine.server_timeout_s",
    }
)


def identity_digest(manifest: Mapping[str, Any]) -> str:
    """Return ``sha256:…`` over the parts of a manifest that two runs must share."""
    return "sha256:" + hashlib.sha256(canonical_json(_material(manifest)).encode()).hexdigest()


def differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return one phrase per part in which two manifests differ, sorted by name."""
    here, there = _material(wanted), _material(found)
    return [
        f"{name} ({_shown(here.get(name))} now, {_shown(there.get(name))} in the run)"
        for name in sorted(set(here) | set(there))
        if here.get(name) != there.get(name)
    ]


def _material(manifest: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for part in _PARTS:
        _flatten(part, manifest.get(part), flat)
    return {
        name: value
        for name, value in flat.items()
        if name not in _LEFT_OUT and not name.startswith("settings.play.")
    }


def _flatten(name: str, value: Any, flat: dict[str, Any]) -> None:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            _flatten(f"{name}.{key}", inner, flat)
    else:
        flat[name] = value


def _shown(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
