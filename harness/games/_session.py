"""One game over the protocol: answers sent with care, clips, and the time left."""

from __future__ import annotations

from dataclasses import replace

from harness.errors import BadInputError
from harness.games._calls import Caller, error_of, is_transient, retry_after_of
from harness.games._http import Call, Lost, Reply
from harness.games._spoken import Clips
from harness.games.audio import Clip
from harness.games.errors import (
    QuizError,
    QuizLoginError,
    QuizProtocolError,
    QuizRefusedError,
    QuizUnclearError,
)
from harness.games.server_clock import Window
from harness.games.verdict import AnswerOutcome, Asked, Learned, infer
from harness.games.wire import AnswerResult, GameState, GameStatus, read_answer, read_state

__all__ = ["GameSession"]

_SETTLE_S = 0.4  # a request whose reply was lost may still be at work
_HURRIED_S = 8.0  # a call that has hung this long is looked into while there is time
_LAST_MOMENT_S = 1.0  # a wait ends this long before the deadline, to try once more
_AFTER_DEADLINE_S = 10.0  # how long after it the server is still asked what happened


class GameSession:
    """One game; see :class:`~harness.games.protocol.Game`.

    ``window`` is when its question was served, ``None`` for a game that was
    found running.
    """

    def __init__(self, caller: Caller, state: GameState, window: Window | None = None) -> None:
        self._caller = caller
        self._state = state
        self._clips = Clips(caller, state.session_id)
        self._reset_clips(0 if window is not None else None)
        self._served(window)

    @property
    def state(self) -> GameState:
        """Where the game stood when it was last heard of."""
        return self._state

    def remaining_s(self) -> float | None:
        """Return the seconds left to answer; ``None`` while no time runs."""
        state, clock = self._state, self._caller.server_clock
        if state.is_over or state.question is None:
            return None
        if state.question_deadline is not None:
            return clock.remaining_s(state.question_deadline)
        if self._clips.last is None:
            return None
        end_s = self._clips.last.sent_s + clock.allowed_s
        return max(0.0, end_s - self._caller.clock.monotonic())

    async def refresh(self) -> GameState:
        """Ask where the game stands."""
        return await self._refresh(None)

    async def answer(self, option_id: int) -> AnswerOutcome:
        """Answer the question that ``state`` asks.

        An answer whose reply is lost is not sent again before the game's state
        says that the question is still open.

        Raises :class:`~harness.errors.BadInputError` for an id that is not
        offered, :class:`~harness.games.errors.QuizRefusedError` when the game
        is over or the server refuses, and
        :class:`~harness.games.errors.QuizUnclearError` when it can't be
        learned whether the answer arrived.
        """
        question = self._state.question
        if not self._state.is_over and question and question.option(option_id) is None:
            offered = ", ".join(str(option.id) for option in question.options)
            raise BadInputError(
                f"Option {option_id} is not offered.", remedy=f"The options are {offered}."
            )
        return await self._submit(self._call("answer", "POST", {"optionId": option_id}))

    async def declare_timeout(self) -> AnswerOutcome:
        """Tell the server that the time is over; as careful as :meth:`answer`."""
        return await self._submit(self._call("timeout", "POST"))

    async def question_audio(self) -> Clip:
        """Return the spoken question."""
        return await self._clips.question()

    async def option_audio(self, place: int) -> Clip:
        """Return an option that has been delivered before; ``place`` counts from 0."""
        return await self._clips.option(place)

    async def delivered_options(self) -> int:
        """Return how many options have been delivered; a resumed game has to ask."""
        return await self._clips.delivered()

    async def next_option_audio(self) -> Clip:
        """Return the next spoken option, in order; the last one starts the clock.

        A call whose reply was lost is not simply made again, which would skip
        an option: the server is asked for the clip by its number first.
        """
        return await self._clips.next()

    async def _submit(self, call: Call) -> AnswerOutcome:
        asked = Asked.by(self._state)
        if asked is None:
            raise QuizRefusedError(
                f"'{call.operation}' needs an open question, and the game is "
                f"'{self._state.status}'.",
                operation=call.operation,
            )
        caller, started_s = self._caller, self._caller.clock.monotonic()
        left_s = self.remaining_s()
        patience_s = caller.policy.patience_s if left_s is None else left_s + _AFTER_DEADLINE_S
        notes: list[str] = []
        sends, renewed = 0, 0
        while True:
            logins = caller.logins
            got = await caller.attempt(call, fresh=sends > 0)
            sends += 1
            result, note = self._read(call, got, first=sends == 1)
            if result is not None:
                self._advance(result, Window(started_s, got.window.received_s))
                if not result.game_over and result.question is None:
                    notes.append(await self._fetch_question(started_s))
                return AnswerOutcome(result, Learned.REPLY, sends, tuple(notes))
            notes.append(note)
            if isinstance(got, Reply) and got.status == 401:
                if not caller.may_log_in(call, got, renewed):
                    raise error_of(call, got)
                renewed += 1
                await caller.log_in_again(logins)
            found = await self._look(asked, call, got, started_s, until_s=started_s + patience_s)
            if found is not None:
                if self._state.current_level > asked.level + 1:
                    notes.append("the game is several levels on: somebody else plays it too")
                return AnswerOutcome(found, Learned.STATE, sends, tuple(notes))
            if sends >= caller.policy.attempts or (
                caller.clock.monotonic() >= started_s + patience_s
            ):
                raise _unclear(call, asked, f"it was sent {sends} times and never acted upon")
            await self._pause(sends, got)

    def _read(
        self, call: Call, got: Reply | Lost, *, first: bool
    ) -> tuple[AnswerResult | None, str]:
        """Return the verdict, or a phrase for what came instead of one.

        Raises for a clear refusal of the first try; a later one may be about
        an earlier try that did arrive, so the state has to say.
        """
        if isinstance(got, Lost):
            return None, f"the server {got.why}"
        if got.is_success:
            try:
                return read_answer(got.body, call.operation), ""
            except QuizProtocolError as error:
                return None, error.message.rstrip(".")
        if first and got.status != 401 and not is_transient(got):
            raise error_of(call, got)
        return None, f"the server answered {got.status}"

    async def _look(
        self, asked: Asked, call: Call, got: Reply | Lost, started_s: float, *, until_s: float
    ) -> AnswerResult | None:
        """Ask the state what became of a call; twice where it may still be at work."""
        clearly_refused = isinstance(got, Reply) and got.status in (401, 408, 425, 429)
        at_work = not clearly_refused and not (isinstance(got, Lost) and not got.maybe_processed)
        for last in (not at_work, True):
            try:
                state = await self._refresh(started_s, until_s)
                found = infer(asked, state)
            except QuizLoginError:
                raise
            except QuizError as error:
                raise _unclear(call, asked, error.message.rstrip(".")) from None
            if found is not None or last:
                return found
            await self._caller.sleep(_SETTLE_S)
        return None

    async def _fetch_question(self, since_s: float) -> str:
        """Ask for the next question that a reply has left out; returns a note on it."""
        try:
            await self._refresh(since_s)
        except QuizError as error:  # the verdict stands, whatever comes next
            return f"the reply held no next question, and {error.message.rstrip('.')}"
        return "the reply held no next question; the state was asked for it"

    async def _pause(self, sends: int, got: Reply | Lost) -> None:
        wait_s = self._caller.policy.wait_s(sends, retry_after_of(got))
        left_s = self.remaining_s()
        if left_s is not None:  # better refused once more than late for certain
            wait_s = min(wait_s, max(0.0, left_s - _LAST_MOMENT_S))
        await self._caller.sleep(wait_s)

    async def _refresh(self, since_s: float | None, until_s: float | None = None) -> GameState:
        """Ask the state; ``since_s`` is when a new question could have been served first."""
        state, reply = await self._caller.repeat_timed(
            self._call("state", "GET"), read_state, until_s=until_s
        )
        former, self._state = self._state, state
        is_new = Asked.by(state) != Asked.by(former)
        if is_new:
            self._reset_clips(0 if since_s is not None else None)
        if is_new and since_s is not None:
            self._served(Window(since_s, reply.window.received_s))
        elif self._clips.last is not None and state.question_deadline is not None:
            self._caller.server_clock.saw_serving(state.question_deadline, self._clips.last)
        return state

    def _advance(self, result: AnswerResult, window: Window) -> None:
        """Rebuild the state from a verdict, as the protocol intends."""
        former = self._state
        ended = GameStatus.TIMEOUT if result.timed_out else GameStatus.FAILED
        status = result.status or (ended.value if result.game_over else former.status)
        level = result.current_level
        if level is None and result.correct and not result.game_over:
            level = former.current_level + 1
        self._state = replace(
            former,
            status=status,
            earned_amount=result.earned_amount,
            current_level=former.current_level if level is None else level,
            money_pyramid=result.money_pyramid or former.money_pyramid,
            question_deadline=result.question_deadline,
            question=result.question,
        )
        self._reset_clips(0)
        self._served(window)

    def _served(self, window: Window | None) -> None:
        """Note when the question's time began to run, where it runs from its serving."""
        deadline = self._state.question_deadline
        if window is not None and deadline is not None and self._state.mode == "text":
            self._caller.server_clock.saw_serving(deadline, window)

    def _reset_clips(self, delivered: int | None) -> None:
        question = self._state.question
        self._clips.begin(len(question.options) if question else 0, delivered)

    def _call(self, operation: str, method: str, body: dict[str, int] | None = None) -> Call:
        path = f"/api/game/{self._state.session_id}/{operation}"
        return Call(operation, method, path, body, timeout_s=_HURRIED_S)


def _unclear(call: Call, asked: Asked, why: str) -> QuizUnclearError:
    return QuizUnclearError(
        f"It can't be said whether '{call.operation}' took effect in game {asked.session_id}: "
        f"{why}.",
        remedy="Resume the game when the server is back; its state will tell.",
        operation=call.operation,
        session_id=asked.session_id,
    )
