import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.web.query import MAX_CHARS, MAX_WORDS, build_query, restrict_to_sites


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Which river flows through the city of Brno?", "river flows city Brno"),
        (
            "Who wrote the novel 'The Old Man and the Sea'?",
            'wrote novel "The Old Man and the Sea"',
        ),
        ("Chi ha scritto “I promessi sposi”?", 'scritto "I promessi sposi"'),
        ("Who painted «La Gioconda»?", 'painted "La Gioconda"'),
        ("Which of the following is NOT a planet?", "planet"),
        ("All are noble gases EXCEPT which?", "noble gases"),
        ("In which year was the WHO founded?", "year WHO founded"),
        ("In The Who, who played drums in May 1968?", "The Who played drums May 1968"),
        ("Will Smith starred in which film?", "Will Smith starred film"),
        ("What happened at Coca-Cola on 12/03/1990?", "happened Coca-Cola 12/03/1990"),
        ("What melts at -5°C and costs 1,000.50 € ?", 'melts "-5°C" costs 1,000.50'),
        ("The years 1914–1918—what war was it?", "years 1914-1918 war"),
        ("Qual è la capitale dell'Italia?", "capitale Italia"),
        ("In quale anno nacque Gabriele D'Annunzio?", "anno nacque Gabriele D'Annunzio"),
        ("In quale regione si trova L'Aquila?", "regione trova L'Aquila"),
        ("Perché la città di Forlì è nota?", "città Forlì nota"),
        ("Who was Che Guevara in the Victorian era?", "Che Guevara Victorian era"),
        ("WHAT IS THE CAPITAL OF FRANCE?", "CAPITAL FRANCE"),
        ("The ____ is the largest planet", "largest planet"),
        ("When did World War I end?", "World War I end"),
        ("A diet without vitamin A?", "diet vitamin A"),
        ("According to Kant, how many?", "Kant"),
        ("Who created C++ and C#?", "created C++ C#"),
        ("the dogs' owner's bone", "dogs owner's bone"),
    ],
)
def test_words_that_carry_meaning_stay_in_order(text, query):
    assert build_query(text) == query


@pytest.mark.parametrize("text", ["What is it?", "Who?", "Is it not?"])
def test_a_question_of_stop_words_is_searched_as_it_is(text):
    assert build_query(text) == text.rstrip("?")


@pytest.mark.parametrize("text", ["???", "—", "!"])
def test_text_without_a_word_falls_back_to_itself(text):
    assert build_query(text)


def test_blank_text_gives_nothing():
    assert build_query(" \t\n\u200b") == ""


def test_nothing_is_read_as_search_syntax():
    query = build_query("!wp :fr ~foo -bar +baz @qux !!g NOT AND OR")
    assert query == "wp fr foo bar baz qux g"


def test_a_long_quotation_becomes_words():
    query = build_query(
        "Who said 'we shall fight on the beaches we shall fight on landing grounds'?"
    )
    assert '"' not in query
    assert "beaches" in query
    assert "grounds" in query


def test_a_long_question_is_cut_between_words():
    text = " ".join(f"w{number:03}" for number in range(200))
    query = build_query(text)
    assert len(query.split()) == MAX_WORDS
    assert text.startswith(query)
    assert build_query("x" * 1000) == "x" * MAX_CHARS


def test_sites_are_named_in_order_as_far_as_they_fit():
    assert restrict_to_sites("a b", ("x.org", "y.org")) == "a b (site:x.org OR site:y.org)"
    assert restrict_to_sites("a b", ()) == "a b"
    many = restrict_to_sites("a b", [f"{'d' * 20}{number}.org" for number in range(50)])
    assert many.startswith("a b (site:dddd")
    assert many.endswith(")")
    assert len(many) <= MAX_CHARS
    assert len(many.split()) <= MAX_WORDS


def test_a_long_query_makes_room_for_some_sites():
    query = build_query(" ".join(f"w{number:03}" for number in range(200)))
    restricted = restrict_to_sites(query, ("wikipedia.org", "britannica.com"))
    assert "(site:wikipedia.org OR site:britannica.com)" in restricted
    assert len(restricted.split()) <= MAX_WORDS


TEXT = st.text(
    st.one_of(
        st.sampled_from("abc XYZ àéüñ 0123 .,;:!?'\"“”‘’«»-–—()[]&%$#@+~_/\\ \n\u00ad\u200b"),
        st.characters(),
    ),
    max_size=600,
)


@given(TEXT)
def test_bounded_and_never_empty(text):
    query = build_query(text)
    assert len(query) <= MAX_CHARS
    assert len(query.split()) <= MAX_WORDS
    query.encode()
    if any(char.isalnum() for char in text.encode("utf-8", "replace").decode()):
        assert query


@given(TEXT, st.lists(st.from_regex(r"[a-z]{1,30}\.(org|com)", fullmatch=True), max_size=30))
def test_restricted_queries_are_bounded(text, domains):
    restricted = restrict_to_sites(build_query(text), domains)
    assert len(restricted) <= MAX_CHARS
    assert len(restricted.split()) <= MAX_WORDS
    if domains:
        assert f"site:{domains[0]}" in restricted


@given(st.lists(st.from_regex(r"[b-z]{4,8}é?[0-9]{2}", fullmatch=True), min_size=1, max_size=40))
def test_order_is_kept_and_no_content_word_is_lost(words):
    assert build_query("What is " + " of the ".join(words) + "?") == " ".join(
        unicodedata.normalize("NFC", word) for word in words
    )


@given(TEXT)
def test_only_the_text_decides(text):
    assert build_query(text) == build_query(text)
