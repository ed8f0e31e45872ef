"""The clips of one spoken question: none skipped, none asked for too early."""

from __future__ import annotations

from harness.games._calls import Caller, error_of, is_transient, retry_after_of
from harness.games._http import Call, Reply
from harness.games.audio import MAX_CLIP_BYTES, Clip, read_clip
from harness.games.errors import QuizRefusedError
from harness.games.server_clock import Window

__all__ = ["Clips"]


class Clips:
    """Fetches a game's clips and keeps count of the options that were delivered.

    ``last`` is when the last option was delivered, which starts the clock;
    ``None`` before that.
    """

    def __init__(self, caller: Caller, session_id: int) -> None:
        self._caller = caller
        self._session_id = session_id
        self._options = 0
        self._delivered: int | None = None
        self.last: Window | None = None

    def begin(self, options: int, delivered: int | None) -> None:
        """Turn to a question of so many options; ``None`` delivered: that is not known."""
        self._options, self._delivered, self.last = options, delivered, None

    async def question(self) -> Clip:
        """Return the spoken question."""
        return await self._fetch("audio/question")

    async def option(self, place: int) -> Clip:
        """Return an option that has been delivered before; ``place`` counts from 0."""
        return await self._fetch(f"audio/option/{place}")

    async def delivered(self) -> int:
        """Return how many options have been delivered, asking the server if need be."""
        if self._delivered is None:
            count = 0
            while count < self._options and await self._if_delivered(count) is not None:
                count += 1
            self._delivered = count
        return self._delivered

    async def next(self) -> Clip:
        """Return the next option; one whose reply was lost is fetched by its number.

        If this fails or is cancelled, nobody knows whether the option was
        delivered, and the next call asks first.
        """
        place = await self.delivered()
        call = self._call("audio/option/next")
        caller, tries, renewed = self._caller, 0, 0
        first_s = caller.clock.monotonic()
        former = self.last
        self._delivered = None
        if place + 1 == self._options:  # the clock may run from now on
            self.last = Window(first_s, first_s)
        while True:
            logins = caller.logins
            got = await caller.attempt(call, fresh=tries > 0)
            if isinstance(got, Reply) and got.is_success:
                # Counted before it is read: a clip that is none has been delivered, too.
                self._count(place, Window(first_s, got.window.received_s))
                return read_clip(got.body, call.operation)
            if caller.may_log_in(call, got, renewed):
                renewed += 1
                await caller.log_in_again(logins)
                continue
            tries += 1
            if isinstance(got, Reply) and not is_transient(got):  # refused, so not delivered
                self._delivered, self.last = place, former
                raise error_of(call, got, tries)
            if not is_transient(got) or tries >= caller.policy.attempts:
                raise error_of(call, got, tries)
            await caller.sleep(caller.policy.wait_s(tries, retry_after_of(got)))
            clip = await self._if_delivered(place)
            if clip is not None:
                self._count(place, Window(first_s, caller.clock.monotonic()))
                return clip

    def _count(self, place: int, window: Window) -> None:
        self._delivered = place + 1
        if place + 1 == self._options:
            self.last = window

    async def _if_delivered(self, place: int) -> Clip | None:
        try:
            return await self.option(place)
        except QuizRefusedError as error:
            if error.status == 400:
                return None
            raise

    async def _fetch(self, path: str) -> Clip:
        return await self._caller.repeat(self._call(path), lambda body: read_clip(body, path))

    def _call(self, operation: str) -> Call:
        path = f"/api/game/{self._session_id}/{operation}"
        return Call(operation, "GET", path, limit_bytes=MAX_CLIP_BYTES)
