import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.evidence import SearchHit
from harness.web.domains import BLOCKED
from harness.web.merge import merge_hits, url_key


def hit(url, snippet="", *, title="", date=None, engines=(), query="broad"):
    return SearchHit(url, title, snippet, date, engines, (query,))


def merged(*lists, trusted=(), limit=10):
    return merge_hits(lists, trusted=trusted, blocked=BLOCKED, limit=limit)


@pytest.mark.parametrize(
    "other",
    [
        "http://example.org/a",
        "https://www.example.org/a/",
        "https://EXAMPLE.org:443/a#part",
        "https://example.org/a?utm_source=x&utm_medium=y&fbclid=z",
        "https://example.org/%61",
    ],
)
def test_one_page_has_one_key(other):
    assert url_key(other) == url_key("https://example.org/a")


@pytest.mark.parametrize(
    "other",
    [
        "https://example.org/A",
        "https://example.org/a?id=1",
        "https://example.org:8443/a",
        "https://sub.example.org/a",
        "https://example.org/a/b",
    ],
)
def test_other_pages_have_other_keys(other):
    assert url_key(other) != url_key("https://example.org/a")


def test_parameters_are_compared_whatever_their_order():
    assert url_key("http://a.org/?b=2&a=1") == url_key("http://a.org/?a=1&b=2")


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # with half characters


@given(st.sampled_from(["", "http://", "http://a.org/", "https://a.org/?"]), ANY_TEXT, ANY_TEXT)
@example("http://a.org/", "\ud800", "")
@example("http://a.org/?", "\ud800=", "\udfff")
def test_any_text_has_a_key(start, middle, end):
    url = f"{start}{middle}{end}"
    assert url_key(url) == url_key(url)
    merged([hit(url)])


def test_half_characters_make_other_pages():
    assert url_key("http://a.org/\ud800") != url_key("http://a.org/\ud801")


def test_doubles_join_and_keep_their_provenance():
    result = merged(
        [hit("https://a.org/x", "short", title="T", engines=("one",))],
        [
            hit(
                "http://www.a.org/x/",
                "a longer snippet",
                date="2024-01-02",
                engines=("two", "one"),
                query="trusted",
            )
        ],
    )
    (only,) = result.hits
    assert only.url == "https://a.org/x"
    assert only.snippet == "a longer snippet"
    assert only.title == "T"
    assert only.date == "2024-01-02"
    assert only.engines == ("one", "two")
    assert only.queries == ("broad", "trusted")


def test_addresses_are_asked_for_without_what_only_tracks():
    urls = [
        "https://a.org/%61?b=%20&utm_source=x&a=1&gclid=y#part",
        "https://b.org/?UTM_MEDIUM=x",
        "https://c.org/x/?q=utm_source",
        "http://[broken",
    ]
    result = merged([hit(url) for url in urls])
    assert [found.url for found in result.hits] == [
        "https://a.org/%61?b=%20&a=1",
        "https://b.org/",
        "https://c.org/x/?q=utm_source",
        "http://[broken",
    ]


def test_trusted_sites_come_first_then_agreement():
    result = merged(
        [hit("https://b.org/1"), hit("https://both.org/"), hit("https://t.org/late")],
        [hit("https://both.org/")],
        trusted=("t.org",),
    )
    assert [found.url for found in result.hits] == [
        "https://t.org/late",
        "https://both.org/",
        "https://b.org/1",
    ]
    assert [found.trusted for found in result.hits] == [True, False, False]
    assert [found.rank for found in result.hits] == [0, 1, 2]


def test_a_lookalike_is_not_trusted():
    result = merged([hit("https://nott.org/")], trusted=("t.org",))
    assert not result.hits[0].trusted


def test_unsuitable_sites_are_dropped_and_counted():
    result = merged(
        [hit("https://youtube.com/1"), hit("https://youtu.be/2"), hit("https://a.org/")],
        [hit("https://quora.com/3")],
    )
    assert [found.url for found in result.hits] == ["https://a.org/"]
    assert result.dropped == {"question-and-answer": 1, "video": 2}


def test_a_list_votes_once_for_a_page():
    repeated = [hit("https://a.org/first"), hit("https://z.org/"), hit("https://z.org/#again")]
    assert merged(repeated).hits[0].url == "https://a.org/first"


def test_answers_without_an_address_stay_apart():
    result = merged([hit("", "42"), hit("", "43"), hit("", "42")])
    assert [found.snippet for found in result.hits] == ["42", "43"]


def test_the_limit_cuts_the_end():
    hits = [hit(f"https://a.org/{number}") for number in range(30)]
    assert [found.url for found in merged(hits, limit=3).hits] == [
        f"https://a.org/{number}" for number in range(3)
    ]


def test_ties_do_not_depend_on_the_order_of_lists():
    lists = [[hit("https://b.org/")], [hit("https://a.org/")], [hit("https://c.org/")]]
    orders = {
        tuple(found.url for found in merged(*order).hits) for order in itertools.permutations(lists)
    }
    assert orders == {("https://a.org/", "https://b.org/", "https://c.org/")}


URLS = st.sampled_from([f"https://{host}.org/{path}" for host in "abc" for path in "xyz"])


@given(st.lists(st.lists(URLS, max_size=8), max_size=3), st.integers(1, 5))
def test_ranks_are_places_and_no_page_comes_twice(lists, limit):
    result = merged(
        *[[hit(url) for url in urls] for urls in lists], trusted=("b.org",), limit=limit
    )
    keys = [url_key(found.url) for found in result.hits]
    assert len(set(keys)) == len(keys) <= limit
    assert [found.rank for found in result.hits] == list(range(len(keys)))
    flags = [found.trusted for found in result.hits]
    assert flags == sorted(flags, reverse=True)
