"""What players tell of their thinking, kept for those who watch: in memory, bounded.

A player that is Hotseat posts events beside the protocol; all others don't.
Only the known fields of known kinds are kept, cut to size:

``query``     text
``hits``      titles
``passages``  items: source, score
``stage``     name, seconds
``read``      text: what the model was given
``output``    text: what it wrote
``answer``    text, basis
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import Any

from harness.games.practice._refusal import Refusal

__all__ = ["Stages", "clean_event"]

_MAX_GAMES = 200
_MAX_EVENTS = 300
_MAX_GAME_CHARS = 400_000
_MAX_CHARS = 16_000_000
_MAX_POSTED = 60
_MAX_ITEMS = 20
_TEXT_CHARS = {"query": 500, "read": 12_000, "output": 4_000, "answer": 500}
_SHORT_CHARS = 200


class Stages:
    """The latest events of the latest games, by game id.

    Numbers of events grow over all games, so that whoever asks for later ones
    misses none, also of a game that was forgotten and is told again.
    """

    def __init__(self) -> None:
        self._games: OrderedDict[int, deque[dict[str, Any]]] = OrderedDict()
        self._chars: dict[int, int] = {}
        self._last = 0

    def add(self, game_id: int, level: int, posted: object) -> int:
        """Keep what was posted about a level; return how many events that were.

        Raises :class:`Refusal` 400 unless it is a list of at most 60 objects.
        """
        if not isinstance(posted, list) or len(posted) > _MAX_POSTED:
            raise Refusal(400, f"events must be a list of at most {_MAX_POSTED} objects.")
        events = [event for item in posted if (event := clean_event(item)) is not None]
        kept = self._games.setdefault(game_id, deque())
        self._games.move_to_end(game_id)
        for event in events:
            self._last += 1
            kept.append({"n": self._last, "level": level, **event})
            self._chars[game_id] = self._chars.get(game_id, 0) + _size(kept[-1])
            while len(kept) > _MAX_EVENTS or self._chars[game_id] > _MAX_GAME_CHARS:
                self._chars[game_id] -= _size(kept.popleft())
        while len(self._games) > _MAX_GAMES or sum(self._chars.values()) > _MAX_CHARS:
            old, _ = self._games.popitem(last=False)
            self._chars.pop(old, None)
        return len(events)

    def after(self, game_id: int, number: int) -> list[dict[str, Any]]:
        """Return a game's events after the ``number``-th."""
        return [event for event in self._games.get(game_id, ()) if event["n"] > number]

    def knows(self, game_id: int) -> bool:
        """Whether a game's player tells its stages."""
        return game_id in self._games


def _size(event: dict[str, Any]) -> int:
    return len(str(event))


def clean_event(item: object) -> dict[str, Any] | None:
    """Return an event's known fields, cut to size; ``None`` for what is none."""
    if not isinstance(item, dict):
        return None
    kind = item.get("kind")
    if isinstance(kind, str) and kind in _TEXT_CHARS:
        event = {"kind": kind, "text": _text(item.get("text"), _TEXT_CHARS[kind])}
        if kind == "answer":
            event["basis"] = _text(item.get("basis"))
        return event
    if kind == "hits":
        return {"kind": kind, "titles": [_text(one) for one in _items(item.get("titles"))]}
    if kind == "passages":
        found = [one for one in _items(item.get("items")) if isinstance(one, dict)]
        items = [
            {"source": _text(o.get("source")), "score": _number(o.get("score"))} for o in found
        ]
        return {"kind": kind, "items": items}
    if kind == "stage":
        name, seconds = _text(item.get("name"), 40), _number(item.get("seconds"))
        return {"kind": kind, "name": name, "seconds": seconds or 0.0}
    return None


def _items(value: object) -> list[Any]:
    return value[:_MAX_ITEMS] if isinstance(value, list) else []


def _text(value: object, chars: int = _SHORT_CHARS) -> str:
    text = value if isinstance(value, str) else ""
    # What UTF-8 can't hold (half a surrogate pair) could not be sent on.
    return text[:chars].encode("utf-8", "replace").decode()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
