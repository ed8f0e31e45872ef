"""One spoken question: heard and researched before the last option starts the clock.

The question is fetched, transcribed and researched while options A to C are
fetched and transcribed; all that is free.  The last option is asked for when
the research is done, or the patience with it is at an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from harness.contestant.protocol import TwoHalves
from harness.errors import DiskFullError, HotseatError, MissingError, SearchFailedError
from harness.evidence import Evidence
from harness.games._answerer import Chosen, settle, words_of
from harness.games.audio import Clip
from harness.games.presented import Presented, present
from harness.games.protocol import Game
from harness.games.records import GameRecord
from harness.games.verdict import Asked
from harness.games.wire import ServedQuestion
from harness.quiz import Answer, Category
from harness.trace import Code

if TYPE_CHECKING:
    from harness.games.loop import Table

__all__ = ["SPOKEN_TAG", "SpokenAsk"]

SPOKEN_TAG = "speech"
"""Of questions whose texts were heard, not read."""


class SpokenAsk:
    """Hears one question and answers it; ``clips`` are the hashes of what was kept.

    ``wait`` awaits a call to the quiz server, ``limit_s`` tells the seconds
    until an answer has to leave.
    """

    def __init__(
        self,
        game: Game,
        record: GameRecord,
        table: Table,
        served: ServedQuestion,
        asked: Asked,
        *,
        wait: Callable[[Awaitable[Any]], Awaitable[Any]],
        limit_s: Callable[[], float],
    ) -> None:
        self._game = game
        self._table = table
        self._served = served
        self._asked = asked
        self._wait = wait
        self._limit_s = limit_s
        self._trace = table.thinker.trace()
        self._troubles: list[HotseatError] = []
        self._found: asyncio.Future[None] | None = None
        self._evidence = Evidence.none()
        assert record.category is not None, "only competitions of a category are played"
        self._category: Category = record.category
        self.clips: list[str] = []
        self.busy_s = 0.0  # transcribing, and waiting for the research

    async def hear(self) -> Presented:
        """Fetch and transcribe the question and its options; research it on the way."""
        text = await self._heard(await self._wait(self._game.question_audio()), "")
        self._found = self._table.thinker.begin(lambda: self._research(text))
        count = len(self._served.options)
        texts: list[str] = []
        delivered = await self._wait(self._delivered())
        for place in range(count):
            if place < delivered:  # by a game that was begun before
                clip = await self._wait(self._game.option_audio(place))
            else:
                if place + 1 == count:
                    await self._patience()
                clip = await self._wait(self._game.next_option_audio())
            last = place + 1 == count  # from here on the clock runs
            texts.append(await self._heard(clip, text, self._limit_s() if last else None))
        options = tuple(
            (option.id, heard) for option, heard in zip(self._served.options, texts, strict=True)
        )
        return present(
            self._category,
            text,
            options,
            level=self._asked.level,
            known=self._table.learned,
            tags=(SPOKEN_TAG,),
        )

    async def answer(self, presented: Presented) -> Chosen:
        """Answer from what the research found; see :func:`settle`."""
        contestant = cast(TwoHalves, self._table.contestant)
        trace, clock = self._trace, self._table.clock

        def work() -> Answer:
            # The thread does one thing after the other, so the research is done.
            return contestant.answer(presented.question, self._evidence, trace)

        return await settle(
            presented,
            self._table.thinker,
            work,
            trace,
            self._troubles,
            self._limit_s(),
            clock.monotonic(),
            clock,
        )

    def _research(self, text: str) -> None:
        contestant = cast(TwoHalves, self._table.contestant)
        try:
            self._evidence = contestant.research(
                text, self._category, self._table.research(), self._trace
            )
        except (MissingError, SearchFailedError, DiskFullError) as error:
            self._troubles.append(error)
            self._trace.degrade("search", Code.SEARCH_FAILED, error.message)
        except Exception as error:  # noqa: BLE001 - the model can still answer alone
            self._trace.degrade("search", Code.SEARCH_FAILED, words_of(error))

    async def _patience(self) -> None:
        started_s = self._table.clock.monotonic()
        if self._found is not None:
            await asyncio.wait({self._found}, timeout=self._table.settings.play.patience_s)
        self.busy_s += self._table.clock.monotonic() - started_s

    async def _delivered(self) -> int:
        ask = getattr(self._game, "delivered_options", None)
        return int(await ask()) if ask is not None else 0

    async def _heard(self, clip: Clip, prompt: str, limit_s: float | None = None) -> str:
        """Keep and transcribe a clip; empty where that fails, or takes over ``limit_s``."""
        table = self._table
        if table.clips is not None:
            try:
                self.clips.append(table.clips.keep(clip))
            except HotseatError as error:
                self._troubles.append(error)
        transcriber = table.transcriber
        assert transcriber is not None, "speech is refused without one"
        started_s = table.clock.monotonic()
        text = ""
        try:
            async with asyncio.timeout(limit_s):
                text = await asyncio.to_thread(
                    transcriber.transcribe, clip, category=self._category, prompt=prompt
                )
        except TimeoutError:
            self._trace.degrade("hear", Code.HEARING_FAILED, "the last option was heard too late")
        except Exception as error:  # noqa: BLE001 - whatever is not heard, an answer leaves
            self._trace.degrade("hear", Code.HEARING_FAILED, words_of(error))
        took_s = table.clock.monotonic() - started_s
        self._trace.computed("hear", took_s)
        self.busy_s += took_s
        return " ".join(text.split())
