"""A ready client object behind the same interface as our own client.

Whoever has the official client, or one like it, logs in and hands it over:
``ReadyClient(client)``.  It is called from one thread, one call at a time, and
nothing of it is imported, so only names matter.  What it needs:

``client``
    ``game.start(competition_id=…, mode=…)``; for the rest of the interface
    ``login(username, password)``, ``competitions.list_all()``,
    ``competitions.get_config(competition_id=…)`` and
    ``leaderboard.get(competition_id=…, limit=…, mode=…)``.
a game, as ``start`` returns it
    attributes ``session_id``, ``current_level``, ``earned_amount``,
    ``current_question`` (or ``None``) and ``in_progress`` or ``status``;
    methods ``answer(option_id)`` and ``refresh_state()``; optional
    ``max_level``, ``money_pyramid``, ``question_deadline``,
    ``time_remaining``, ``timeout()``; for speech ``fetch_audio_question()``,
    ``fetch_audio_option_next()`` and ``fetch_audio_option(index)``, each
    returning the bytes of a WAV file.
a question
    ``id``, ``text``, ``options`` (each ``id`` and ``text``), optional ``level``.
an answer's result
    ``correct``, ``game_over``, ``earned_amount``, ``timed_out``, optional
    ``status``, ``current_level``, ``reached_level``.

Errors are told apart by the names of their classes: ``AuthenticationError``,
``NotFoundError``, ``ValidationError``, ``RateLimitError``; after any other one
from ``answer`` the game's state is asked what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from harness.clock import Clock, SystemClock
from harness.games._adapter_game import ReadyGame, Runner
from harness.games._adapter_read import mapped, read_board, read_list, read_one_config, read_who
from harness.games.errors import QuizError, QuizLoginError, QuizProtocolError
from harness.games.login import Credentials
from harness.games.wire import Competition, CompetitionConfig, Leaderboard, Mode, User

__all__ = ["ReadyClient", "ReadyClientObject", "ReadyGame", "ReadyStarter"]

T = TypeVar("T")


class ReadyStarter(Protocol):
    """The part of a ready client that starts games."""

    def start(self, competition_id: int, mode: str) -> Any:
        """Start a game and return it."""


class ReadyClientObject(Protocol):
    """The least that a ready client has."""

    @property
    def game(self) -> ReadyStarter:
        """The part that starts games."""


class ReadyClient:
    """Wraps a ready client; see :class:`~harness.games.protocol.Quiz`.

    ``credentials`` are only needed when :meth:`login` is to be called.
    ``allowed_s`` is what a question gets by the rules: a ready client shows no
    ``Date`` header, so the time left is counted from when the question was
    asked for.
    """

    def __init__(
        self,
        client: ReadyClientObject,
        credentials: Credentials | None = None,
        *,
        allowed_s: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        self._client: Any = client
        self._credentials = credentials
        self._allowed_s = allowed_s
        self._clock = clock or SystemClock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ready-client")
        self._run: Runner = self._in_thread

    async def aclose(self) -> None:
        """Stop the thread once its call is over; the client itself is left as it is."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def login(self) -> User:
        """Log the ready client in with the credentials."""
        credentials = self._credentials
        if credentials is None:
            raise QuizLoginError(
                "There is no user name and password to log in with.",
                remedy="Hand over a client that is logged in, or credentials.",
                operation="login",
            )
        return await self._call(
            "login",
            lambda: self._client.login(credentials.username, credentials.reveal()),
            lambda user: read_who(user, credentials.username),
        )

    async def competitions(self) -> tuple[Competition, ...]:
        """Return the competitions."""
        return await self._call(
            "competitions", lambda: self._client.competitions.list_all(), read_list
        )

    async def config(self, competition_id: int) -> CompetitionConfig:
        """Return a competition's levels and prizes."""
        return await self._call(
            "config",
            lambda: self._client.competitions.get_config(competition_id=competition_id),
            read_one_config,
        )

    async def leaderboard(
        self, competition_id: int, *, mode: Mode = "text", limit: int = 10
    ) -> Leaderboard:
        """Return a competition's leaderboard."""
        return await self._call(
            "leaderboard",
            lambda: self._client.leaderboard.get(
                competition_id=competition_id, limit=limit, mode=mode
            ),
            lambda board: read_board(board, competition_id),
        )

    async def start(self, competition_id: int, mode: Mode = "text") -> ReadyGame:
        """Start a game; never repeated."""
        sent_s = self._clock.monotonic()
        session = await self._call(
            "start",
            lambda: self._client.game.start(competition_id=competition_id, mode=mode),
            lambda found: found,
        )
        return ReadyGame(
            session,
            self._run,
            mode=mode,
            competition_id=competition_id,
            allowed_s=self._allowed_s,
            clock=self._clock,
            sent_s=sent_s,
        )

    def adopt(self, session: Any, mode: Mode = "text") -> ReadyGame:
        """Take over a game that runs already; when its question was served is unknown."""
        return ReadyGame(
            session,
            self._run,
            mode=mode,
            competition_id=None,
            allowed_s=self._allowed_s,
            clock=self._clock,
            sent_s=None,
        )

    async def _call(self, operation: str, ask: Callable[[], Any], read: Callable[[Any], T]) -> T:
        return read(await self._run(operation, ask))

    async def _in_thread(self, operation: str, ask: Callable[[], Any]) -> Any:
        """Run a call in the one thread; any error becomes one of ours."""
        loop = asyncio.get_running_loop()
        problem: QuizError
        try:
            return await loop.run_in_executor(self._thread, ask)
        except AttributeError as error:
            problem = QuizProtocolError(
                f"The ready client can't do '{operation}': {error}.",
                remedy="See docs/quiz-client.md for what it must have.",
                operation=operation,
            )
        except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
            problem = mapped(operation, error)
        # Raised outside of the handlers: the other error may hold the password.
        raise problem
