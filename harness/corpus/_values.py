"""Values that travel between the tape, its users and the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = [
    "OUTCOME_EXTENSION",
    "PAGE",
    "POLICY_EXTENSION",
    "Address",
    "Failure",
    "Outcome",
    "Problem",
    "RequestPolicy",
    "short_name",
]

POLICY_EXTENSION: Final = "hotseat"
OUTCOME_EXTENSION: Final = "hotseat_outcome"

PAGE: Final = "page"

Address = tuple[str, int]
"""An entry's request key (hex) and ordinal."""

_PROVIDER = re.compile(r"[a-z][a-z0-9-]{0,30}")


def short_name(address: Address) -> str:
    """Return what an entry is called in messages."""
    return f"{address[0][:12]}…:{address[1]}"


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """What a request may take, and which of its parts identify it.

    ``provider`` is ``"page"`` for the open web; any other name says that the
    request asks a service of which there are many equal instances, so that
    scheme, host and port are left out of its identity.  ``total_s`` bounds
    connecting and reading the whole body; ``max_bytes`` counts decoded bytes
    (at most 64 MiB).  ``secret_params`` and ``secret_headers`` never reach the
    disk; ``volatile_params`` are left out of the identity only because they
    change from request to request.

    Put it into ``request.extensions["hotseat"]``.  Raises ``ValueError`` for a
    provider that is not a short lower-case name, or a limit that is not
    positive.
    """

    provider: str = PAGE
    total_s: float = 10.0
    max_bytes: int = 3_000_000
    secret_params: tuple[str, ...] = ()
    secret_headers: tuple[str, ...] = ()
    volatile_params: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _PROVIDER.fullmatch(self.provider) or self.provider in ("http", "https"):
            raise ValueError(f"not a provider's name: {self.provider!r}")
        if self.total_s <= 0 or self.max_bytes <= 0:
            raise ValueError("total_s and max_bytes must be positive")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request; found in ``request.extensions["hotseat_outcome"]``.

    ``recorded`` says that the answer was read from a corpus: then ``elapsed_s``
    is what it took when it was fetched.  ``truncated`` says that only the
    beginning of the body was kept.  ``ordinal`` counts from 0 and is that of
    the answer given.  ``failure`` names the httpx exception that was raised
    (``"ReadTimeout"``), or ``"CorpusMissError"`` or ``"CorpusDamagedError"``;
    with one of those two there is no ``fetched_at``.
    """

    recorded: bool
    elapsed_s: float
    truncated: bool
    key: str
    ordinal: int
    fetched_at: str | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that got no answer: the httpx exception's name, and its message."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a corpus: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"
