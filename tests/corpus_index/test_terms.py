from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.corpus_index._snippet import snippet
from harness.corpus_index._terms import fold_in_place, query_terms, split_sites, terms


def test_case_accents_and_forms_make_no_difference():
    assert terms("Übergrößenträger CAFÉ cafe\u0301 ﬁne x²") == [
        "ubergrossentrager",
        "cafe",
        "cafe",
        "fine",
        "x2",
    ]


def test_scripts_without_blanks_are_cut_into_pairs():
    assert terms("東京都 tower2 京") == ["東京", "京都", "tower2", "京"]
    assert set(query_terms("京都")) <= set(terms("東京都"))


def test_words_of_no_meaning_are_left_out_unless_there_are_no_others():
    assert query_terms("What is the capital of the moon?") == ["capital", "moon"]
    assert query_terms("the who") == ["the", "who"]
    assert query_terms("?! …") == []
    assert query_terms("") == []


def test_a_query_of_ten_thousand_characters_is_bounded():
    found = query_terms(" ".join(f"word{number}" for number in range(2_000)))
    assert 10 < len(found) <= 48
    assert query_terms("a" * 10_000)


def test_sites_are_taken_out_of_the_query():
    assert split_sites("moons (site:a.example OR site:b.example)") == (
        "moons",
        ("a.example", "b.example"),
    )
    assert split_sites('"site:x" moons  of') == ('"site:x" moons of', ())
    assert split_sites("site:A.Example. moons") == ("moons", ("a.example",))
    assert split_sites("website:x moons") == ("website:x moons", ())


INVISIBLE = "\u00ad\u200b\u200d\u2060\ufeff"
SEEN = st.characters(exclude_categories=("Cs", "Cf")) | st.sampled_from(INVISIBLE)


@given(st.text(SEEN, max_size=200))
def test_a_query_finds_the_terms_of_the_text_that_it_is(text: str):
    found = terms(text)
    assert all(term.isalnum() and len(term) <= 64 for term in found)
    assert set(query_terms(text)) <= set(found)


@given(st.text(max_size=300))
def test_folding_in_place_keeps_every_place(text: str):
    assert len(fold_in_place(text)) == len(text)


@given(st.text(max_size=2_000), st.lists(st.text(max_size=10), max_size=5))
def test_a_snippet_is_one_bounded_line(text: str, words: list[str]):
    wanted = [term for word in words for term in terms(word)]
    shown = snippet(text, wanted)
    assert len(shown) <= 300
    assert "\n" not in shown


def test_a_snippet_shows_where_the_words_stand_closest():
    filler = "The river was long and nothing happened on it. " * 40
    text = (
        f"{filler}The lighthouse stood apart. {filler}Orla built the lighthouse in 1612. {filler}"
    )
    assert snippet(text, ["orla", "lighthouse", "1612"]).startswith("Orla built the lighthouse")
    assert snippet(text, ["absent"]).startswith("The river was long")
    assert snippet(text, ["orla"]).endswith("…")
    assert snippet("Short text.", ["short"]) == "Short text."


def test_a_snippet_finds_words_with_accents_and_without_blanks():
    filler = "Nothing here. " * 60
    assert "Café Zuñiga" in snippet(f"{filler}Café Zuñiga opened. {filler}", ["zuniga", "cafe"])
    assert "東京都庁" in snippet(f"{filler}東京都庁は高い。{filler}", ["東京", "京都"])
