"""Entries as WARC/1.1 records, the same bytes for the same corpus.

An answer is a ``response`` record, a failure a ``metadata`` record.  What WARC
has no field for stands in ``X-Hotseat-…`` fields of the record's header; other
tools pass over them.  Identifiers derive from the content and times from the
entry, so nothing depends on who exports, when or where.
"""

from __future__ import annotations

import io
import json
import struct
import uuid
import zlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from harness.corpus._entry import Entry
from harness.corpus._limits import MAX_RATIO, RATIO_FREE_BYTES
from harness.corpus._manifest import CorpusManifest
from harness.corpus._values import PAGE

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

__all__ = ["entry_member", "info_member"]

_NAMESPACE: Final = uuid.UUID("d5f1a7a0-63c5-5e0b-9b1e-6a1f6c0d2f4e")
_SPECIFICATION: Final = (
    "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)


def info_member(manifest: CorpusManifest) -> bytes:
    """Return the packed ``warcinfo`` record, which carries the manifest."""
    line = json.dumps(manifest.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    block = (
        f"software: hotseat\r\nformat: WARC File Format 1.1\r\n"
        f"conformsTo: {_SPECIFICATION}\r\nx-hotseat-manifest: {line}\r\n"
    ).encode()
    headers = {
        "WARC-Record-ID": _record_id(line),
        "WARC-Date": manifest.created,
    }
    record = _record("", "warcinfo", headers, block, "application/warc-fields")
    return _member(record, "warcinfo")


def entry_member(entry: Entry, body: bytes) -> bytes:
    """Return one entry as a packed record."""
    request = entry.request
    headers = {
        "WARC-Record-ID": _record_id(entry.digest()),
        "WARC-Date": entry.fetched_at,
        "X-Hotseat-Entry": entry.digest(),
        "X-Hotseat-Key": request.sha256,
        "X-Hotseat-Ordinal": str(entry.ordinal),
        "X-Hotseat-Provider": request.provider,
        "X-Hotseat-Method": request.method,
        "X-Hotseat-Elapsed": repr(entry.elapsed_s),
    }
    if request.accept_language:
        headers["X-Hotseat-Accept-Language"] = request.accept_language
    if request.body_sha256:
        headers["X-Hotseat-Body"] = f"sha256:{request.body_sha256}"
    if entry.truncated:
        headers["WARC-Truncated"] = "length"
    uri = request.url
    if request.provider != PAGE:
        # A record of this type needs a web address; this domain never resolves.
        uri = f"http://{request.provider}.invalid{uri.removeprefix(f'{request.provider}:')}"
    if entry.failure is not None:
        told = f"failure: {entry.failure.kind}\r\nmessage: {entry.failure.message}\r\n"
        record = _record(uri, "metadata", headers, told.encode(), "application/warc-fields")
    else:
        assert entry.status is not None
        record = _record(uri, "response", headers, body, status=entry.status, http=entry.headers)
    return _member(record, f"entry:{request.sha256}:{entry.ordinal}")


def _record(
    uri: str,
    kind: str,
    headers: dict[str, str],
    block: bytes,
    content_type: str = "",
    *,
    status: int | None = None,
    http: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Return an uncompressed record."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    plain = io.BytesIO()
    writer = WARCWriter(plain, gzip=False, warc_version="1.1")
    answer = None
    if status is not None:
        answer = StatusAndHeaders(f"{status} {_reason(status)}", list(http), protocol="HTTP/1.1")
    record: ArcWarcRecord = writer.create_warc_record(
        uri,
        kind,
        payload=io.BytesIO(block),
        length=len(block),
        warc_content_type=content_type,
        warc_headers_dict=headers,
        http_headers=answer,
    )
    writer.write_record(record)
    return plain.getvalue()


def _member(data: bytes, name: str) -> bytes:
    """Return one gzip member, the same for the same data, with a checksum over its header.

    The header's comment names what is inside, so that it is known what was
    lost when the member can't be unpacked.
    """
    # Magic, method, flags (header checksum, comment), no time, system unknown.
    header = b"\x1f\x8b\x08\x12" + bytes(4) + b"\x00\xff" + name.encode() + b"\0"
    header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    packed = zlib.compress(data, 9, wbits=-zlib.MAX_WBITS)
    if len(data) > RATIO_FREE_BYTES and len(data) > MAX_RATIO // 2 * len(packed):
        # What packs this well would look like a bomb to whoever reads it.
        packed = zlib.compress(data, 0, wbits=-zlib.MAX_WBITS)
    return header + packed + struct.pack("<II", zlib.crc32(data), len(data))


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _record_id(content: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, content)}>"
