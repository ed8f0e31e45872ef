from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retrieval.chunking import chunk_text, tidy

PROSE = " ".join(f"This is sentence number {n} of the page." for n in range(100, 140))
CHUNKERS = ["sentences", "characters"]
TEXTS = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="abC1.?。 \n字ش👩\u200d", max_size=400),
)


@given(TEXTS, st.sampled_from(CHUNKERS), st.integers(1, 80), st.integers(0, 90))
def test_chunks_cover_all_in_order_and_stay_in_bounds(text, chunker, size, overlap):
    chunks = chunk_text(text, chunker=chunker, size=size, overlap=overlap)
    at = 0
    for number, chunk in enumerate(chunks):
        assert chunk.text.strip() == chunk.text != ""
        assert len(chunk.text) <= chunk.end - chunk.start <= size
        assert chunk.text == tidy(text[chunk.start : chunk.end])
        if chunk.start > at:
            assert not text[at : chunk.start].strip()
        if number:
            before = chunks[number - 1]
            assert before.start < chunk.start
            assert before.end < chunk.end
            assert before.end - chunk.start <= min(overlap, size // 2)
        at = chunk.end
    assert not text[at:].strip()
    assert chunks == chunk_text(text, chunker=chunker, size=size, overlap=overlap)


@pytest.mark.parametrize("chunker", CHUNKERS)
@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u00a0\u2003"])
def test_blank_texts_have_no_chunks(chunker: str, text: str):
    assert chunk_text(text, chunker=chunker, size=10, overlap=2) == []


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_one_character_is_one_chunk(chunker: str):
    assert [c.text for c in chunk_text("x", chunker=chunker, size=50, overlap=10)] == ["x"]


def test_windows_have_the_asked_size_and_overlap():
    chunks = chunk_text("0123456789" * 3, chunker="characters", size=12, overlap=4)
    assert [(c.start, c.end) for c in chunks] == [(0, 12), (8, 20), (16, 28), (24, 30)]


def test_sentences_are_packed_whole():
    chunks = chunk_text(PROSE, chunker="sentences", size=120, overlap=0)
    assert len(chunks) == 20
    assert all(c.text.startswith("This") and c.text.endswith(".") for c in chunks)
    assert {c.end - c.start for c in chunks} == {81}  # two sentences of 40 and a blank


def test_neighbours_share_whole_sentences():
    chunks = chunk_text(PROSE, chunker="sentences", size=120, overlap=40)
    for left, right in pairwise(chunks):
        shared = PROSE[right.start : left.end]
        assert shared.startswith("This")
        assert shared.endswith(".")
        assert len(shared) == 40


def test_overlap_shorter_than_a_sentence_shares_nothing():
    chunks = chunk_text(PROSE, chunker="sentences", size=120, overlap=30)
    assert all(left.end < right.start for left, right in pairwise(chunks))


def test_a_heading_goes_with_what_it_announces():
    text = f"{PROSE[:75]}\nHistory\nThe town was founded by two brothers in winter.\nEnd of it."
    chunks = chunk_text(text, chunker="sentences", size=100, overlap=50)
    assert [c.text.split("\n")[0][:7] for c in chunks] == ["This is", "History"]


def test_a_table_row_is_not_cut():
    rows = "\n".join(f"| name {n}. | value {n}. |" for n in range(30))
    chunks = chunk_text(rows, chunker="sentences", size=100, overlap=0)
    for chunk in chunks:
        assert all(line.startswith("|") and line.endswith("|") for line in chunk.text.split("\n"))


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_a_whole_page_is_cut_quickly_and_completely(chunker: str):
    page = (PROSE + "\n") * 8
    chunks = chunk_text(page[:12_000], chunker=chunker, size=350, overlap=100)
    assert 35 < len(chunks) < 60


def test_tidy_makes_single_blanks_and_breaks_and_replaces_half_pairs():
    assert tidy("  a \t b\u00a0c \r\n \n\n d\ud800 ") == "a b c\nd\ufffd"


@given(TEXTS)
def test_tidy_keeps_every_other_character_and_is_stable(text: str):
    assert "".join(tidy(text).split()) == "".join(text.split())
    assert tidy(tidy(text)) == tidy(text)


def test_a_size_without_room_is_refused():
    with pytest.raises(ValueError, match="room"):
        chunk_text("text", chunker="sentences", size=0, overlap=0)
