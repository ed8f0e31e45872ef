from __future__ import annotations

import random
import unicodedata
from urllib.parse import quote, urlencode

import httpx
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.corpus import RequestPolicy, normalise_url, request_key
from harness.errors import BadInputError

SECRETS = ("key", "api_key", "token")


def key(url: str, method: str = "GET", body: bytes | None = None, **kwargs: object) -> str:
    headers = kwargs.pop("headers", {})
    return request_key(method, url, headers, body, RequestPolicy(**kwargs)).sha256  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org:443/a#part", "https://example.org/a"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:8080/", "http://example.org:8080/"),
        ("https://user:pass@example.org/", "https://example.org/"),
        ("https://example.org/%7Euser/%e4%bd%a0", "https://example.org/~user/%E4%BD%A0"),
        ("https://example.org/a%2Fb/c", "https://example.org/a%2Fb/c"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/100%", "https://example.org/100%25"),
        ("https://example.org/?", "https://example.org/"),
        ("https://example.org/?b=2&a=1&&b=1", "https://example.org/?a=1&b=1&b=2"),
        ("https://example.org/?q=a+b", "https://example.org/?q=a%20b"),
        ("https://example.org/?q=a%2Bb", "https://example.org/?q=a%2Bb"),
        ("https://example.org/?flag", "https://example.org/?flag="),
        ("https://example.org/?q=caf%E9", "https://example.org/?q=caf%E9"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://example.org/?q=e%CC%81", "https://example.org/?q=%C3%A9"),
        ("https://example.org/e\u0301", "https://example.org/%C3%A9"),
        ("https://example.org/%3D%CC%8C", "https://example.org/%3D%CC%8C"),
        ("https://[2001:DB8::1]:443/", "https://[2001:db8::1]/"),
        ("https://example.org/?api_key=1&Token=2&q=3", "https://example.org/?q=3"),
    ],
)
def test_normal_form(given_url: str, normal: str) -> None:
    assert normalise_url(given_url) == normal


def test_canonical_text_is_a_contract() -> None:
    made = request_key(
        "get",
        "https://example.org:443/search?q=rome&api_key=x",
        {"Accept-Language": "it-IT, it;q=0.7", "Cookie": "a=b"},
        b"body",
        RequestPolicy(),
    )
    assert made.canonical == (
        "hotseat-request/1\n"
        "provider: page\n"
        "GET https://example.org/search?q=rome\n"
        "accept-language: it-it,it;q=0.7\n"
        "body: 230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"
    )
    # A change here makes every corpus in the world miss.
    assert made.sha256 == "df06ac70d25f91da66011e5b5b1900727c0e1ff69e01e490a8e8a8c166ac469a"


def test_instances_of_a_search_service_are_one() -> None:
    one = key("http://127.0.0.1:8080/search?q=a", provider="searxng")
    assert one == key("https://searx.example/search?q=a", provider="searxng")
    assert one != key("https://searx.example/search?q=b", provider="searxng")
    assert one != key("https://searx.example/search?q=a", provider="brave")
    assert one != key("https://searx.example/search?q=a")


def test_volatile_and_declared_secret_parameters_are_left_out() -> None:
    plain = key("https://e.org/?q=1")
    assert plain == key(
        "https://e.org/?q=1&Pass-Code=2&_ts=3",
        secret_params=("pass_code",),
        volatile_params=("_TS",),
    )
    assert plain != key("https://e.org/?q=1&pass-code=2")


def test_a_form_is_known_by_its_pairs() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    one = key("https://e.org/", "POST", b"q=a+b&key=SECRET&z=1", headers=form)
    assert one == key("https://e.org/", "POST", b"z=1&q=a%20b&key=OTHER", headers=form)
    assert one != key("https://e.org/", "POST", b"z=2&q=a%20b", headers=form)
    assert key("https://e.org/", "POST", b"z=1&q=2") != key("https://e.org/", "POST", b"q=2&z=1")


@pytest.mark.parametrize(
    "url", ["", "example.org", "/path", "http://", "http://[::1", "http://e:x/"]
)
def test_what_is_no_url_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(BadInputError, match="URL"):
        normalise_url(url)


def test_unknown_providers_are_refused() -> None:
    for name in ("", "http", "https", "Searx", "a b", "x/y"):
        with pytest.raises(ValueError, match="provider"):
            RequestPolicy(provider=name)


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)
names = st.text("abcdefghij-_.é~", min_size=1, max_size=6)
pairs = st.lists(st.tuples(names, texts), max_size=6)
paths = st.one_of(
    texts.map(lambda text: quote(text, safe="/")),
    st.text('abc/%2Fé\u0301=<(é ~"\\^|', max_size=15),
    st.lists(
        st.sampled_from(["%E9", "%CC%81", "e", "%3D", "%2f", "=", "\u0338", "<", "%", "é"])
    ).map("".join),
)


@given(path=paths, query=st.one_of(pairs.map(urlencode), st.text(max_size=20), paths))
@example(path="<\u0338", query="")
@example(path="%", query="%=%&+&=")
def test_normalising_twice_changes_nothing(path: str, query: str) -> None:
    query = query.replace("#", "")
    path = path.replace("#", "").replace("?", "")
    normal = normalise_url(f"https://Example.org/{path}?{query}")
    assert normalise_url(normal) == normal
    assert normal.isascii()
    assert normal.isprintable()
    assert " " not in normal


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_parameters_does_not_matter(
    found: list[tuple[str, str]], dice: random.Random
) -> None:
    shuffled = list(found)
    dice.shuffle(shuffled)
    one, other = (f"https://e.org/?{urlencode(order)}" for order in (found, shuffled))
    assert key(one) == key(other)


@given(pairs, names, texts, texts)
def test_the_value_of_a_parameter_matters(
    found: list[tuple[str, str]], name: str, one: str, other: str
) -> None:
    assume(unicodedata.normalize("NFC", one) != unicodedata.normalize("NFC", other))
    left, right = (urlencode([*found, (name, value)]) for value in (one, other))
    assert key(f"https://e.org/?{left}") != key(f"https://e.org/?{right}")


@given(pairs, st.sampled_from(SECRETS), texts)
def test_secrets_never_matter_and_never_show(
    found: list[tuple[str, str]], name: str, value: str
) -> None:
    plain = f"https://e.org/?{urlencode(found)}"
    secret = f"https://e.org/?{urlencode([(name, f'§{value}§'), *found])}"
    assert request_key("GET", plain, {}, None) == request_key("GET", secret, {}, None)


@given(st.text("abcdeTI-*;=0.9, ", max_size=10), st.binary(max_size=8), st.binary(max_size=8))
def test_language_and_body_matter(language: str, one: bytes, other: bytes) -> None:
    plain = request_key("GET", "https://e.org/", {}, None)
    spoken = request_key("GET", "https://e.org/", {"accept-language": language}, None)
    assert (plain.sha256 == spoken.sha256) == (not language.replace(" ", ""))
    bodies = [request_key("POST", "https://e.org/", {}, body).sha256 for body in (one, other)]
    assert (bodies[0] == bodies[1]) == (one == other)


@given(paths, pairs)
@example(path="<\u0338", found=[])
@example(path="=\u0338", found=[])
def test_both_spellings_of_a_request_agree(path: str, found: list[tuple[str, str]]) -> None:
    """What httpx makes of an address has the key of the address."""
    address = f"https://Exämple.org/{path.replace('#', '').replace('?', '')}?{urlencode(found)}"
    try:
        sent = httpx.URL(address)
    except httpx.InvalidURL:
        assume(False)
    assume("/." not in address)  # httpx resolves these, as every client does
    assert normalise_url(str(sent)) == normalise_url(address)
