"""One plain record taken apart by ``warcio``, whose complaints become one kind of error."""

from __future__ import annotations

import io
import re
from typing import Final

__all__ = ["UnusableError", "parse_http", "parse_record"]

_STATUS: Final = re.compile(r"\s*([0-9]{3})(?:\s|$)")


class UnusableError(Exception):
    """A record that can be read but not used; the text says why."""


def parse_record(data: bytes) -> tuple[dict[str, str], bytes]:
    """Return a record's header fields by lower-case name, and its block."""
    from warcio.exceptions import ArchiveLoadFailed
    from warcio.recordloader import ArcWarcRecordLoader

    loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
    try:
        record = loader.parse_record_stream(
            io.BytesIO(data), known_format="warc", no_record_parse=True
        )
        block = record.raw_stream.read()
    except (ArchiveLoadFailed, EOFError, AttributeError, TypeError, ValueError) as error:
        # A parser for well-formed input, given foreign bytes.
        raise UnusableError(f"its header can't be parsed ({error})") from None
    return {name.lower(): value for name, value in record.rec_headers.headers}, block


def parse_http(block: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return the status, headers and raw payload of an HTTP answer."""
    from warcio.statusandheaders import StatusAndHeadersParser

    stream = io.BytesIO(block)
    try:
        answer = StatusAndHeadersParser([], verify=False).parse(stream)
        match = _STATUS.match(answer.statusline)
    except (EOFError, AttributeError, TypeError, ValueError):
        match = None
    if match is None:
        raise UnusableError("it holds no HTTP answer")
    return int(match[1]), answer.headers, stream.read()
