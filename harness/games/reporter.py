"""Telling a server that wants to know what the player is doing.

The practice server shows it to those who watch; any other server has no such
place, is asked once, and hears nothing more.  Nothing here delays a game or
can spoil it: events wait in a short queue, the oldest are dropped, and what
can't be sent is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from harness.games.client import QuizClient
from harness.games.records import GameListener, GameRecord, PlayedQuestion

__all__ = ["StageReporter"]

_QUEUED = 100
_AT_ONCE = 40
_EVERY_S = 0.3
_LAST_WAIT_S = 2.0
_TITLES = 10
_SHORT_CHARS = 200
_LONG_CHARS = 4_000
_READ_CHARS = 4_000
_POST_BYTES = 45_000  # of the 64 KB that a server takes


class StageReporter(GameListener):
    """Sends the stages of one client's games; use it as an asynchronous context manager."""

    def __init__(self, quiz: QuizClient) -> None:
        self._quiz = quiz
        self._queue: deque[tuple[int, int, dict[str, Any]]] = deque(maxlen=_QUEUED)
        self._session_id = 0
        self._level = 0
        self._task: asyncio.Task[None] | None = None
        self._there = asyncio.Event()
        self._closing = False

    async def __aenter__(self) -> StageReporter:
        if await self._quiz.takes_stages():
            self._task = asyncio.create_task(self._send())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is None:
            return
        task, self._task = self._task, None
        self._closing = True
        self._there.set()
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(task, _LAST_WAIT_S)

    def asked(self, record: GameRecord, question: PlayedQuestion, left_s: float | None) -> None:
        """Turn to a question."""
        self._session_id, self._level = record.session_id, question.level

    def stage(self, name: str, seconds: float) -> None:
        """Tell what a stage took."""
        self._tell({"kind": "stage", "name": name, "seconds": round(seconds, 3)})

    def noted(self, facts: Mapping[str, Any]) -> None:
        """Tell what is searched for, found, read and written."""
        if isinstance(facts.get("query"), str):
            self._tell({"kind": "query", "text": facts["query"][:500]})
        if isinstance(facts.get("hits"), list):
            titles = [_title(hit) for hit in facts["hits"][:_TITLES]]
            self._tell({"kind": "hits", "titles": titles})
        if isinstance(facts.get("passages"), list):
            items = [
                {"source": str(one.get("url", ""))[:_SHORT_CHARS], "score": one.get("score")}
                for one in facts["passages"]
            ]
            self._tell({"kind": "passages", "items": items})
        if isinstance(facts.get("prompt"), str):
            self._tell({"kind": "read", "text": facts["prompt"][-_READ_CHARS:]})
        if isinstance(facts.get("output"), str):
            self._tell({"kind": "output", "text": facts["output"][:_LONG_CHARS]})

    def answering(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Tell the answer."""
        self._session_id, self._level = record.session_id, question.level
        basis = question.basis.value if question.basis else ""
        self._tell({"kind": "answer", "text": question.chosen or "", "basis": basis})

    def _tell(self, event: dict[str, Any]) -> None:
        if self._task is not None:
            self._queue.append((self._session_id, self._level, event))
            self._there.set()

    async def _send(self) -> None:
        while not self._closing:
            await self._there.wait()
            self._there.clear()
            if not self._closing:
                await asyncio.sleep(_EVERY_S)  # what comes close together goes together
            await self._flush()

    async def _flush(self) -> None:
        while self._queue:
            session_id, level, _ = self._queue[0]
            events: list[dict[str, Any]] = []
            size = 0
            while self._queue and self._queue[0][:2] == (session_id, level):
                size += len(json.dumps(self._queue[0][2]))
                if events and (len(events) == _AT_ONCE or size > _POST_BYTES):
                    break
                events.append(self._queue.popleft()[2])
            with contextlib.suppress(Exception):  # nobody's game may end for want of watchers
                await self._quiz.tell_stages(session_id, level, events)


def _title(hit: object) -> str:
    if not isinstance(hit, Mapping):
        return ""
    return str(hit.get("title") or hit.get("url") or "")[:_SHORT_CHARS]
