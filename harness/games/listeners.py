"""Several listeners as one, none of which can spoil a game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.games.records import GameListener, GamePlan, GameRecord, PlayedQuestion

__all__ = ["Listeners"]


class Listeners(GameListener):
    """Tells each of ``listeners`` everything; one that raises is not told any more.

    ``faults`` holds a sentence for each of those.
    """

    def __init__(self, *listeners: GameListener) -> None:
        self._listeners = list(listeners)
        self.faults: list[str] = []

    def add(self, listener: GameListener) -> None:
        """Tell one more from now on."""
        self._listeners.append(listener)

    def planned(self, plan: GamePlan) -> None:
        """Pass it on."""
        self._each(lambda one: one.planned(plan))

    def started(self, record: GameRecord, *, resumed: bool) -> None:
        """Pass it on."""
        self._each(lambda one: one.started(record, resumed=resumed))

    def asked(self, record: GameRecord, question: PlayedQuestion, left_s: float | None) -> None:
        """Pass it on."""
        self._each(lambda one: one.asked(record, question, left_s))

    def stage(self, name: str, seconds: float) -> None:
        """Pass it on."""
        self._each(lambda one: one.stage(name, seconds))

    def noted(self, facts: Mapping[str, Any]) -> None:
        """Pass it on."""
        self._each(lambda one: one.noted(facts))

    def answering(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Pass it on."""
        self._each(lambda one: one.answering(record, question))

    def judged(self, record: GameRecord, question: PlayedQuestion) -> None:
        """Pass it on."""
        self._each(lambda one: one.judged(record, question))

    def ended(self, record: GameRecord) -> None:
        """Pass it on."""
        self._each(lambda one: one.ended(record))

    def problem(self, sentence: str) -> None:
        """Pass it on."""
        self._each(lambda one: one.problem(sentence))

    def _each(self, tell: Callable[[GameListener], None]) -> None:
        for one in tuple(self._listeners):
            try:
                tell(one)
            except Exception as error:  # noqa: BLE001 - a display must not cost a game
                self._listeners.remove(one)
                words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                self.faults.append(f"{type(one).__name__} failed and was switched off ({words}).")
