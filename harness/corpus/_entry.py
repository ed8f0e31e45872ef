"""One recorded exchange, and its canonical bytes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from harness.corpus._key import RequestKey
from harness.corpus._values import Address, Failure
from harness.errors import CorpusDamagedError

__all__ = ["KEPT_HEADERS", "Entry", "corpus_digest", "digest_line"]

_VERSION: Final = 1

# What a reader of the page may act on.  Dates, lengths, caching, connection
# and cookies are left out: they describe the exchange, not the page.
KEPT_HEADERS: Final = frozenset(
    {
        "content-disposition",
        "content-language",
        "content-type",
        "last-modified",
        "location",
        "refresh",
        "retry-after",
        "server-timing",
        "x-ratelimit-limit",
        "x-ratelimit-policy",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-robots-tag",
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A request, the ``ordinal``-th of its kind, and what came back for it.

    Either ``status`` and ``body_sha256`` are set or ``failure`` is.
    ``fetched_at`` is UTC to the microsecond; ``headers`` are in lower case.
    ``truncated`` says that the body is only its beginning.  Raises
    ``ValueError`` for values that no recording has: an entry may come from
    somebody else's file.
    """

    request: RequestKey
    ordinal: int
    fetched_at: str
    elapsed_s: float
    truncated: bool = False
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body_sha256: str | None = None
    body_bytes: int = 0
    failure: Failure | None = None

    def __post_init__(self) -> None:
        answered = self.status is not None
        if answered == (self.failure is not None) or answered != (self.body_sha256 is not None):
            raise ValueError("it is neither an answer nor a failure")
        if answered and not (type(self.status) is int and 100 <= self.status <= 999):
            raise ValueError("its status is none of HTTP")
        if type(self.elapsed_s) not in (int, float) or not math.isfinite(self.elapsed_s):
            raise ValueError("its seconds are no number")
        if type(self.ordinal) is not int or self.ordinal < 0:
            raise ValueError("its ordinal is no number")
        told = (self.failure.kind, self.failure.message) if self.failure else ()
        if not all(type(text) is str for text in (self.fetched_at, *told)):
            raise ValueError("its time or failure is no text")
        for name, text in self.headers:
            # Others, such as a content-encoding, would act on whoever reads the answer.
            if name not in KEPT_HEADERS or not (text.isascii() and text.isprintable()):
                raise ValueError(f"it has the header {name!r}")

    @property
    def is_failed(self) -> bool:
        """Whether fetching again may well give something better."""
        return self.status is None or self.status == 429 or self.status >= 500

    def canonical(self) -> bytes:
        """Return the entry as JSON with sorted keys and no blanks, in UTF-8.

        All that is stored is in it, so equal bytes are equal entries: the
        corpus digest is taken over these.
        """
        request = self.request
        value = {
            "body": f"sha256:{self.body_sha256}" if self.body_sha256 else None,
            "body_bytes": self.body_bytes,
            "elapsed_s": self.elapsed_s,
            "failure": [self.failure.kind, self.failure.message] if self.failure else None,
            "fetched_at": self.fetched_at,
            "headers": self.headers,
            "key": request.sha256,
            "ordinal": self.ordinal,
            "request": {
                "accept_language": request.accept_language,
                "body": f"sha256:{request.body_sha256}" if request.body_sha256 else None,
                "method": request.method,
                "provider": request.provider,
                "url": request.url,
            },
            "status": self.status,
            "truncated": self.truncated,
            "version": _VERSION,
        }
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return text.encode()

    def digest(self) -> str:
        """Return ``sha256:`` and the hash of the canonical bytes."""
        return _sha256(self.canonical())

    def to_bytes(self) -> bytes:
        """Return the canonical bytes behind a line with their hash, as stored."""
        body = self.canonical()
        return f"{_sha256(body)}\n".encode() + body

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Entry:
        """Read stored bytes back.

        Raises :class:`~harness.errors.CorpusDamagedError` when they are not
        exactly what :meth:`to_bytes` wrote.
        """
        checksum, _, body = data.partition(b"\n")
        if checksum != _sha256(body).encode():
            raise _damaged(where, "its checksum does not fit")
        try:
            return cls._from_json(json.loads(body))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(where, f"it is no entry of this format ({error})") from None

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> Entry:
        if value["version"] != _VERSION:
            raise ValueError(f"version {value['version']}")
        asked, failure = value["request"], value["failure"]
        request = RequestKey(
            provider=asked["provider"],
            method=asked["method"],
            url=asked["url"],
            accept_language=asked["accept_language"],
            body_sha256=_hex(asked["body"]),
        )
        if request.sha256 != value["key"]:
            raise ValueError("its key is not that of its request")
        return cls(
            request=request,
            ordinal=value["ordinal"],
            fetched_at=value["fetched_at"],
            elapsed_s=value["elapsed_s"],
            truncated=value["truncated"],
            status=value["status"],
            headers=tuple((name, text) for name, text in value["headers"]),
            body_sha256=_hex(value["body"]),
            body_bytes=value["body_bytes"],
            failure=Failure(*failure) if failure else None,
        )


def corpus_digest(entries: Iterable[bytes]) -> str:
    """Return the digest of a corpus: SHA-256 over the canonical entries, one a line.

    ``entries`` must come sorted by request key and ordinal.
    """
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(entry + b"\n")
    return f"sha256:{digest.hexdigest()}"


def digest_line(address: Address, found: Entry | CorpusDamagedError) -> bytes:
    """Return an entry's line in the digest; a damaged one has a line that says so."""
    if isinstance(found, Entry):
        return found.canonical()
    return f"damaged {address[0]} {address[1]}".encode()


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _hex(text: str | None) -> str | None:
    return text.removeprefix("sha256:") if text else None


def _damaged(where: str, why: str) -> CorpusDamagedError:
    return CorpusDamagedError(
        f"The entry {where} is damaged: {why}.",
        remedy="Record it again, or restore the corpus; 'hotseat corpus verify' lists all damage.",
    )
