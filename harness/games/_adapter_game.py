"""A ready client's game behind our interface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from harness.clock import Clock
from harness.errors import BadInputError
from harness.games._adapter_read import read_result, read_session
from harness.games.audio import Clip, read_clip
from harness.games.errors import (
    QuizError,
    QuizLoginError,
    QuizProtocolError,
    QuizRefusedError,
    QuizUnclearError,
)
from harness.games.verdict import AnswerOutcome, Asked, Learned, infer
from harness.games.wire import AnswerResult, GameState, Mode

__all__ = ["ReadyGame", "Runner"]

Runner = Callable[[str, Callable[[], Any]], Awaitable[Any]]
_MAX_SENDS = 2


class ReadyGame:
    """One game of a ready client; see :class:`~harness.games.protocol.Game`.

    ``sent_s`` is when the call that started it was made (monotonic seconds),
    ``None`` for a game that was found running.
    """

    def __init__(
        self,
        session: Any,
        run: Runner,
        *,
        mode: Mode,
        competition_id: int | None,
        allowed_s: float,
        clock: Clock,
        sent_s: float | None,
    ) -> None:
        self._session = session
        self._run = run
        self._mode: Mode = mode
        self._competition_id = competition_id
        self._allowed_s = allowed_s
        self._clock = clock
        self._delivered = 0
        self._ends_s: float | None = None
        self._state = self._read()
        self._serve(sent_s)

    @property
    def state(self) -> GameState:
        """Where the game stood when it was last heard of."""
        return self._state

    def remaining_s(self) -> float | None:
        """Return the seconds left to answer; ``None`` while no time runs.

        Nothing is known of a question that was being played when the game was
        taken over: 0 then.
        """
        if self._state.is_over or self._state.question is None:
            return None
        if self._ends_s is not None:
            return max(0.0, self._ends_s - self._clock.monotonic())
        return None if self._mode == "speech" and self._state.question_deadline is None else 0.0

    async def refresh(self) -> GameState:
        """Ask where the game stands."""
        return await self._refresh(None)

    async def answer(self, option_id: int) -> AnswerOutcome:
        """Answer the question that ``state`` asks; never sent twice blindly.

        Raises as :meth:`harness.games._session.GameSession.answer` does.
        """
        question = self._state.question
        if question is not None and question.option(option_id) is None:
            raise BadInputError(f"Option {option_id} is not offered.")
        return await self._submit("answer", lambda: self._session.answer(option_id))

    async def declare_timeout(self) -> AnswerOutcome:
        """Tell the server that the time is over, where the ready client can.

        Raises :class:`~harness.games.errors.QuizProtocolError` where it can't.
        """
        if not callable(getattr(self._session, "timeout", None)):
            raise QuizProtocolError(
                "The ready client can't do 'timeout'.",
                remedy="An answer that is late ends the game as well.",
                operation="timeout",
            )
        return await self._submit("timeout", lambda: self._session.timeout())

    async def question_audio(self) -> Clip:
        """Return the spoken question."""
        return await self._clip("audio/question", lambda: self._session.fetch_audio_question())

    async def next_option_audio(self) -> Clip:
        """Return the next spoken option.

        When the call fails the option may have been delivered nevertheless, so
        it is asked for by its number before anything else.
        """
        place, sent_s = self._delivered, self._clock.monotonic()
        try:
            clip = await self._clip(
                "audio/option/next", lambda: self._session.fetch_audio_option_next()
            )
        except (QuizRefusedError, QuizLoginError, QuizProtocolError):
            raise
        except QuizError as failed:
            try:
                clip = await self.option_audio(place)
            except QuizError:
                raise failed from None
        self._delivered = place + 1
        if self._state.question and self._delivered == len(self._state.question.options):
            self._ends_s = sent_s + self._allowed_s
        return clip

    async def option_audio(self, place: int) -> Clip:
        """Return an option that has been delivered before; ``place`` counts from 0."""
        return await self._clip(
            f"audio/option/{place}", lambda: self._session.fetch_audio_option(place)
        )

    async def _clip(self, operation: str, ask: Callable[[], Any]) -> Clip:
        data = await self._run(operation, ask)
        if not isinstance(data, bytes | bytearray):
            raise QuizProtocolError(
                f"The ready client returned no bytes for '{operation}'.", operation=operation
            )
        return read_clip(bytes(data), operation)

    async def _submit(self, operation: str, ask: Callable[[], Any]) -> AnswerOutcome:
        asked = Asked.by(self._state)
        if asked is None:
            raise QuizRefusedError(
                f"'{operation}' needs an open question, and the game is '{self._state.status}'.",
                operation=operation,
            )
        sent_s, notes = self._clock.monotonic(), []
        for sends in range(1, _MAX_SENDS + 1):
            try:
                result = read_result(await self._run(operation, ask))
            except QuizLoginError:
                raise
            except QuizRefusedError as error:
                if sends == 1:
                    raise
                notes.append(error.message.rstrip("."))
            except QuizError as error:
                notes.append(error.message.rstrip("."))
            else:
                self._state = self._read()
                self._serve(sent_s)
                return AnswerOutcome(self._completed(result), Learned.REPLY, sends, tuple(notes))
            found = await self._look(asked, operation, sent_s)
            if found is not None:
                return AnswerOutcome(found, Learned.STATE, sends, tuple(notes))
        raise _unclear(operation, asked, f"it was sent {_MAX_SENDS} times and never acted upon")

    async def _look(self, asked: Asked, operation: str, sent_s: float) -> AnswerResult | None:
        try:
            return infer(asked, await self._refresh(sent_s))
        except QuizLoginError:
            raise
        except QuizError as error:
            raise _unclear(operation, asked, error.message.rstrip(".")) from None

    async def _refresh(self, since_s: float | None) -> GameState:
        await self._run("state", lambda: self._session.refresh_state())
        former, self._state = self._state, self._read()
        if Asked.by(self._state) != Asked.by(former):
            self._serve(since_s)
        return self._state

    def _read(self) -> GameState:
        return read_session(self._session, self._mode, self._competition_id)

    def _serve(self, sent_s: float | None) -> None:
        """Note when the question's time ends, counted from when it was asked for.

        The ready client's own ``time_remaining`` comes from the local wall
        clock; it is only believed where it is less and still possible.
        """
        self._delivered, self._ends_s = 0, None
        if sent_s is None or self._mode == "speech":
            return
        self._ends_s = sent_s + self._allowed_s
        told_s = getattr(self._session, "time_remaining", None)
        if isinstance(told_s, int | float) and 0 < told_s < self._allowed_s:
            self._ends_s = min(self._ends_s, self._clock.monotonic() + told_s)

    def _completed(self, result: AnswerResult) -> AnswerResult:
        """Return a verdict with the next question, which a ready client keeps in its game."""
        state = self._state
        return replace(
            result,
            current_level=state.current_level,
            question_deadline=state.question_deadline,
            question=state.question,
            money_pyramid=state.money_pyramid,
        )


def _unclear(operation: str, asked: Asked, why: str) -> QuizUnclearError:
    return QuizUnclearError(
        f"It can't be said whether '{operation}' took effect in game {asked.session_id}: {why}.",
        remedy="Look at the game's state when the server is back.",
        operation=operation,
        session_id=asked.session_id,
    )
