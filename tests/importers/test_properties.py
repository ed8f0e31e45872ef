import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HotseatError
from harness.importers import FORMATS, guess_format
from harness.importers._collect import Collector
from harness.importers._text import clean_text, decode, read_lines
from harness.question_file import dump_question, parse_question
from harness.quiz import Category

PIECES = [
    b"#Q ",
    b"^ ",
    b"A ",
    b"B ",
    b"\n",
    b"\r",
    b"\r\n",
    b",",
    b";",
    b'"',
    b"question,A,B,answer\n",
    b"label",
    b'{"results": [',
    b'{"question": "Q", "correct_answer": "a", "incorrect_answers": ["b"]}',
    b'"category": "news"',
    b"]}",
    b"\xe2\x80?",
    b"\xe4",
    b"\0",
    b"0",
    b"4",
    "ﬁ\u0301\u202e".encode(),
]
noise = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=40).map(b"".join)


@pytest.mark.parametrize("name", FORMATS)
@given(content=noise)
def test_arbitrary_bytes_never_crash_an_importer(name, content):
    collector = Collector(Category.NEWS)
    with suppress(HotseatError):
        for item in FORMATS[name].read(io.BytesIO(content), "history"):
            collector.take(item)
    for question in collector.questions:
        line = dump_question(question)
        assert parse_question(line.encode()) == question
        assert "\n" not in line
    assert collector.read == len(collector.questions) + collector.refused.total()


@given(noise)
def test_guessing_gives_a_format_or_one_sentence(content):
    with suppress(HotseatError):
        assert guess_format(content, "f") in FORMATS


@given(st.text())
def test_cleaning_is_idempotent_and_printable(text):
    clean = clean_text(text)
    assert clean_text(clean) == clean
    clean.encode()  # storable: no half surrogate pair is left
    assert not any(ord(char) < 32 or char in "\u202e\ufeff\u00ad" for char in clean)


@given(st.text())
def test_utf8_is_read_as_it_is(text):
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return
    assert decode(raw) == (text, True)


@given(st.binary(max_size=300))
def test_every_byte_is_some_character(raw):
    text, plain = decode(raw)
    text.encode()
    assert plain is _is_utf8(raw)


def _is_utf8(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b and b"\r" not in b)))
def test_lines_come_back_whatever_ends_them(lines):
    for end in (b"\n", b"\r\n", b"\r"):
        content = b"".join(line + end for line in lines)
        found = list(read_lines(io.BytesIO(content)))
        expected = [
            line.removeprefix(b"\xef\xbb\xbf") if n == 0 else line for n, line in enumerate(lines)
        ]
        assert found == list(enumerate(expected, start=1))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [65_533, 65_534, 65_535, 65_536, 65_537, 131_072, 500_000])
def test_lines_around_the_chunk_and_the_limit(size, end):
    content = b"x" * size + end + b"next" + end
    (one, first), (two, second) = read_lines(io.BytesIO(content))
    assert (one, two, second) == (1, 2, b"next")
    assert first == (b"x" * size if size <= 65_536 else None)


@given(st.dictionaries(st.sampled_from(["question", "type", "category", "difficulty"]), st.text()))
def test_odd_trivia_items(fields):
    item = {"correct_answer": "a", "incorrect_answers": ["b"], "question": "Q?"} | fields
    collector = Collector(Category.NEWS)
    for found in FORMATS["opentdb"].read(io.BytesIO(json.dumps([item]).encode()), "f"):
        collector.take(found)
    assert collector.read == 1
