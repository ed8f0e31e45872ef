"""WARC records as entries: Hotseat's own to the letter, others' as plain pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.corpus._body import body_sha256
from harness.corpus._entry import Entry
from harness.corpus._key import RequestKey
from harness.corpus._limits import MAX_BODY_BYTES
from harness.corpus._manifest import CorpusManifest
from harness.corpus._values import PAGE, Address, Failure, Problem
from harness.corpus._warc_foreign import foreign_page, foreign_request
from harness.corpus._warc_parse import UnusableError, parse_http, parse_record
from harness.corpus._warc_split import DamagedPart, PlainRecord, split
from harness.errors import BadInputError, CorpusError

__all__ = ["Damage", "Recorded", "WarcReader"]

_NAME: Final = re.compile(r"entry:([0-9a-f]{64}):([0-9]{1,9})")
_ORDINAL: Final = re.compile(r"[0-9]{1,9}")
_FAILURE: Final = re.compile(r"failure: ([A-Za-z]{1,60})\r\nmessage: ([^\r\n]*)\r\n")


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry with its body."""

    entry: Entry
    body: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A problem, and the address of the entry that it cost, where that is known."""

    problem: Problem
    address: Address | None = None


class WarcReader:
    """Reads one WARC file, once.

    ``manifest`` is the one in its ``warcinfo`` record, once that was read;
    ``skipped`` counts records of kinds that hold no page, by kind.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Counter[str] = Counter()
        self.manifest: CorpusManifest | None = None
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Recorded | Damage]:
        """Yield entries and damage in the order of the file.

        Raises :class:`~harness.errors.CorpusError` when the file can't be
        read, or when nothing in it looks like WARC.
        """
        recognised = False
        try:
            for part in split(self._path):
                if isinstance(part, DamagedPart):
                    recognised |= part.head.startswith(b"WARC/")
                    address = self._address(part)
                    yield self._damage(part.offset, part.reason, address)
                    continue
                recognised = True
                found = self._read(part)
                if found is not None:
                    yield found
        except OSError as error:
            raise CorpusError(f"Can't read {self._path}: {error.strerror}.") from None
        if not recognised:
            raise CorpusError(f"{self._path} is not a WARC file: no record begins in it.")

    def _damage(self, offset: int, reason: str, address: Address | None) -> Damage:
        where = f"{self._path.name}, record at byte {offset}"
        return Damage(Problem(where, reason), address)

    def _address(self, part: DamagedPart) -> Address | None:
        """Return which entry a damaged record was, if its header or name tells."""
        match = _NAME.fullmatch(part.name)
        named = (match[1], int(match[2])) if match else None
        header, border, _ = part.head.partition(b"\r\n\r\n")
        if not border:
            return named
        lines = header.decode("utf-8", "replace").split("\r\n")[1:]
        fields = {
            name.strip().lower(): value.strip()
            for name, colon, value in (line.partition(":") for line in lines)
            if colon
        }
        try:
            if _is_own(fields):
                return _own_request(fields).sha256, _ordinal(fields)
            # In a file of Hotseat's, a record without its fields is merely garbled.
            if self.manifest is None and fields.get("warc-type") == "response":
                return self._next(foreign_request(fields))
        except (UnusableError, BadInputError):
            pass  # the header is damaged too
        return named

    def _next(self, request: RequestKey) -> Address:
        ordinal = self._seen[request.sha256]
        self._seen[request.sha256] += 1
        return request.sha256, ordinal

    def _read(self, part: PlainRecord) -> Recorded | Damage | None:
        address: Address | None = None
        try:
            fields, block = parse_record(part.data)
            if _is_own(fields):
                address = _own_request(fields).sha256, _ordinal(fields)
                return _own(fields, block)
            kind = fields.get("warc-type", "unknown")
            if kind == "warcinfo":
                self._read_info(block)
            elif kind == "response" and _is_web(fields):
                request = foreign_request(fields)
                address = self._next(request)
                return Recorded(*foreign_page(fields, block, request, address[1]))
            else:
                self.skipped[kind] += 1
        except (UnusableError, BadInputError) as error:
            return self._damage(part.offset, str(error), address)
        return None

    def _read_info(self, block: bytes) -> None:
        for line in block.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "x-hotseat-manifest" and self.manifest is None:
                self.manifest = CorpusManifest.parse(value.encode(), self._path)


def _is_own(fields: Mapping[str, str]) -> bool:
    # By any of the fields, so that damage to one does not make it a foreign page.
    return any(name.startswith("x-hotseat-") for name in fields)


def _is_web(fields: Mapping[str, str]) -> bool:
    return fields.get("warc-target-uri", "").lower().startswith(("http://", "https://"))


def _own_request(fields: Mapping[str, str]) -> RequestKey:
    provider, url = fields.get("x-hotseat-provider", ""), fields.get("warc-target-uri", "")
    if provider != PAGE:
        host = f"http://{provider}.invalid"
        if not url.startswith(f"{host}/"):
            raise UnusableError("its address is not that of its provider")
        url = f"{provider}:{url.removeprefix(host)}"
    request = RequestKey(
        provider=provider,
        method=fields.get("x-hotseat-method", ""),
        url=url,
        accept_language=fields.get("x-hotseat-accept-language", ""),
        body_sha256=fields.get("x-hotseat-body", "").removeprefix("sha256:") or None,
    )
    if request.sha256 != fields.get("x-hotseat-key"):
        raise UnusableError("its key is not that of its request")
    return request


def _ordinal(fields: Mapping[str, str]) -> int:
    text = fields.get("x-hotseat-ordinal", "")
    if not _ORDINAL.fullmatch(text):
        raise UnusableError("it has no ordinal")
    return int(text)


def _own(fields: Mapping[str, str], block: bytes) -> Recorded:
    """Return an entry that Hotseat exported; its checksum covers all of it."""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body, failure = b"", None
    if fields.get("warc-type") == "response":
        status, pairs, body = parse_http(block)
        headers = tuple(pairs)
    elif match := _FAILURE.fullmatch(block.decode("utf-8", "replace")):
        failure = Failure(match[1], match[2])
    else:
        raise UnusableError("it is neither an answer nor a failure")
    try:
        entry = Entry(
            request=_own_request(fields),
            ordinal=_ordinal(fields),
            fetched_at=fields.get("warc-date", ""),
            elapsed_s=float(fields.get("x-hotseat-elapsed", "")),
            truncated="warc-truncated" in fields,
            status=status,
            headers=headers,
            body_sha256=None if status is None else body_sha256(body),
            body_bytes=len(body),
            failure=failure,
        )
        fits = entry.digest() == fields.get("x-hotseat-entry")
    except ValueError:
        fits = False
    if not fits:
        raise UnusableError("its content does not fit its checksum")
    if len(body) > MAX_BODY_BYTES:
        raise UnusableError(f"its body is larger than {MAX_BODY_BYTES} bytes")
    return Recorded(entry, body)
