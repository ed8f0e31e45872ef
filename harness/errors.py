"""The error family: one sentence, a remedy, fields to act on, and an exit code.

Every error that a user can cause or meet derives from :class:`HotseatError`.
The command line prints ``str(error)`` and nothing else (``--debug`` adds the
traceback).  Exit codes: 2 wrong usage or bad input, 3 something needed is
missing, 1 a check that was asked for did not hold.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "BadInputError",
    "CorpusDamagedError",
    "CorpusError",
    "CorpusMissError",
    "DiskFullError",
    "EngineError",
    "HotseatError",
    "MissingError",
    "ModelMissingError",
    "NoLogprobsError",
    "QuestionFileError",
    "SearchFailedError",
    "SettingError",
    "is_disk_full",
    "nearest_name",
]


class HotseatError(Exception):
    """Base of all errors that Hotseat raises on purpose.

    ``message`` says what is wrong and where, in one sentence; ``remedy`` says
    what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadInputError(HotseatError):
    """The user's input or usage is wrong."""

    exit_code = 2


class MissingError(HotseatError):
    """Something that is needed is not there: a model, a server, a corpus."""

    exit_code = 3


class SettingError(BadInputError):
    """An unknown setting or a value that does not fit it."""


class QuestionFileError(BadInputError):
    """A question file, or one of its lines, that can't be used."""


class ModelMissingError(MissingError):
    """A model that has not been pulled, or that no source could deliver."""


class EngineError(HotseatError):
    """A language-model engine that can't load or failed to answer."""

    exit_code = 3


class NoLogprobsError(EngineError):
    """An engine that can't tell the log-probabilities of the next token."""


class CorpusError(HotseatError):
    """Anything wrong with a recorded corpus."""

    exit_code = 2


class CorpusDamagedError(CorpusError):
    """Stored bytes that no longer match their hash; never handed out."""


class DiskFullError(CorpusError):
    """A corpus that can't grow any more because its disk, or a quota, is full."""

    exit_code = 3

    def __init__(self, folder: object, message: str = "", *, remedy: str = "") -> None:
        super().__init__(
            message
            or f"The disk is full: nothing more can be stored in {folder}; "
            "all that was stored before is whole.",
            remedy=remedy
            or "Make room, for example with 'hotseat corpus compact', and run the same "
            "command again.",
        )


class CorpusMissError(CorpusError):
    """A replayed request that the corpus does not hold.

    ``wanted`` is the canonical request, ``nearest`` the most similar recorded
    one (or ``None``) and ``difference`` the part in which the two differ.
    """

    exit_code = 3

    def __init__(self, wanted: str, nearest: str | None, difference: str) -> None:
        self.wanted = wanted
        self.nearest = nearest
        self.difference = difference
        where = (
            f"the nearest recorded request is {nearest}, which differs in {difference}."
            if nearest
            else "the corpus holds no request like it."
        )
        super().__init__(
            f"Not recorded: {wanted}; {where}",
            remedy="Record it with 'hotseat record'.",
        )


class SearchFailedError(HotseatError):
    """A search that failed, as opposed to one that found nothing."""

    exit_code = 3


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of the system says that a disk, or a quota, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or ``""``."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else ""
