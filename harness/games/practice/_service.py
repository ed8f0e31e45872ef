"""What all routes share: the pool, the file, the clocks, speech, and who is asking."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from starlette.requests import Request

from harness.games.practice._accounts import (
    SCRYPT_COST,
    Account,
    add_account,
    check_password,
    find_account,
    hash_password,
    logged_in,
    new_login,
)
from harness.games.practice._clips import Clips
from harness.games.practice._database import Database
from harness.games.practice._games import Games
from harness.games.practice._pool import Pool
from harness.games.practice._refusal import Refusal
from harness.games.practice._rules import GRACE_S, LIMIT_S, Mode
from harness.games.practice._time import ServerTime

__all__ = ["COOKIE", "ServerOptions", "Service"]

P = ParamSpec("P")
T = TypeVar("T")

COOKIE = "polimillionaire_auth"
_PASSWORD_THREADS = 2


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a practice server behaves.

    ``closed``: only accounts that exist may log in; otherwise the first login
    under a name creates its account.  ``rate``: requests a second from one
    address before 429, ``None`` without limit.  ``seed``: makes the choice and
    order of questions and options repeatable.
    """

    limit_s: float = LIMIT_S
    grace_s: float = GRACE_S
    login_life_s: float = 7 * 24 * 3600.0
    closed: bool = False
    rate: float | None = None
    seed: int | None = None
    scrypt_cost: int = SCRYPT_COST


class Service:
    """Everything a route needs; :meth:`close` ends its threads, not the database."""

    def __init__(
        self,
        pool: Pool,
        database: Database,
        clips: Clips,
        *,
        options: ServerOptions,
        time: ServerTime,
    ) -> None:
        self.pool = pool
        self.database = database
        self.clips = clips
        self.options = options
        self.time = time
        self.games = Games(time, options.limit_s, options.grace_s)
        self._seed = secrets.token_hex(16) if options.seed is None else str(options.seed)
        self._passwords = ThreadPoolExecutor(_PASSWORD_THREADS, thread_name_prefix="hotseat-login")
        # Checked for names without an account, so that both take as long.
        self._nobody = hash_password(secrets.token_hex(16), options.scrypt_cost)

    def run_as(
        self,
        request: Request,
        work: Callable[Concatenate[sqlite3.Connection, Account, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``work(connection, account, …)`` in one transaction, for who is logged in.

        Raises :class:`Refusal` 401 when nobody is.
        """
        token = request.cookies.get(COOKIE, "")
        now_wall_s = self.time.now().wall_s

        def as_account(connection: sqlite3.Connection) -> T:
            account = logged_in(connection, token, now_wall_s) if token else None
            if account is None:
                raise Refusal(401, "You are not logged in.")
            return work(connection, account, *args, **kwargs)

        return self.database.transact(as_account)

    async def log_in(self, username: str, password: str) -> tuple[Account, str]:
        """Return the account and a fresh token; raises :class:`Refusal` 401."""
        account = self.database.transact(find_account, username)
        if account is None and not self.options.closed:
            kept = await self._slowly(lambda: hash_password(password, self.options.scrypt_cost))
            now_wall_s = self.time.now().wall_s
            self.database.transact(add_account, username, kept, now_wall_s)
            account = self.database.transact(find_account, username)
        # Also after creating one: somebody else may have been faster with this name.
        kept = account.password if account else self._nobody
        fits = await self._slowly(lambda: check_password(password, kept))
        if account is None or not fits:
            raise Refusal(401, "Wrong username or password.")
        known, before = account, account.password

        def enter(connection: sqlite3.Connection) -> str:
            current = find_account(connection, known.username)
            if current is None or not hmac.compare_digest(current.password, before):
                raise Refusal(401, "Wrong username or password.")
            return new_login(
                connection, known.id, self.time.now().wall_s, self.options.login_life_s
            )

        return account, self.database.transact(enter)

    async def _slowly(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._passwords, work)

    def material(self, username: str, competition_id: int, mode: Mode) -> Callable[[int], str]:
        """Return what a player's n-th game of a competition is drawn from."""
        return lambda trial: f"{self._seed}|{username}|{competition_id}|{mode.value}|{trial}"

    def close(self) -> None:
        """End the threads."""
        self.clips.close()
        self._passwords.shutdown(wait=True, cancel_futures=True)
