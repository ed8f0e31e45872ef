from harness.evidence import Passage
from harness.retrieval.duplicates import distinct, repeats, shingles
from harness.settings import RetrievalSettings

TEXT = "The lighthouse of Anvera was built in 1821 after the wreck of the brig Constance."
SHARE = RetrievalSettings().repeated


def says_again(new: str, known: str) -> bool:
    return repeats(shingles(new), shingles(known), SHARE)


def test_the_same_text_in_other_type_repeats():
    assert says_again(TEXT.upper().replace(" ", "\n"), TEXT)


def test_a_snippet_repeats_the_page_but_not_the_page_the_snippet():
    assert says_again(TEXT[:50], TEXT)
    assert not says_again(TEXT, TEXT[:50])


def test_one_changed_number_is_no_repetition_of_a_short_text():
    assert not says_again("Founded in 1821 by Anna.", "Founded in 1921 by Anna.")


def test_half_shared_is_no_repetition():
    assert not says_again(TEXT, TEXT[40:] + " More was lost that winter at sea.")


def test_it_works_without_blanks_and_on_tiny_texts():
    assert says_again("灯台は一八二一年に建てられました", "灯台は一八二一年に建てられました。")
    assert says_again("x", "X")
    assert not says_again("x", "y")


def passages(*texts: str, pages: int = 99) -> list[Passage]:
    return [
        Passage((n, 0), text, "", f"https://{n % pages}.example", "page")
        for n, text in enumerate(texts)
    ]


def texts_of(*texts: str, pages: int = 99, **rest) -> list[str]:
    wanted = {"at_most": 9, "repeated": 0.85, "per_source": 0, **rest}
    return [p.text for p in distinct(passages(*texts, pages=pages), **wanted)]


def test_of_near_copies_across_pages_the_better_one_stays():
    copy = TEXT.removesuffix(".") + ", they say."
    assert texts_of(copy, "Another thing.", TEXT) == [copy, "Another thing."]
    assert texts_of(TEXT, copy, repeated=0.85) == [TEXT]


def test_how_near_is_a_setting():
    copy = TEXT.replace("brig", "ship")
    assert texts_of(TEXT, copy, repeated=1.0) == [TEXT, copy]
    assert texts_of(TEXT, copy, repeated=0.6) == [TEXT]
    assert texts_of(TEXT, TEXT[:50], repeated=1.0) == [TEXT]


def test_a_page_gives_no_more_than_its_share():
    names = ["one one one", "two two two", "three three", "four four four"]
    assert texts_of(*names, pages=2) == names
    assert texts_of(*names, pages=2, per_source=1) == names[:2]
    assert texts_of(*names, pages=1, per_source=3) == names[:3]


def test_what_is_dropped_does_not_use_up_the_number():
    assert texts_of(TEXT, TEXT.upper(), "More.", "Most.", at_most=2) == [TEXT, "More."]
    assert texts_of(TEXT, at_most=0) == []
