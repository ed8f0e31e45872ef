"""The sample web: what its server says, seen through a plain HTTP client."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

PAGE = """path: {path}
title: {title}
date: 2026-03-14
lang: {lang}
charset: {charset}
behaviour: {behaviour}
latency_ms: 240
template: {template}

<p>{text}</p>
"""
RESULT_FIELDS = {
    *("url", "title", "content", "engine", "engines", "parsed_url", "positions", "score"),
    *("category", "template", "publishedDate", "img_src", "thumbnail", "priority"),
}


class Reply(SimpleNamespace):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


Get = Callable[..., Reply]


def ask(port: int, target: str, method: str = "GET", body: str | None = None, **headers) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(status=answer.status, headers=found, body=answer.read())
    finally:
        connection.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., None]:
    def write(host: str, name: str, text: str, **fields: str) -> None:
        defaults = {
            "path": f"/{name}",
            "title": name,
            "lang": "en",
            "charset": "utf-8",
            "behaviour": "ok",
            "template": "plain",
        }
        folder = tmp_path / host
        folder.mkdir(exist_ok=True)
        content = PAGE.format(**{**defaults, **fields}, text=text)
        (folder / f"{name}.page").write_text(content, encoding="utf-8")

    return write


@pytest.fixture
def site(sample: SimpleNamespace, tmp_path: Path, write) -> Iterator[SimpleNamespace]:
    write("a.example", "otter", "The river otter sleeps in a holt by the river.", title="Otters")
    write("a.example", "heron", "A heron waits. The otter swims by.", template="newspaper")
    write("b.example", "weir", "The weir at Überlingen holds the river back.", charset="iso-8859-1")
    write("b.example", "quiet", "Grüße vom Wehr", behaviour="no-charset-header")
    write("b.example", "guess", "Grüße", behaviour="no-charset", charset="iso-8859-1")
    write("b.example", "moved", "gone to the otters", behaviour="redirect http://a.example/otter")
    write("b.example", "near", "gone to the weir", behaviour="redirect /weir")
    write("b.example", "gone", "An otter was here.", behaviour="status 410")
    write("b.example", "slow", "An otter never comes.", behaviour="hang")
    for number in range(12):
        write("c.example", f"reed{number}", f"reed reed bunting number {number}")
    with sample.site_server.serving(tmp_path) as server:
        yield server


@pytest.fixture
def get(site) -> Get:
    port = site.server_address[1]

    def get(url: str, **kwargs) -> Reply:
        return ask(port, url, **kwargs)

    return get


def search(get: Get, **fields: str) -> Reply:
    return get("http://searx.example/search?" + urlencode({"format": "json", **fields}))


class TestPages:
    def test_a_proxy_request_and_a_host_header_give_the_same_bytes(self, get: Get) -> None:
        through_proxy = get("http://a.example/otter")
        direct = get("/otter", Host="a.example:80")
        assert through_proxy.status == 200
        assert b"sleeps in a holt" in through_proxy.body
        assert (direct.body, direct.headers) == (through_proxy.body, through_proxy.headers)

    def test_latency_is_declared_and_no_clock_is_shown(self, get: Get, sample) -> None:
        headers = get("http://a.example/otter").headers
        assert headers["server-timing"] == "total;dur=240"
        assert headers["date"] == sample.site_server.FIXED_DATE

    @pytest.mark.parametrize(
        ("path", "content_type", "encoded", "meta"),
        [
            ("weir", "text/html; charset=iso-8859-1", "Überlingen".encode("latin-1"), True),
            ("quiet", "text/html", "Grüße".encode(), True),
            ("guess", "text/html", "Grüße".encode("latin-1"), False),
        ],
    )
    def test_charsets(self, get: Get, path, content_type, encoded, meta) -> None:
        reply = get(f"http://b.example/{path}")
        assert reply.headers["content-type"] == content_type
        assert encoded in reply.body
        assert (b"<meta charset=" in reply.body) == meta

    @pytest.mark.parametrize(
        ("path", "target"),
        [("moved", "http://a.example/otter"), ("near", "http://b.example/weir")],
    )
    def test_redirects_are_absolute(self, get: Get, path: str, target: str) -> None:
        reply = get(f"http://b.example/{path}")
        assert (reply.status, reply.headers["location"]) == (301, target)

    def test_what_is_not_there(self, get: Get) -> None:
        assert get("http://a.example/nothing").status == 404
        assert get("http://elsewhere.example/").status == 404
        gone = get("http://b.example/gone")
        assert gone.status == 410
        assert b"An otter was here" not in gone.body

    def test_a_page_that_hangs_is_let_go_when_the_server_closes(self, sample, tmp_path, write):
        write("h.example", "slow", "never", behaviour="hang")
        ended: list[BaseException] = []

        def wait(port: int) -> None:
            try:
                ask(port, "http://h.example/slow")
            except (http.client.HTTPException, ConnectionError) as error:
                ended.append(error)

        with sample.site_server.serving(tmp_path) as server:
            client = threading.Thread(target=wait, args=(server.server_address[1],))
            client.start()
            while not server.requests_seen:
                time.sleep(0.005)
            assert client.is_alive()
            started = time.monotonic()
        client.join(timeout=2)
        assert len(ended) == 1
        assert time.monotonic() - started < 2

    def test_layouts_differ_and_all_hold_title_body_and_neighbours(self, sample, tmp_path, write):
        for template in sample.site_pages.TEMPLATES:
            write("t.example", template, "The one body.", title="Tit & tat", template=template)
        pages = sample.site_pages.load_pages(tmp_path)
        documents = [sample.site_templates.render(page, pages) for page in pages]
        skeletons = {document.split("<body", 1)[1][:600] for document in documents}
        assert len(skeletons) == len(sample.site_pages.TEMPLATES) == 6
        for document in documents:
            assert "<p>The one body.</p>" in document
            assert "<h1" in document
            assert "Tit &amp; tat" in document
            assert document.count('<li><a href="/') >= 5
            assert "<script>" in document

    @pytest.mark.parametrize("template", ["newspaper", "blog", "museum", "government"])
    def test_a_date_is_told_where_this_kind_of_site_tells_it(
        self, sample, tmp_path, write, template: str
    ) -> None:
        write("t.example", "dated", "Body.", template=template)
        pages = sample.site_pages.load_pages(tmp_path)
        document = sample.site_templates.render(pages[0], pages)
        expected = {
            "newspaper": '"datePublished": "2026-03-14"',
            "blog": '<time datetime="2026-03-14">',
            "museum": "Record updated 14 March 2026",
            "government": '<meta name="DC.date" content="2026-03-14">',
        }
        assert expected[template] in document


class TestSearch:
    def test_a_reply_has_the_shape_of_searxng(self, get: Get) -> None:
        reply = search(get, q="otter river", language="en-US", pageno="1", safesearch="0")
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["server-timing"].startswith("total;dur=")
        assert set(reply.json) == {
            *("query", "results", "answers", "corrections", "infoboxes", "suggestions"),
            "unresponsive_engines",
        }
        assert reply.json["query"] == "otter river"
        for result in reply.json["results"]:
            assert set(result) >= RESULT_FIELDS
        first = reply.json["results"][0]
        assert first["url"] == "http://a.example/otter"
        assert first["parsed_url"] == ["http", "a.example", "/otter", "", "", ""]
        assert len(first["positions"]) == len(first["engines"])

    def test_scores_follow_positions_and_order_follows_scores(self, get: Get) -> None:
        results = search(get, q="otter river heron").json["results"]
        scores = [result["score"] for result in results]
        assert scores == sorted(scores, reverse=True)
        for result in results:
            places = result["positions"]
            assert result["score"] == pytest.approx(sum(len(places) / p for p in places), abs=1e-5)

    def test_newspapers_are_dated_and_plain_pages_are_not(self, get: Get) -> None:
        dates = {r["url"]: r["publishedDate"] for r in search(get, q="otter").json["results"]}
        assert dates["http://a.example/heron"] == "2026-03-14T00:00:00"
        assert dates["http://a.example/otter"] is None

    def test_restriction_to_sites(self, get: Get) -> None:
        found = search(get, q="otter river (site:b.example OR site:elsewhere.example)").json
        assert found["results"]
        assert {result["parsed_url"][1] for result in found["results"]} == {"b.example"}
        below = search(get, q="otter (site:example)").json["results"]
        assert {result["parsed_url"][1] for result in below} == {"a.example", "b.example"}

    def test_pages_of_ten(self, get: Get) -> None:
        one = search(get, q="reed bunting number 3").json["results"]
        two = search(get, q="reed bunting number 3", pageno="2").json["results"]
        assert len(one) == 10
        assert not {r["url"] for r in one} & {r["url"] for r in two}

    def test_nothing_found_is_an_empty_list_without_failures(self, get: Get) -> None:
        reply = search(get, q="zyzzyva").json
        assert (reply["results"], reply["unresponsive_engines"]) == ([], [])

    def test_some_queries_meet_engines_that_fail(self, get: Get) -> None:
        assert search(get, q="Mohs hardness").json["unresponsive_engines"] == [
            ["magpie", "timeout"]
        ]
        dead = search(get, q="Rosetta Stone otter (site:a.example)").json
        assert dead["results"] == []
        assert len(dead["unresponsive_engines"]) == 2
        assert search(get, q="Rosetta Stone otter").json["results"]

    def test_show_queries_bring_sites_of_no_use_as_entries_only(self, get: Get) -> None:
        hosts = {r["parsed_url"][1] for r in search(get, q="otter film").json["results"]}
        assert {"www.youtube.com", "www.quora.com"} <= hosts
        assert get("http://www.youtube.com/watch").status == 404

    def test_the_same_query_gives_the_same_bytes(self, get: Get) -> None:
        assert search(get, q="otter film").body == search(get, q="otter film").body

    @pytest.mark.parametrize("fields", [{"format": "html"}, {"format": "csv"}, {"format": ""}])
    def test_formats_that_are_not_on_are_forbidden(self, get: Get, fields) -> None:
        reply = search(get, q="otter", **fields)
        assert reply.status == 403
        assert b"<html>" in reply.body

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({}, "No query"),
            ({"q": " "}, "No query"),
            ({"q": "x", "language": ""}, "Empty language parameter"),
            ({"q": "x", "language": "it_IT"}, "Invalid value it_IT for parameter language"),
            ({"q": "x", "pageno": "0"}, "Invalid value 0 for parameter pageno"),
            ({"q": "x", "time_range": "hour"}, "Invalid value hour for parameter time_range"),
            ({"q": "x", "safesearch": "5"}, "Invalid value 5 for parameter safesearch"),
        ],
    )
    def test_bad_requests_are_refused_in_json(self, get: Get, fields, message: str) -> None:
        reply = search(get, **fields)
        assert (reply.status, reply.json) == (400, {"error": message})

    def test_a_form_post_and_the_other_addresses(self, get: Get) -> None:
        posted = get("http://searx.example/search", method="POST", body="q=otter&format=json")
        assert posted.json == search(get, q="otter").json
        root = get("http://searx.example/?q=otter&format=json")
        assert (root.status, root.headers["location"]) == (308, "/search?q=otter&format=json")
        assert get("http://searx.example/healthz").body == b"OK"
        assert get("http://searx.example/config").json["engines"]

    def test_a_snippet_shows_the_place_that_matches(self, sample) -> None:
        text = (
            "Filler words stand here. " * 30 + "The otter sleeps in a holt. " + "More filler. " * 30
        )
        page = sample.site_pages.parse_page(
            "s.example",
            PAGE.format(
                path="/", title="t", lang="en", charset="utf-8", behaviour="ok",
                template="plain", text=text,
            ),
        )  # fmt: skip
        index = sample.site_search.SiteSearch([page])
        snippet = index.snippet(page.text, {"otter", "holt"})
        assert "otter sleeps in a holt" in snippet
        assert snippet.startswith("… ")
        assert snippet.endswith(" …")
        assert 160 <= len(snippet) <= 240


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("path: /p", "path: p"),
        ("path: /p\n", ""),
        ("charset: utf-8", "charset: utf-16"),
        ("behaviour: ok", "behaviour: redirect"),
        ("behaviour: ok", "behaviour: status 200"),
        ("behaviour: ok", "behaviour: sleeps"),
        ("template: plain", "template: forum"),
        ("latency_ms: 240", "latency_ms: soon"),
        ("date: 2026-03-14", "date: yesterday"),
        ("lang: en", "language: en"),
        ("lang: en", "lang: en\nlang: it"),
        ("<p>Text.</p>", "<p></p>"),
        ("\n\n", "\n"),
    ],
)
def test_page_files_that_break_the_format_are_named(sample, old: str, new: str) -> None:
    good = PAGE.format(
        path="/p", title="t", lang="en", charset="utf-8", behaviour="ok", template="plain",
        text="Text.",
    )  # fmt: skip
    sample.site_pages.parse_page("x.example", good, "x.example/p.page")
    assert old in good
    with pytest.raises(sample.site_pages.PageError, match=r"x\.example/p\.page"):
        sample.site_pages.parse_page("x.example", good.replace(old, new, 1), "x.example/p.page")


def test_two_files_may_not_claim_one_address(sample, tmp_path: Path, write) -> None:
    write("x.example", "one", "Text.", path="/same")
    write("x.example", "two", "Text.", path="/same")
    with pytest.raises(sample.site_pages.PageError, match="already taken"):
        sample.site_pages.load_pages(tmp_path)
