"""What decides the text that the index holds of a page."""

from __future__ import annotations

import pytest

from harness.corpus_index import FORMAT, _recorded
from harness.settings import FetchSettings


def test_the_index_keeps_as_much_of_a_page_as_research_does():
    assert FetchSettings().keep_chars == _recorded.KEEP_CHARS


def test_another_number_of_characters_is_another_text(monkeypatch: pytest.MonkeyPatch):
    usual = _recorded.text_identity()
    assert usual.startswith(f"{FORMAT}; charset-normalizer ")
    monkeypatch.setattr(_recorded, "KEEP_CHARS", 9_000)
    assert _recorded.text_identity() == usual.replace(FORMAT, f"{FORMAT}; 9000 characters")
