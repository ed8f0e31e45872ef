import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.web.decode import charset_label, decode

ITALIAN = (
    "Perché la città è più bella di così? L'università di Urbino era nota già nel Cinquecento."
)


def page(text, meta=""):
    return f"<html><head>{meta}<title>x</title></head><body><p>{text}</p></body></html>"


def test_the_header_comes_first():
    result = decode("Ελλάδα".encode("iso8859-7"), "text/html; charset=ISO-8859-7")
    assert (result.text, result.charset, result.chosen_by) == ("Ελλάδα", "iso8859-7", "header")


def test_latin_1_is_read_as_browsers_do():
    result = decode("“5 €” – città".encode("cp1252"), 'text/html; charset="iso-8859-1"')
    assert result.text == "“5 €” – città"
    assert result.charset == "cp1252"


@pytest.mark.parametrize(
    "meta",
    [
        '<meta charset="windows-1251">',
        '<META content="text/html; CHARSET=windows-1251" http-equiv=x>',
    ],
)
def test_then_the_page_itself(meta):
    body = page("Привет, мир", meta).encode("cp1251")
    result = decode(body, "text/html")
    assert "Привет, мир" in result.text
    assert result.chosen_by == "meta"


def test_an_xml_declaration_counts():
    body = '<?xml version="1.0" encoding="iso-8859-2"?><html>Łódź</html>'.encode("iso8859-2")
    assert "Łódź" in decode(body).text


@pytest.mark.parametrize(
    ("mark", "charset"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_is_believed_and_removed(mark, charset):
    result = decode(mark + ITALIAN.encode(charset), "text/html")
    assert result.text == ITALIAN
    assert result.chosen_by == "mark"


def test_a_wrong_utf_8_label_is_overruled_by_the_bytes():
    result = decode(page(ITALIAN).encode("latin-1"), "text/html; charset=utf-8")
    assert ITALIAN in result.text
    assert result.chosen_by == "guess"


def test_a_wrong_latin_label_is_overruled_by_the_bytes():
    result = decode(ITALIAN.encode(), "text/html; charset=iso-8859-1")
    assert result.text == ITALIAN
    assert result.chosen_by == "content"


@pytest.mark.parametrize(
    "label",
    ["utf-7", "unicode_escape", "rot13", "zlib", "hex", "idna", "nonsense", "\0", "none", ""],
)
def test_bad_labels_are_ignored(label):
    assert charset_label(label) is None
    assert decode(ITALIAN.encode(), f"text/html; charset={label}").text == ITALIAN


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (ITALIAN, "latin-1"),
        ("L'été dernier, nous avons mangé des crêpes près de la forêt.", "cp1252"),
        ("Die Straße führt über die Brücke in die schöne Altstadt.", "cp1252"),
        ("Zażółć gęślą jaźń, a potem pójdziemy do sklepu po bułki.", "cp1250"),
        ("Привет, это страница про русский язык", "cp1251"),
        ("これは日本語のページです。東京は日本の首都です。", "shift_jis"),
    ],
)
def test_unlabelled_pages_are_guessed(text, charset):
    result = decode(page(text).encode(charset))
    assert text in result.text
    assert result.chosen_by == "guess"


def test_a_few_broken_characters_do_not_change_the_charset():
    body = (ITALIAN * 20).encode()
    result = decode(body[:200] + b"\xff" + body[200:], "text/html; charset=utf-8")
    assert result.charset == "utf-8"
    assert result.text.count("\ufffd") <= 2


def test_a_cut_in_the_middle_of_a_character_loses_only_that():
    body = ITALIAN.encode()
    cut = body[: body.index("è".encode()) + 1]
    assert decode(cut, "text/html; charset=utf-8").text == "Perché la città "


def test_utf_16_named_in_a_readable_meta_is_utf_8():
    body = page("è", '<meta charset="utf-16">').encode()
    assert "è" in decode(body).text


def test_nuls_are_removed():
    assert decode(b"a\0b", "text/html; charset=utf-8").text == "ab"


@given(st.binary(max_size=300), st.text(max_size=30))
def test_never_fails(body, label):
    result = decode(body, f"text/html; charset={label}")
    result.text.encode()
    assert "\0" not in result.text


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200))
def test_utf_8_round_trips(text):
    assert decode(text.encode(), "text/html; charset=utf-8").text == text.removeprefix("\ufeff")
