"""Our own client for the quiz server: every endpoint, typed, patient and careful.

Calls that do no harm when repeated are repeated with growing pauses, on a new
connection, when the connection drops, the server fails or asks to slow down.
``start`` and ``answer`` are not: see :meth:`QuizClient.start` and
:class:`~harness.games.verdict.AnswerOutcome`.
"""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any

from harness.clock import Clock, SystemClock
from harness.errors import BadInputError
from harness.games._calls import Caller, error_of, is_transient, retry_after_of
from harness.games._http import Call, Line, Lost, Reply, server_address
from harness.games._session import GameSession
from harness.games.errors import QuizProtocolError, QuizUnclearError
from harness.games.login import Credentials
from harness.games.pacing import Pacer, RetryPolicy, Sleep
from harness.games.server_clock import ServerClock
from harness.games.wire import (
    Competition,
    CompetitionConfig,
    GameState,
    Leaderboard,
    Mode,
    User,
    parse_mode,
    read_competitions,
    read_config,
    read_leaderboard,
    read_state,
    read_user,
)

__all__ = ["GameSession", "QuizClient"]

_MAX_LEADERBOARD = 100
_BESIDE_S = 2.0  # calls that the game does not need


class QuizClient:
    """A player's connection to one server; see :class:`~harness.games.protocol.Quiz`.

    ``server`` is an http or https address, public or not, since the user names
    it; nothing is sent anywhere else.  ``min_interval_s`` is the pause between
    the beginnings of two calls, ``timeout_s`` what one exchange may take,
    ``allowed_s`` what a question gets by the rules.  ``clock`` and ``sleep``
    belong together and exist for tests.

    Use it as an asynchronous context manager, in one event loop.  Raises
    :class:`~harness.errors.BadInputError` for an address that can't be used.
    """

    def __init__(
        self,
        server: str,
        credentials: Credentials | None = None,
        *,
        min_interval_s: float = 0.1,
        timeout_s: float = 30.0,
        allowed_s: float = 30.0,
        retry: RetryPolicy | None = None,
        proxy: str | None = None,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        clock = clock or SystemClock()
        self.server_clock = ServerClock(clock, allowed_s=allowed_s)
        self._line = Line(server_address(server), clock, timeout_s=timeout_s, proxy=proxy)
        self._caller = Caller(
            self._line,
            credentials=credentials,
            clock=clock,
            sleep=sleep,
            pacer=Pacer(min_interval_s, clock, sleep),
            policy=retry or RetryPolicy(),
            server_clock=self.server_clock,
        )

    async def __aenter__(self) -> QuizClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Hang up and forget the cookie; the login itself stays until the server ends it."""
        self._line.forget()
        await self._line.aclose()

    @property
    def logged_in(self) -> bool:
        """Whether there is a login cookie; it may have expired at the server."""
        return self._line.has_cookie

    async def login(self) -> User:
        """Log in.

        Raises :class:`~harness.games.errors.QuizLoginError` when the server
        does not accept the user name and password.
        """
        return await self._caller.log_in()

    async def logout(self) -> None:
        """Log out; what the server says to that is ignored, as the cookie is gone anyway."""
        await self._caller.attempt(Call("logout", "POST", "/api/auth/logout"))
        self._line.forget()

    async def me(self) -> User:
        """Return who is logged in."""
        return await self._caller.repeat(
            Call("me", "GET", "/api/auth/me"), lambda body: read_user(body, "me")
        )

    async def competitions(self) -> tuple[Competition, ...]:
        """Return the competitions; ids may change, so read them here."""
        return await self._caller.repeat(
            Call("competitions", "GET", "/api/competitions"), read_competitions
        )

    async def config(self, competition_id: int) -> CompetitionConfig:
        """Return a competition's levels and prizes."""
        path = f"/api/competitions/{_id(competition_id)}/config"
        return await self._caller.repeat(Call("config", "GET", path), read_config)

    async def leaderboard(
        self, competition_id: int, *, mode: Mode = "text", limit: int = 10
    ) -> Leaderboard:
        """Return a competition's leaderboard in one mode, at most 100 lines."""
        if not 1 <= limit <= _MAX_LEADERBOARD:
            raise BadInputError(f"A leaderboard has 1 to {_MAX_LEADERBOARD} lines, not {limit}.")
        path = f"/api/leaderboard/{_id(competition_id)}"
        query = {"limit": str(limit), "mode": parse_mode(mode)}
        return await self._caller.repeat(
            Call("leaderboard", "GET", path, query=query), read_leaderboard
        )

    async def start(self, competition_id: int, mode: Mode = "text") -> GameSession:
        """Start a game.

        It is tried again only where the server can't have started one: it was
        not reached, asked to slow down, or said that nobody is logged in.
        Otherwise :class:`~harness.games.errors.QuizUnclearError`: a second
        game would leave the first one running into its time limit.
        """
        body = {"competitionId": _id(competition_id), "mode": parse_mode(mode)}
        call = Call("start", "POST", "/api/game/start", body=body)
        caller, tries, renewed = self._caller, 0, 0
        give_up_s = caller.clock.monotonic() + caller.policy.patience_s
        while True:
            logins = caller.logins
            got = await caller.attempt(call, fresh=tries > 0)
            if isinstance(got, Reply) and got.is_success:
                return GameSession(caller, _started(got), got.window)
            if caller.may_log_in(call, got, renewed):
                renewed += 1
                await caller.log_in_again(logins)
                continue
            tries += 1
            if not _surely_not_started(got):
                if not is_transient(got) and isinstance(got, Reply):
                    raise error_of(call, got, tries)
                raise _unclear(got.why if isinstance(got, Lost) else f"failed with {got.status}")
            wait_s = caller.policy.wait_s(tries, retry_after_of(got))
            if tries >= caller.policy.attempts or caller.clock.monotonic() + wait_s > give_up_s:
                raise error_of(call, got, tries)
            await caller.sleep(wait_s)

    async def takes_stages(self) -> bool:
        """Ask whether the server wants to hear what players are doing; once, and beside the game.

        Anything but a clear yes is a no.
        """
        call = Call("stages", "GET", "/api/hotseat", needs_login=False, timeout_s=_BESIDE_S)
        got = await self._caller.attempt(call)
        if not isinstance(got, Reply) or not got.is_success:
            return False
        try:
            told = json.loads(got.body)
        except (ValueError, RecursionError):
            return False
        return isinstance(told, dict) and told.get("stages") is True

    async def tell_stages(self, session_id: int, level: int, events: list[dict[str, Any]]) -> None:
        """Tell such a server what was done; out of turn, once, and whatever comes of it."""
        path = f"/api/hotseat/game/{_id(session_id)}/stages"
        body = {"level": level, "events": events}
        call = Call("stages", "POST", path, body=body, timeout_s=_BESIDE_S)
        await self._caller.line.exchange(call, fresh=False)

    async def resume(self, session_id: int) -> GameSession:
        """Return a game that was started before, from its state.

        Raises :class:`~harness.games.errors.QuizNotFoundError` for one that
        does not exist or belongs to another user.
        """
        path = f"/api/game/{_id(session_id)}/state"
        state = await self._caller.repeat(Call("state", "GET", path), read_state)
        return GameSession(self._caller, state)


def _started(got: Reply) -> GameState:
    try:
        return read_state(got.body, "start")
    except QuizProtocolError as error:
        raise _unclear(f"sent a reply that can't be used ({error.message.rstrip('.')})") from None


def _unclear(why: str) -> QuizUnclearError:
    return QuizUnclearError(
        f"It can't be said whether the game was started: the quiz server {why}.",
        remedy="Start another one; the first, if there is one, ends by its time limit.",
        operation="start",
    )


def _surely_not_started(got: Reply | Lost) -> bool:
    if isinstance(got, Lost):
        return not got.maybe_processed and got.worth_repeating
    return got.status == 429


def _id(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        raise BadInputError(f"{number!r} is not an id.", remedy="Ids are whole numbers from 0.")
    return number
