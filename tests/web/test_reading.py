"""From a page's bytes to its text, by the one way that research and index share."""

from __future__ import annotations

from typing import Any

import pytest

from harness.web.extract import Extraction
from harness.web.reading import Reading, read_text

TABLE = "| town | lit |\n|---|---|\n| Anvera | 1821 |"


class Extractor:
    """Gives what it was told to, and remembers what it was asked."""

    def __init__(self, gives: Extraction) -> None:
        self.gives = gives
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def extract(self, html: str, **named: Any) -> Extraction:
        self.asked.append((html, named))
        return self.gives


def read(body: bytes, content_type: str, extractor: Any, *, plain: bool, keep: int = 99) -> Reading:
    return read_text(
        body,
        content_type,
        plain=plain,
        url="http://a.example/",
        extractor=extractor,
        keep_chars=keep,
        timeout_s=3.0,
    )


def test_tables_are_spelt_out_and_the_text_before_that_is_counted():
    extractor = Extractor(Extraction(TABLE, title="Towns", date="1999-01-02", cut=True))
    reading = read("<p>Orlà</p>".encode("latin-1"), "text/html", extractor, plain=False)
    assert reading.extraction == Extraction(
        "town: Anvera; lit: 1821.", title="Towns", date="1999-01-02", cut=True
    )
    assert reading.found_chars == len(TABLE)
    assert reading.charset == "cp1252"
    named = {"url": "http://a.example/", "keep_chars": 99, "timeout_s": 3.0}
    assert extractor.asked == [("<p>Orlà</p>", named)]


@pytest.mark.parametrize("plain", [True, False])
def test_no_more_is_kept_than_was_asked_for(plain: bool):
    extractor = Extractor(Extraction(TABLE))
    reading = read(b"  0123456789", "text/plain", extractor, plain=plain, keep=4)
    assert reading.extraction.text == ("0123" if plain else "town")


def test_plain_text_is_not_extracted_and_keeps_its_bars():
    extractor = Extractor(Extraction("no"))
    reading = read(f" {TABLE}\n".encode(), "text/plain; charset=utf-8", extractor, plain=True)
    assert reading == Reading(Extraction(TABLE), "utf-8", len(TABLE))
    assert extractor.asked == []


def test_a_failure_is_handed_on():
    failed = Extraction(None, failure="no main text was found")
    reading = read(b"<p>", "text/html", Extractor(failed), plain=False)
    assert (reading.extraction, reading.found_chars) == (failed, 0)
