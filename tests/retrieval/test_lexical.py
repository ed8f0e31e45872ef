import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.lexical import Bm25, words

TEXTS = [
    "The lighthouse of Anvera was lit in 1821.",
    "A ferry crosses the strait twice a day.",
    "Anvera, Anvera: the harbour bakes rye bread.",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAFÉ's 2nd menu", ["the", "cafe", "s", "2nd", "menu"]),
        ("Ｆｕｌｌ ｗｉｄｔｈ ﬁne", ["full", "width", "fine"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cities city glass bus cars gas", ["city", "city", "glass", "bus", "car", "gas"]),
        ("snake_case a-b", ["snake", "case", "a", "b"]),
        ("東京都 は", ["東京", "京都", "は"]),
        ("ISO標準2024年", ["iso", "標準", "2024", "年"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("กขค", ["กข", "ขค"]),
        ("한국어 위키", ["한국어", "위키"]),
        ("", []),
        ("?! — …", []),
    ],
)
def test_words(text: str, expected: list[str]):
    assert words(text) == expected


def test_what_shares_more_and_rarer_words_scores_higher():
    scores = Bm25(TEXTS).scores("Who lit the lighthouse of Anvera?")
    assert scores[0] > scores[2] > scores[1] > 0  # all share "the"
    assert Bm25(TEXTS).scores("zebra") == [0.0, 0.0, 0.0]


def test_a_score_is_the_published_formula():
    texts = ["anvera anvera light", "ferry day day day day"]
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / 4))
    assert Bm25(texts).scores("anvera") == [pytest.approx(expected, abs=1e-12), 0.0]


@pytest.mark.parametrize("texts", [[], [""], ["", "…"]])
def test_nothing_to_score_is_no_error(texts: list[str]):
    assert Bm25(texts).scores("anything") == [0.0] * len(texts)


@given(st.lists(st.text("ab字é ", max_size=12), max_size=8), st.text("ab字é ", max_size=12))
def test_scores_depend_on_neither_order_nor_repetition(texts: list[str], query: str):
    scores = Bm25(texts).scores(query)
    assert Bm25(texts[::-1]).scores(query) == scores[::-1]
    assert Bm25(texts).scores(" ".join([query, *query.split()[::-1]])) == scores
    assert all(score >= 0 for score in scores)


@given(st.text())
def test_any_text_is_cut_into_words_the_same_twice(text: str):
    found = words(text)
    assert found == words(text)
    assert all(word and not any(c.isspace() for c in word) for word in found)
