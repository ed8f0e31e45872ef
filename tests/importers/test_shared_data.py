"""The real files, where a checkout has them beside it; nothing of them is kept here."""

from pathlib import Path

import pytest

from harness.importers import read_questions

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the development data is not there")
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("opentdb/opentdb_half.json", 1990, 1995),
        ("opentriviaqa/history", 1630, 1640),
        ("opentriviaqa/animals", 1360, 1366),
        ("quiz/recorded_questions.jsonl", 597, 597),
    ],
)
def test_real_files(name, least, most):
    found = read_questions(DATA / name)
    assert least <= len(found.questions) <= most
    texts = [text for q in found.questions for text in (q.text, *(o.text for o in q.options))]
    assert not any("&quot;" in text or "â€" in text or "\ufffd" in text for text in texts)
