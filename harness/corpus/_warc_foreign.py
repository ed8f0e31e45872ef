"""Pages that another tool archived: decoded, checked, and free of what is not kept."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from harness.corpus._body import body_sha256
from harness.corpus._decode import ContentDecoder, UndecodableError
from harness.corpus._entry import Entry
from harness.corpus._fetch import iso_time, stored_headers
from harness.corpus._key import ANY_LANGUAGE, RequestKey, normalise_url
from harness.corpus._limits import MAX_BODY_BYTES
from harness.corpus._values import PAGE, RequestPolicy
from harness.corpus._warc_parse import UnusableError, parse_http

__all__ = ["foreign_page", "foreign_request"]

_POLICY: Final = RequestPolicy()


def foreign_request(fields: Mapping[str, str]) -> RequestKey:
    url = normalise_url(fields.get("warc-target-uri", ""), _POLICY)
    return RequestKey(PAGE, "GET", url, ANY_LANGUAGE, None)


def foreign_page(
    fields: Mapping[str, str], block: bytes, request: RequestKey, ordinal: int
) -> tuple[Entry, bytes]:
    """Return a page that another tool archived."""
    status, headers, payload = parse_http(block)
    by_name = {name.lower(): value for name, value in headers}
    unchunked = payload
    if by_name.get("transfer-encoding", "").strip().lower() == "chunked":
        from warcio.bufferedreaders import ChunkedDataReader

        unchunked = ChunkedDataReader(io.BytesIO(payload)).read()
    # Tools disagree on whether the payload is meant with or without chunking.
    if not _digest_fits(fields.get("warc-block-digest"), block) or not _digest_fits(
        fields.get("warc-payload-digest"), payload, unchunked
    ):
        raise UnusableError("its content does not fit its digest")
    body = _decoded(unchunked, by_name.get("content-encoding", ""))
    entry = Entry(
        request=request,
        ordinal=ordinal,
        fetched_at=_time(fields.get("warc-date", "")),
        elapsed_s=0.0,
        truncated="warc-truncated" in fields,
        status=status,
        headers=stored_headers(headers, (), (), _POLICY),
        body_sha256=body_sha256(body),
        body_bytes=len(body),
    )
    return entry, body


def _digest_fits(stated: str | None, *candidates: bytes) -> bool:
    """Return whether a digest, if it is of a known kind, is that of a candidate."""
    algorithm, _, value = (stated or "").partition(":")
    if algorithm not in ("sha1", "sha256", "sha512", "md5"):
        return True
    for candidate in candidates:
        digest = hashlib.new(algorithm, candidate, usedforsecurity=False).digest()
        spellings = base64.b32encode(digest).decode(), digest.hex().upper()
        if value.upper().rstrip("=") in [text.rstrip("=") for text in spellings]:
            return True
    return False


def _decoded(payload: bytes, encodings: str) -> bytes:
    body = bytearray()
    try:
        for piece in ContentDecoder(encodings.split(",")).feed(payload):
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise UnusableError(f"its body unpacks to over {MAX_BODY_BYTES} bytes")
    except UndecodableError as error:
        if "br" in encodings or "zstd" in encodings:
            raise UnusableError(str(error)) from None
        return payload  # many tools decode the body and leave the header as it was
    return bytes(body)


def _time(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UnusableError(f"its date {text[:40]!r} can't be read") from None
    return iso_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
