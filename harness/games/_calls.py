"""Calls that are repeated until they work, and the words for those that don't."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from harness.clock import Clock
from harness.games._http import Call, Line, Lost, Reply
from harness.games.errors import (
    QuizError,
    QuizLoginError,
    QuizNotFoundError,
    QuizProtocolError,
    QuizRateLimitError,
    QuizRefusedError,
    QuizUnreachableError,
)
from harness.games.login import Credentials
from harness.games.pacing import Pacer, RetryPolicy, Sleep, parse_retry_after
from harness.games.server_clock import ServerClock
from harness.games.wire import User, read_user

__all__ = ["Caller", "error_of", "is_transient", "retry_after_of"]

T = TypeVar("T")
_MAX_WORDS = 200
_MAX_RENEWALS = 3


class Caller:
    """Paces calls, repeats those that may be repeated, and logs in when it must."""

    def __init__(
        self,
        line: Line,
        *,
        credentials: Credentials | None,
        clock: Clock,
        sleep: Sleep,
        pacer: Pacer,
        policy: RetryPolicy,
        server_clock: ServerClock,
    ) -> None:
        self.line = line
        self.clock = clock
        self.sleep = sleep
        self.policy = policy
        self.server_clock = server_clock
        self._credentials = credentials
        self._pacer = pacer
        self._login_lock = asyncio.Lock()
        self.logins = 0

    async def attempt(self, call: Call, *, fresh: bool = False) -> Reply | Lost:
        """Send a call once, in its turn."""
        await self._pacer.turn()
        got = await self.line.exchange(call, fresh=fresh)
        if isinstance(got, Reply):
            self.server_clock.saw_date(got.date, got.window)
        return got

    async def repeat(
        self, call: Call, read: Callable[[bytes], T], *, until_s: float | None = None
    ) -> T:
        """Make a call that does no harm when it is made twice, until it works.

        ``until_s`` is the moment (monotonic seconds) after which no new try
        begins.  Raises a :class:`~harness.games.errors.QuizError`.
        """
        return (await self.repeat_timed(call, read, until_s=until_s))[0]

    async def repeat_timed(
        self, call: Call, read: Callable[[bytes], T], *, until_s: float | None = None
    ) -> tuple[T, Reply]:
        """Do the same as :meth:`repeat` and also return the reply with its window."""
        give_up_s = self.clock.monotonic() + self.policy.patience_s
        if until_s is not None:
            give_up_s = min(give_up_s, until_s)
        tries, renewed = 0, 0
        while True:
            logins = self.logins
            got = await self.attempt(call, fresh=tries > 0)
            if isinstance(got, Reply) and got.is_success:
                return read(got.body), got
            if self.may_log_in(call, got, renewed):
                renewed += 1
                await self.log_in_again(logins)
                continue
            tries += 1
            wait_s = self.policy.wait_s(tries, retry_after_of(got))
            too_late = self.clock.monotonic() + wait_s > give_up_s
            if not is_transient(got) or tries >= self.policy.attempts or too_late:
                raise error_of(call, got, tries)
            await self.sleep(wait_s)

    def may_log_in(self, call: Call, got: Reply | Lost, renewed: int) -> bool:
        """Whether a reply says that the login has ended, and a new one is worth a try.

        ``renewed`` counts the logins for this very call: two players with one
        account can end each other's between a login and the call after it.
        """
        refused = isinstance(got, Reply) and got.status == 401
        able = call.needs_login and self._credentials is not None
        return refused and able and renewed < _MAX_RENEWALS

    async def log_in_again(self, logins: int) -> None:
        """Log in, unless another call has done so since there had been ``logins``."""
        async with self._login_lock:
            if self.logins == logins:
                await self._log_in()

    async def log_in(self) -> User:
        """Log in; raises :class:`~harness.games.errors.QuizLoginError` when refused."""
        async with self._login_lock:
            return await self._log_in()

    async def _log_in(self) -> User:
        if self._credentials is None:
            raise QuizLoginError(
                "There is no user name and password to log in with.", operation="login"
            )
        self.line.forget()
        user = await self.repeat(_login_call(self._credentials), read_user)
        if not self.line.has_cookie:
            raise QuizProtocolError(
                "The quiz server accepted the login but set no cookie for it.",
                remedy="Check that the address is the one the server itself uses.",
                operation="login",
            )
        self.logins += 1
        return user


def _login_call(credentials: Credentials) -> Call:
    body = {"username": credentials.username, "password": credentials.reveal()}
    return Call("login", "POST", "/api/auth/login", body=body, needs_login=False)


def is_transient(got: Reply | Lost) -> bool:
    """Whether the same call may work a little later."""
    if isinstance(got, Lost):
        return got.worth_repeating
    return got.status in (408, 425, 429) or got.status >= 500


def retry_after_of(got: Reply | Lost) -> float | None:
    """Return the seconds that the server asked to wait, if it did."""
    if isinstance(got, Lost) or got.status not in (429, 503):
        return None
    return parse_retry_after(got.retry_after)


def error_of(call: Call, got: Reply | Lost, tries: int = 1) -> QuizError:
    """Return the error for a call that did not work."""
    name, often = call.operation, f" ({tries} tries)" if tries > 1 else ""
    if isinstance(got, Lost):
        kind = QuizUnreachableError if got.worth_repeating else QuizProtocolError
        return kind(
            f"The quiz server {got.why} when asked for '{name}'{often}.",
            remedy="Check that it is running and its address.",
            operation=name,
        )
    words = _server_words(got.body)
    said = f": {words}" if words else ""
    status = got.status
    if status == 401 and not call.needs_login:
        return QuizLoginError(
            f"The quiz server does not accept the user name and password{said}.",
            remedy="Check HOTSEAT_QUIZ_USER and HOTSEAT_QUIZ_PASSWORD.",
            operation=name,
            status=status,
        )
    if status == 401:
        return QuizLoginError(
            f"The quiz server says that nobody is logged in, at '{name}'{said}.",
            remedy="Log in first; two players with one account may log each other out.",
            operation=name,
            status=status,
        )
    if status == 404:
        message = f"The quiz server knows nothing of it, at '{name}'{said}."
        remedy = "It may not exist, or belong to another user."
        return QuizNotFoundError(message, remedy=remedy, operation=name, status=status)
    if status == 429:
        return QuizRateLimitError(
            f"The quiz server asks for fewer calls, at '{name}'{often}{said}.",
            remedy="Wait a little, or raise the pause between calls.",
            operation=name,
            status=status,
        )
    if status >= 500 or is_transient(got):
        message = f"The quiz server failed with {status} at '{name}'{often}{said}."
        return QuizUnreachableError(message, operation=name, status=status)
    if status >= 400:
        message = f"The quiz server refused '{name}' with {status}{said}."
        return QuizRefusedError(message, operation=name, status=status)
    return _unexpected(name, got)


def _unexpected(name: str, got: Reply) -> QuizProtocolError:
    if 300 <= got.status < 400:
        return QuizProtocolError(
            f"The quiz server sends '{name}' on to {_printable(got.location or 'nowhere')!r}, "
            "and redirects are not followed.",
            remedy="If you trust that place, give its address instead.",
            operation=name,
            status=got.status,
        )
    return QuizProtocolError(
        f"The quiz server answered '{name}' with the unexpected status {got.status}.",
        operation=name,
        status=got.status,
    )


def _server_words(body: bytes) -> str:
    """Return what an error reply says, in one bounded line without a full stop."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    for name in ("message", "error"):
        if isinstance(value.get(name), str) and value[name].strip():
            return _printable(value[name].strip()).rstrip(".")
    return ""


def _printable(text: str) -> str:
    clean = "".join(char if char.isprintable() else "\ufffd" for char in text[: _MAX_WORDS + 1])
    return f"{clean[: _MAX_WORDS - 1]}…" if len(clean) > _MAX_WORDS else clean
