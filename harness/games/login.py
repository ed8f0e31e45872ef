"""The user name and password of the quiz server: from the environment or a prompt.

Never from a file, never written to one, and in no message, representation or
log.  ``HOTSEAT_QUIZ_USER`` and ``HOTSEAT_QUIZ_PASSWORD`` name them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from getpass import getpass
from typing import NoReturn

from harness.errors import BadInputError, MissingError

__all__ = ["PASSWORD_VARIABLE", "USER_VARIABLE", "Credentials", "find_credentials"]

USER_VARIABLE = "HOTSEAT_QUIZ_USER"
PASSWORD_VARIABLE = "HOTSEAT_QUIZ_PASSWORD"  # noqa: S105 - the variable's name, not a password
_MAX_CHARS = 1_000


class Credentials:
    """A user name and a password that shows nowhere.

    Raises :class:`~harness.errors.BadInputError` when one of them is empty, too
    long or can't be encoded.
    """

    __slots__ = ("_reveal", "username")

    _reveal: Callable[[], str]

    def __init__(self, username: str, password: str) -> None:
        if not _usable(username) or not _usable(password):
            raise BadInputError(
                "The user name or the password can't be used: it is empty, too long or not text.",
                remedy=f"Check {USER_VARIABLE} and {PASSWORD_VARIABLE}.",
            )
        self.username = username
        self._reveal = lambda: password  # a closure: no attribute holds the text itself

    def reveal(self) -> str:
        """Return the password, for the one request that needs it."""
        return self._reveal()

    def __repr__(self) -> str:
        return f"Credentials({self.username!r}, password hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("credentials are never written down")


def _usable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return 0 < len(text) <= _MAX_CHARS


def find_credentials(
    env: Mapping[str, str] | None = None,
    *,
    ask: Callable[[str], str] | None = None,
    ask_secret: Callable[[str], str] = getpass,
    interactive: bool | None = None,
) -> Credentials:
    """Return the credentials from the environment; a person is asked for what is missing.

    ``env`` is the environment (``None``: the process's own), ``interactive``
    whether there is a person to ask (``None``: stdin is a terminal).  Prompts
    go to stderr.  Raises :class:`~harness.errors.MissingError` when something
    is missing and nobody is there.
    """
    given = os.environ if env is None else env
    username, password = given.get(USER_VARIABLE, ""), given.get(PASSWORD_VARIABLE, "")
    if username and password:
        return Credentials(username, password)
    if interactive is None:
        interactive = sys.stdin.isatty()
    if not interactive:
        lacking = USER_VARIABLE if not username else PASSWORD_VARIABLE
        raise MissingError(
            f"The quiz server needs a login, and {lacking} is not set.",
            remedy=f"Set {USER_VARIABLE} and {PASSWORD_VARIABLE}, or run it in a terminal.",
        )
    username = username or (ask or _ask)("Quiz user: ")
    password = password or ask_secret(f"Password of {username}: ")
    return Credentials(username, password)


def _ask(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline(_MAX_CHARS + 2).rstrip("\r\n")
