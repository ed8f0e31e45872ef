"""What can go wrong between a player and the quiz server.

All are :class:`~harness.errors.HotseatError`: one sentence, a remedy, an exit
code.  ``operation`` names the call, ``status`` the HTTP status where there was
one.
"""

from __future__ import annotations

from harness.errors import HotseatError

__all__ = [
    "QuizError",
    "QuizLoginError",
    "QuizNotFoundError",
    "QuizProtocolError",
    "QuizRateLimitError",
    "QuizRefusedError",
    "QuizUnclearError",
    "QuizUnreachableError",
]


class QuizError(HotseatError):
    """Anything that went wrong with the quiz server."""

    exit_code = 3

    def __init__(
        self, message: str, *, remedy: str = "", operation: str = "", status: int | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.operation = operation
        self.status = status


class QuizUnreachableError(QuizError):
    """No usable reply in the time there was; what was asked has no effect to worry about."""


class QuizRateLimitError(QuizUnreachableError):
    """The server asked to slow down for longer than there was time to wait."""


class QuizProtocolError(QuizError):
    """A reply that is not what the protocol says."""


class QuizRefusedError(QuizError):
    """The server understood and said no: a bad option, a game that is over."""

    exit_code = 2


class QuizNotFoundError(QuizRefusedError):
    """There is no such thing, or it belongs to somebody else."""


class QuizLoginError(QuizError):
    """Not logged in, or the server does not accept the user name and password."""

    exit_code = 2


class QuizUnclearError(QuizError):
    """It can't be said whether a call that must not be repeated took effect.

    ``session_id`` is the game to look at, where it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        operation: str = "",
        session_id: int | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy, operation=operation)
        self.session_id = session_id
