import asyncio
import time

import httpx
import pytest

from harness.corpus import live_tape
from harness.settings import FetchSettings
from harness.trace import Code
from harness.web.domains import BLOCKED
from harness.web.fetch import content_kind, fetch_page, fetch_pages

HOST = "pages.example"


@pytest.fixture
def fetch(site):
    """Return a function that fetches paths of one host, all at once, through the site."""

    def get(*paths, **options):
        settings = FetchSettings(**{"timeout_s": 5.0, **options})
        urls = [path if "//" in path else f"http://{HOST}{path}" for path in paths]

        async def work():
            inner = httpx.AsyncHTTPTransport(proxy=site.url, verify=False)
            try:
                return await fetch_pages(
                    live_tape(inner), urls, settings, language="it-IT", blocked=BLOCKED
                )
            finally:
                await inner.aclose()

        pages = asyncio.run(work())
        return pages[0] if len(pages) == 1 else pages

    return get


@pytest.fixture
def put(site, web):
    def add(path, *args, host=HOST, **options):
        site.pages[f"{host}{path}"] = web.Reply(*args, **options)

    return add


def test_a_page_comes_with_what_is_known_of_it(fetch, put, site):
    put("/a", "<p>Città</p>".encode("latin-1"), type="text/html; charset=iso-8859-1")
    page = fetch("/a")
    assert page.body == "<p>Città</p>".encode("latin-1")
    assert page.content_type == "text/html; charset=iso-8859-1"
    assert (page.status, page.failure, page.code) == (200, None, None)
    assert not page.recorded
    assert page.elapsed_s > 0
    sent = site.headers[0]
    assert sent["Accept-Language"] == "it-IT"
    assert "Hotseat" in sent["User-Agent"]
    assert "Cookie" not in sent


def test_pages_come_in_the_order_asked_for(fetch, put):
    put("/slow", b"s", type="text/plain", pause_s=0.2)
    put("/fast", b"f", type="text/plain")
    assert [page.body for page in fetch("/slow", "/fast", "/slow")] == [b"s", b"f", b"s"]


def test_no_pages_are_no_pages(fetch):
    assert fetch() == ()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(fetch, put, status):
    put("/old", "moved", status=status, headers={"Location": "../new?x=1#there"})
    put("/new", "<p>here</p>")
    page = fetch("/old")
    assert page.body == b"<p>here</p>"
    assert page.final_url == f"http://{HOST}/new?x=1"
    assert page.redirects == 1


def test_redirects_are_counted(fetch, put, site):
    for number in range(4):
        put(f"/{number}", "", status=302, headers={"Location": f"/{number + 1}"})
    put("/4", "<p>end</p>")
    assert fetch("/0", max_redirects=4).failure is None
    site.requests.clear()
    page = fetch("/0", max_redirects=3)
    assert page.failure == "redirects more than 3 times"
    assert len(site.requests) == 4
    assert fetch("/0", max_redirects=0).failure == "redirects more than 0 times"


def test_a_circle_of_redirects_is_left_at_once(fetch, put, site):
    put("/a", "", status=302, headers={"Location": "/b"})
    put("/b", "", status=302, headers={"Location": "/a"})
    page = fetch("/a")
    assert page.failure == "redirects in a circle"
    assert page.code is Code.PAGE_FAILED
    assert len(site.requests) == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://127.0.0.1/secret", "private address"),
        ("http://169.254.169.254/latest/meta-data/", "private address"),
        ("http://[::ffff:10.0.0.1]/", "private address"),
        ("http://localhost:8080/", "private host"),
        ("file:///etc/passwd", "not an http"),
        ("https://www.youtube.com/watch?v=1", "unsuitable kind (video)"),
        ("http://[bad", "has no proper host"),
        ("http://x:y/", "can't be read"),
        ("//", "circle"),
    ],
)
def test_a_redirect_does_not_lead_where_a_page_may_not_be(fetch, put, site, target, words):
    put("/out", "", status=302, headers={"Location": target})
    page = fetch("/out")
    assert words in page.failure
    assert page.code is Code.PAGE_FAILED
    assert len(site.requests) == 1


def test_a_private_first_address_is_not_asked_for(fetch, site):
    page = fetch("http://127.0.0.1:9/", "http://10.0.0.1/")[0]
    assert page.failure == "is a private address"
    assert site.requests == []


def test_allowed_hosts_are_asked(fetch, put):
    put("/a", "<p>x</p>", host="127.0.0.1")
    assert fetch("http://127.0.0.1/a", allow_hosts=("127.0.0.1",)).body == b"<p>x</p>"


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "answered HTTP 404 Not Found"), (500, "answered HTTP 500"), (599, "answered HTTP 599")],
)
def test_error_pages_are_failures(fetch, put, status, words):
    put("/a", "<p>An error page with text</p>", status=status)
    page = fetch("/a")
    assert page.failure.startswith(words)
    assert page.status == status
    assert page.body == b""


def test_a_redirect_to_nowhere_is_a_failure(fetch, put):
    put("/a", "<p>x</p>", status=302)
    assert fetch("/a").failure == "answered HTTP 302 Found"


@pytest.mark.parametrize("body", [b"", b" \r\n\t"])
def test_an_empty_page_is_a_failure(fetch, put, body):
    put("/a", body)
    assert fetch("/a").failure == "is empty"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"%PDF-1.7 x", "application/pdf", "is a PDF file"),
        (b"%PDF-1.7 x", "text/html", "is a PDF file"),
        (b"\x89PNG\r\n\x1a\n", "image/png", "is an image"),
        (b"GIF89a", "text/html", "is an image"),
        (b"\x00\x01\x02\x03" * 50, "text/html", "is a binary file"),
        (b"PK\x03\x04...", "application/octet-stream", "is an archive or an office document"),
        (b'{"a": 1}', "application/json", "is no page of text (application/json)"),
        (b"body { color: red }", "text/css", "is no page of text (text/css)"),
        (b"<rss><channel/></rss>", "application/xml", "is no page of text (application/xml)"),
    ],
)
def test_what_is_no_text_is_refused_by_name(fetch, put, body, kind, words):
    put("/a", body, type=kind)
    assert fetch("/a").failure == words


@pytest.mark.parametrize(
    ("content_type", "body", "plain"),
    [
        ("text/html; charset=utf-8", b"<p>x", False),
        ("TEXT/HTML", b"x", False),
        ("application/xhtml+xml", b"<html/>", False),
        ("text/plain", b"<html> as text", True),
        ("", b"<!DOCTYPE html><p>x", False),
        ("", b"just words", True),
        ("application/octet-stream", b"\n <HTML>", False),
        ("application/xml", b"<?xml?><html xmlns='x'>", False),
        ("text/html; charset=utf-16", b"\xff\xfe<\x00p\x00>\x00", False),
    ],
)
def test_what_is_text_is_told_apart(content_type, body, plain):
    assert content_kind(content_type, body) == (plain, None)


def test_only_the_first_bytes_of_a_huge_page_are_read(fetch, put):
    put("/huge", b"<p>start", endless=b"x" * 65_536)
    started = time.monotonic()
    page = fetch("/huge", max_bytes=10_000)
    assert page.truncated
    assert len(page.body) == 10_000
    assert page.failure is None
    assert time.monotonic() - started < 4


def test_a_byte_now_and_then_does_not_hold_the_limit_off(fetch, put):
    put("/drip", b"<p>" + b"x" * 1_000, pause_s=0.05)
    started = time.monotonic()
    page = fetch("/drip", timeout_s=0.3)
    assert page.failure == "timed out"
    assert time.monotonic() - started < 2


def test_all_hops_share_one_time_limit(site, web):
    """Each hop takes half a second of a second: the third can't be had any more."""

    class Slow(httpx.AsyncBaseTransport):
        def __init__(self):
            self.limits = []

        async def handle_async_request(self, request):
            policy = request.extensions["hotseat"]
            self.limits.append(round(policy.total_s, 3))
            from harness.corpus import Outcome

            request.extensions["hotseat_outcome"] = Outcome(True, 0.5, False, "k", 0, None, None)
            number = len(self.limits)
            return httpx.Response(302, headers={"Location": f"http://{HOST}/{number}"})

    transport = Slow()
    page = asyncio.run(
        fetch_page(
            transport,
            f"http://{HOST}/",
            FetchSettings(timeout_s=1.0),
            language="en",
            blocked=BLOCKED,
        )
    )
    assert transport.limits == [1.0, 0.5]
    assert page.failure == "timed out"
    assert page.elapsed_s == 1.0
    assert page.recorded


def test_a_connection_that_breaks_off_is_a_failure_in_words(fetch, put):
    put("/drop", drop=True)
    assert fetch("/drop").failure == "broke the connection off"


def test_compressed_pages_are_unpacked(fetch, put):
    import gzip

    put("/z", gzip.compress(b"<p>packed</p>"), headers={"Content-Encoding": "gzip"})
    put("/bad", b"no gzip at all", headers={"Content-Encoding": "gzip"})
    good, bad = fetch("/z", "/bad")
    assert good.body == b"<p>packed</p>"
    assert bad.failure == "sent compressed content that is broken"


def test_a_server_that_is_down_is_a_failure_in_words(site):
    async def work():
        inner = httpx.AsyncHTTPTransport()
        try:
            return await fetch_page(
                live_tape(inner),
                "http://127.0.0.1:1/",
                FetchSettings(allow_hosts=("127.0.0.1",)),
                language="en",
                blocked=BLOCKED,
            )
        finally:
            await inner.aclose()

    assert asyncio.run(work()).failure == "could not be reached"


@pytest.mark.parametrize(
    "url", ["http://", "http://[", "not a url", "http://a b/", "http://x:99999/"]
)
def test_broken_addresses_are_failures(fetch, url):
    page = asyncio.run(fetch_page(None, url, FetchSettings(), language="en", blocked=BLOCKED))
    assert page.failure
    assert page.code is Code.PAGE_FAILED
