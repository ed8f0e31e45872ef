import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import SearchFailedError
from harness.web._searxng_reply import parse_reply, plain_text


def read(results=(), **fields):
    body = {"query": "q", "results": list(results), **fields}
    return parse_reply(json.dumps(body).encode(), "broad")


def test_a_full_result():
    hits, failed = read(
        [
            {
                "url": "https://kestrel.example/a",
                "title": "Kestrels &amp; hawks",
                "content": "The <b>common kestrel</b>\n hovers: 3 < 4.",
                "publishedDate": "2024-03-05T00:00:00",
                "engine": "one",
                "engines": ["two", "one"],
                "score": 4.0,
                "parsed_url": ["https", "kestrel.example", "/a", "", "", ""],
            }
        ]
    )
    (hit,) = hits
    assert hit.title == "Kestrels & hawks"
    assert hit.snippet == "The common kestrel hovers: 3 < 4."
    assert hit.date == "2024-03-05"
    assert hit.engines == ("one", "two")
    assert hit.queries == ("broad",)
    assert failed == ()


def test_a_sparse_result():
    (hit,), _ = read([{"url": "http://a.example/", "engine": "one", "publishedDate": None}])
    assert (hit.title, hit.snippet, hit.date, hit.engines) == ("", "", None, ("one",))


def test_an_older_server_writes_the_date_elsewhere():
    (hit,), _ = read([{"url": "http://a.example/", "pubdate": "5 March 2024"}])
    assert hit.date == "5 March 2024"


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"url": None},
        {"url": 5},
        {"url": "ftp://a.example/"},
        {"url": "javascript:alert(1)"},
        {"url": "https://"},
        {"url": "https://a.example/" + "x" * 3_000},
        {"url": "https://a.example/\ud800"},
        {"url": "https://\udfff.example/"},
        "text",
        None,
        ["https://a.example/"],
    ],
)
def test_results_without_a_page_are_left_out(result):
    hits, _ = read([result, {"url": "https://kept.example/"}])
    assert [hit.url for hit in hits] == ["https://kept.example/"]


@pytest.mark.parametrize("wrong", [None, 5, True, [], {}, ["x"], {"a": 1}])
def test_fields_of_another_type_are_as_good_as_absent(wrong):
    result = dict.fromkeys(("title", "content", "publishedDate", "pubdate", "engine"), wrong)
    hits, failed = read(
        [{"url": "https://a.example/", **result, "engines": wrong}],
        answers=wrong,
        infoboxes=wrong,
        unresponsive_engines=[] if isinstance(wrong, list) else wrong,
    )
    assert hits[-1].url == "https://a.example/"
    assert hits[-1].title == ""
    assert failed == ()


def test_answers_may_be_texts_or_objects():
    hits, _ = read(
        answers=[
            "42",
            {"answer": "Rome", "url": "https://r.example/", "engine": "e"},
            {"url": "x"},
            7,
        ]
    )
    assert [(hit.url, hit.snippet) for hit in hits] == [("", "42"), ("https://r.example/", "Rome")]


def test_an_infobox_is_a_hit_with_its_facts():
    hits, _ = read(
        [{"url": "https://a.example/"}],
        infoboxes=[
            {
                "infobox": "Kestrel",
                "id": "Q131",
                "content": "A bird.",
                "urls": [{"title": "site", "url": "https://w.example/Kestrel"}],
                "attributes": [
                    {"label": "Wingspan", "value": "70 cm"},
                    {"label": "Image"},
                    {"label": "Order", "value": "Falconiformes"},
                ],
                "engine": "wiki",
            }
        ],
    )
    assert hits[0].url == "https://w.example/Kestrel"
    assert hits[0].title == "Kestrel"
    assert hits[0].snippet == "A bird. Wingspan: 70 cm; Order: Falconiformes"
    assert hits[1].url == "https://a.example/"


def test_nothing_found_and_nobody_failed_is_nothing_found():
    assert read() == ((), ())


def test_nothing_found_because_engines_failed_is_a_failure():
    with pytest.raises(SearchFailedError, match=r"Every engine.* failed: brave, bing") as caught:
        read(unresponsive_engines=[["brave", "Zugriff verweigert"], ["bing", "timeout"]])
    assert caught.value.remedy


def test_some_engines_failed():
    hits, failed = read(
        [{"url": "https://a.example/"}],
        unresponsive_engines=[["brave", "x"], "bing", [], {"odd": 1}, ["duck", "x", 3]],
    )
    assert len(hits) == 1
    assert failed == ("brave", "bing", "an engine", "duck")


def test_many_failed_engines_are_named_once_and_only_a_few_of_them():
    engines = [[f"engine {number % 8}", "timeout"] for number in range(400)]
    with pytest.raises(SearchFailedError) as caught:
        read(unresponsive_engines=engines)
    assert caught.value.message.endswith(
        " failed: engine 0, engine 1, engine 2, engine 3, engine 4 and 3 more."
    )


def test_a_number_too_long_to_read_is_no_character():
    assert plain_text(f"a&#{'1' * 5_000};b &#65;", 2_000) == "a\ufffdb A"
    (hit,), _ = read([{"url": "http://a.example/", "content": f"&#{'9' * 7_000};"}])
    assert hit.snippet == "\ufffd"


def test_an_engine_without_a_name_is_none():
    (hit,), _ = read([{"url": "http://a.example/", "engines": ["", " ", "one", None]}])
    assert hit.engines == ("one",)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b'{"results": [',
        b"[" * 100_000,
        b"[]",
        b"null",
        b'"results"',
        b"{}",
        b'{"results": null}',
        b'{"results": {"url": "x"}}',
    ],
)
def test_anything_else_is_a_failure_in_one_sentence(body):
    with pytest.raises(SearchFailedError, match="JSON") as caught:
        parse_reply(body, "broad")
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message


def test_texts_are_bounded():
    assert len(plain_text("x" * 10_000_000, 300)) == 300
    assert plain_text("a\ud800b", 10) == "a?b"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # with half characters
ADDRESS = ANY_TEXT.map("http://a.example/{}".format)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT | ADDRESS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = ("results", "answers", "infoboxes", "unresponsive_engines", "url", "content", "title")


@given(
    st.dictionaries(
        st.sampled_from(FIELDS), JSON | st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON))
    )
)
def test_any_json_is_read_or_refused(reply):
    try:
        hits, _ = parse_reply(json.dumps(reply).encode(), "broad")
    except SearchFailedError:
        return
    for hit in hits:
        assert hit.url == "" or hit.url.startswith(("http", "HTTP"))
        assert isinstance(hit.snippet, str)
        texts = (hit.url, hit.title, hit.snippet, hit.date or "", *hit.engines)
        "".join(texts).encode()  # nothing that no file could hold
