import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.sentences import is_heading, units


def split(text: str, limit: int = 10_000) -> list[str]:
    return [text[start:end] for start, end in units(text, limit)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["One thing.", "Another thing.", "A third"],
        ["Did she?", "Yes!", "She did it… again.", "Really?!", "Yes."],
        ["Dr. J. R. R. Smith met Mrs. Ames in St. Ives.", "They left."],
        ["The U.S. Army paid 3.5 million for it.", "Nobody knew why."],
        ["Pop. figures, e.g. Rome's, are from ca. 1900.", "They are old."],
        ["Fig. 3 and No. 5 show it.", "See vol. 2 for more."],
        ["He said no.", "No. 4 was closed."],
        ["It fell in 1453.", "The city was renamed."],
        ["He called it “a disaster.”", "(Others did too.)", "Then he left."],
        ["«Partons!»", "Il partit hier.", "¿Por qué?", "Nadie lo sabe."],
        ["Am 3. Oktober kam z.B. Herr Maier, d.h. der Ältere.", "Er blieb."],
        ["Il sig. Rossi vive a Roma.", "È nato nel 1950."],
        ["これは文です。", "「はい。」", "次の文！", "最後"],
        ["هل هذا سؤال؟", "نعم هو كذلك.", "وهذا آخر"],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["It costs 5 p.m. prices.", "Mr.\u00a0Fox pays."],
        ["Wait . . . what?", "Lower next? no, it goes on."],
    ],
)
def test_sentences_are_found(sentences: list[str]):
    joiner = "" if sentences[0][-1] in "。！" else " "
    assert split(joiner.join(sentences)) == sentences


@pytest.mark.parametrize("stop", ["Prof.", "vs.", "approx.", "e.g.", "J.", "U.S.", "12.", "Sig."])
def test_a_stop_that_belongs_to_its_word_does_not_split(stop: str):
    assert len(split(f"They say {stop} Other came.")) == 1


def test_a_blank_that_forbids_a_break_does_not_split():
    assert len(split("Volume.\u00a0Two came. It was late.")) == 2


def test_rows_and_items_stay_whole():
    text = "| Year. Month | Rain. Sun |\n- First. Second.\n12) One. Two.\nPlain. Prose."
    assert split(text) == [
        "| Year. Month | Rain. Sun |",
        "- First. Second.",
        "12) One. Two.",
        "Plain.",
        "Prose.",
    ]


def test_an_item_too_long_falls_apart_into_sentences():
    assert split("- First sentence. Second sentence.", 20) == [
        "- First sentence.",
        "Second sentence.",
    ]


def test_every_kind_of_line_break_ends_a_unit():
    assert split("a\nb\r\nc\rd\u2028e\u2029f\x85g\x0bh") == list("abcdefgh")


def test_a_sentence_too_long_is_parted_after_a_clause_then_at_a_blank_then_anywhere():
    assert split("some words here; and more words", 20) == ["some words here;", "and more words"]
    assert split("some words here and more words", 20) == ["some words here and", "more words"]
    assert split("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_joined_emoji_is_not_parted():
    family = "👨\u200d👩\u200d👧"
    assert split("x" * 8 + family + "y" * 8, 10)[0] == "x" * 8
    assert split("e\u0301" * 8, 5) == ["e\u0301" * 2] * 4


def test_a_limit_without_room_is_refused():
    with pytest.raises(ValueError, match="room"):
        units("text", 0)


def test_a_heading_is_a_short_line_above_longer_prose():
    text = "History\nThe town was founded by two brothers.\nA short line\nEnd."
    spans = units(text, 100)
    assert [is_heading(text, spans, i) for i in range(len(spans))] == [True, False, False, False]
    inline = "History The town. It was founded by two brothers."
    assert not is_heading(inline, units(inline, 100), 0)


# Letters, stops, blanks, breaks, wide and right-to-left characters, marks, emoji.
TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="aB1.!?。 \n\t\u00a0\"')(|-;,é\u0301字ش👩\u200d\u200b", max_size=300),
)


@given(TEXTS, st.integers(1, 60))
def test_units_cover_all_in_order_within_the_limit(text: str, limit: int):
    spans = units(text, limit)
    at = 0
    for start, end in spans:
        assert at <= start < end
        assert end - start <= limit
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@given(TEXTS)
def test_a_unit_never_spans_lines(text: str):
    for unit in split(text):
        assert not re.search(r"[\n\r\u2028\u2029]", unit)


@given(st.text(alphabet="ab\u0301\u0308", min_size=1, max_size=80), st.integers(8, 20))
def test_accents_stay_with_their_letters_where_there_is_a_choice(text: str, limit: int):
    if re.search(r"[\u0301\u0308]{3}", text):
        return  # more marks than half a limit may leave no choice
    for start, _ in units(text, limit)[1:]:
        assert unicodedata.combining(text[start]) == 0
