import asyncio
import base64
import json

import httpx
import pytest

from harness.corpus import live_tape
from harness.errors import SettingError
from harness.settings import SearchSettings
from harness.trace import Code
from harness.web import searxng
from harness.web.searxng import search, search_address


@pytest.fixture
def ask(site):
    def run(query="moon", **options):
        settings = SearchSettings(**{"url": site.url, "timeout_s": 5.0, **options})

        async def work():
            inner = httpx.AsyncHTTPTransport(verify=False)
            try:
                return await search(live_tape(inner), "broad", query, settings)
            finally:
                await inner.aclose()

        return asyncio.run(work())

    return run


def test_the_request_is_one_that_a_server_accepts(ask, site, web):
    site.search = lambda query: web.found(web.result("https://a.example/", "A"))
    outcome = ask("la luna (site:a.example OR site:b.example)", language="it-IT")
    assert outcome.failure is None
    (request,) = site.requests
    params = dict(httpx.QueryParams(request.partition("?")[2]))
    assert params == {
        "q": "la luna (site:a.example OR site:b.example)",
        "format": "json",
        "language": "it-IT",
        "pageno": "1",
        "safesearch": "0",
    }
    # What the server's bot limiter looks at.
    (headers,) = site.headers
    assert "text/html" in headers["Accept"]
    assert "gzip" in headers["Accept-Encoding"]
    assert headers["Accept-Language"] == "it-IT"
    assert not headers["User-Agent"].lower().startswith("python")


def test_hits_and_seconds_come_back(ask, site, web):
    site.search = lambda query: web.found(
        web.result("https://a.example/", "A", "about a"), failed=[["dark", "timeout"]]
    )
    outcome = ask()
    assert [hit.url for hit in outcome.hits] == ["https://a.example/"]
    assert outcome.failed_engines == ("dark",)
    assert outcome.elapsed_s > 0
    assert not outcome.recorded


def test_nothing_found_is_no_failure(ask, site, web):
    site.search = lambda query: web.found()
    outcome = ask()
    assert (outcome.hits, outcome.failure, outcome.code) == ((), None, None)


def test_nothing_found_because_all_engines_failed_is_one(ask, site, web):
    site.search = lambda query: web.found(failed=[["dark", "Suspended"], ["dim", "timeout"]])
    outcome = ask()
    assert outcome.code is Code.SEARCH_FAILED
    assert "dark, dim" in outcome.failure


@pytest.mark.parametrize(
    ("reply", "words", "remedy"),
    [
        (
            {"status": 403, "body": "<h1>Forbidden</h1>"},
            "refuses to answer in JSON",
            "search.formats",
        ),
        ({"status": 429, "body": "Too Many Requests"}, "limits requests", "limiter"),
        (
            {
                "status": 400,
                "type": "application/json",
                "body": json.dumps({"error": "Invalid value it_IT for parameter language"}),
            },
            "refused the request: Invalid value it_IT for parameter language (HTTP 400)",
            "",
        ),
        ({"status": 400, "body": "<html>"}, "no reason given (HTTP 400)", ""),
        ({"status": 500, "type": "application/json", "body": "{}"}, "failed (HTTP 500)", "log"),
        ({"status": 502, "body": "<html>"}, "failed (HTTP 502)", "log"),
        ({"status": 302, "headers": {"Location": "/login"}}, "redirects elsewhere", "search.url"),
        ({"body": "<!doctype html><p>results"}, "a web page instead of JSON", "search.formats"),
        (
            {"type": "text/plain", "body": "  <html>"},
            "a web page instead of JSON",
            "search.formats",
        ),
        ({"type": "application/json", "body": "{oops"}, "JSON that can't be read", ""),
        ({"type": "application/json", "body": "[1]"}, "no search reply", "SearXNG"),
        ({"type": "application/json", "body": ""}, "JSON that can't be read", ""),
        ({"drop": True}, "broke the connection off", "Start a SearXNG"),
    ],
)
def test_every_other_reply_is_a_failure_with_a_remedy(ask, site, web, reply, words, remedy):
    site.search = lambda query: web.Reply(**reply)
    outcome = ask()
    assert outcome.code is Code.SEARCH_FAILED
    assert words in outcome.failure
    assert outcome.failure.endswith(".")
    assert remedy in outcome.remedy
    assert outcome.hits == ()
    assert str(site.port) not in outcome.failure  # the same words on another machine


def test_an_oversized_reply_is_refused(ask, site, web, monkeypatch):
    monkeypatch.setattr(searxng, "MAX_REPLY_BYTES", 2_000)
    site.search = lambda query: web.Reply(
        '{"results": [', type="application/json", endless=b" " * 1_000
    )
    assert "more than 2000 bytes" in ask().failure


def test_a_slow_server_times_out(ask, site, web):
    site.search = lambda query: web.Reply("{" * 500, type="application/json", pause_s=0.05)
    assert ask(timeout_s=0.3).failure == "The search server timed out."


def test_a_server_that_is_not_there(ask):
    outcome = ask(url="http://127.0.0.1:1")
    assert outcome.failure == "The search server could not be reached."
    assert "--server" in outcome.remedy


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/search"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/search"),
        ("HTTPS://searx.example/search", "https://searx.example/search"),
        ("https://example.org/searxng/", "https://example.org/searxng/search"),
        ("http://[::1]:8080/", "http://[::1]:8080/search"),
    ],
)
def test_the_address_may_be_written_in_many_ways(url, address):
    assert search_address(url) == (address, {})


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://x", "http://", "http://[x", "http://a:b"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(SettingError, match=r"search\.url"):
        search_address(url)


@pytest.mark.parametrize("more", ["?key=s3cret", "/search?q=s3cret", "/#s3cret"])
def test_an_address_with_a_query_is_refused_and_not_quoted(more):
    with pytest.raises(SettingError, match=r"search\.url has a query") as caught:
        search_address(f"http://a.example{more}")
    assert "s3cret" not in str(caught.value)


def test_a_login_travels_in_a_header_only(ask, site, web):
    site.search = lambda query: web.found()
    ask(url=f"http://me:s3cret@127.0.0.1:{site.port}")
    assert "s3cret" not in site.requests[0]
    expected = base64.b64encode(b"me:s3cret").decode()
    assert site.headers[0]["Authorization"] == f"Basic {expected}"
