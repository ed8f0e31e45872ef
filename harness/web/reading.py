"""The text of one page: decoded, taken out of its HTML, its tables spelt out.

Research and the index over a corpus's pages read by the same function, so that
what the one finds is what the other reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.web.decode import decode
from harness.web.extract import Extraction
from harness.web.tables import spell_out_tables

if TYPE_CHECKING:
    from harness.web.extract import Extractor

__all__ = ["Reading", "read_text"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page gave, and the charset it was decoded by.

    ``extraction.text`` has its tables spelt out; ``found_chars`` counts what
    was there before that, 0 where there is no text.
    """

    extraction: Extraction
    charset: str
    found_chars: int


def read_text(
    body: bytes,
    content_type: str,
    *,
    plain: bool,
    url: str,
    extractor: Extractor,
    keep_chars: int,
    timeout_s: float,
) -> Reading:
    """Return the first ``keep_chars`` characters of a page's main text, waiting for them.

    ``plain`` says that the page is text already.  Raises nothing for whatever
    a page does: failures are words in the extraction.
    """
    decoded = decode(body, content_type)
    if plain:
        text = decoded.text.strip()[:keep_chars]
        return Reading(Extraction(text), decoded.charset, len(text))
    found = extractor.extract(decoded.text, url=url, keep_chars=keep_chars, timeout_s=timeout_s)
    if found.text is None:
        return Reading(found, decoded.charset, 0)
    spelt = spell_out_tables(found.text)[:keep_chars]
    return Reading(replace(found, text=spelt), decoded.charset, len(found.text))
