"""The sample web on one loopback port: a forward proxy for all of its hosts.

Run ``python datasets/sample/site_server.py --port 8899`` and set a browser's
or a program's HTTP proxy to it; or send requests straight to the port with a
``Host`` header.  Answers are the same bytes every time: no clock is read, and
``Server-Timing: total;dur=…`` declares the milliseconds that the page is said
to take, so that a recording of it can be repeated exactly.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from site_pages import SITE, Page, load_pages
from site_search import ENGINES, SiteSearch, noise
from site_templates import error_page, render

SEARCH_HOST = "searx.example"
FIXED_DATE = "Sun, 01 Nov 2026 09:00:00 GMT"
_LANGUAGE = re.compile(r"all|auto|[a-z]{2,3}(-[a-zA-Z]{2})?")
_MAX_FORM_BYTES = 64_000


class SampleServer(ThreadingHTTPServer):
    """All hosts of the sample web behind one port.

    ``requests_seen`` lists what was asked for as ``"GET http://host/path"``, in
    order of arrival.
    """

    daemon_threads = True

    def __init__(self, pages: list[Page], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.pages = {page.url: page for page in pages}
        self.rendered = {page.url: render(page, pages) for page in pages}
        self.search = SiteSearch(pages)
        self.requests_seen: list[str] = []
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def proxy_url(self) -> str:
        """The address to give to a client as its HTTP proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that closing the server can end it."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close(self) -> None:
        """Stop serving; pages that hang and idle connections are let go at once."""
        self.closing.set()
        self.shutdown()
        with self._lock:
            waiting = list(self._open)
        for connection in waiting:
            with contextlib.suppress(OSError):  # the client may have left already
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers for a page or for the search, by the host that is asked."""

    protocol_version = "HTTP/1.1"
    server: SampleServer
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request."""
        host, path, query = self._where()
        self.server.requests_seen.append(f"{self.command} http://{host}{path}")
        if host == SEARCH_HOST:
            self._search(path, query)
        else:
            self._page(f"http://{host}{path}" + (f"?{query}" if query else ""))

    do_POST = do_GET  # noqa: N815
    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def _where(self) -> tuple[str, str, str]:
        parts = urlsplit(self.path)
        host = parts.netloc or self.headers.get("Host", "")
        return host.partition(":")[0].lower(), parts.path or "/", parts.query

    def _send(
        self,
        status: int,
        body: bytes,
        content_type: str,
        *,
        latency_ms: int = 20,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.send_response_only(status)
        self.send_header("Server", "sample-web")
        self.send_header("Date", FIXED_DATE)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Server-Timing", f"total;dur={latency_ms}")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _page(self, url: str) -> None:
        page = self.server.pages.get(url)
        if page is None:
            body = error_page(404, urlsplit(url).netloc).encode()
            self._send(404, body, "text/html; charset=utf-8", latency_ms=60)
        elif page.behaviour == "hang":
            self.server.closing.wait()
            self.close_connection = True
        elif page.behaviour == "redirect":
            where = (("Location", page.target),)
            body = f'<a href="{page.target}">moved</a>'.encode()
            self._send(301, body, page.content_type, latency_ms=page.latency_ms, headers=where)
        elif page.behaviour == "status":
            status = int(page.argument)
            body = error_page(status, page.host).encode(page.charset, "xmlcharrefreplace")
            self._send(status, body, page.content_type, latency_ms=page.latency_ms)
        else:
            body = self.server.rendered[url].encode(page.charset, "xmlcharrefreplace")
            self._send(200, body, page.content_type, latency_ms=page.latency_ms)

    def _json(self, status: int, value: Any, latency_ms: int = 20) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self._send(status, body, "application/json", latency_ms=latency_ms)

    def _search(self, path: str, query: str) -> None:
        if path == "/healthz":
            self._send(200, b"OK", "text/plain; charset=utf-8")
        elif path == "/config":
            engines = [{"name": name, "enabled": True, "paging": True} for name in ENGINES]
            self._json(200, {"engines": engines, "instance_name": "sample", "version": "sample"})
        elif path == "/":
            where = "/search" + (f"?{query}" if query else "")
            self._send(308, b"", "text/html; charset=utf-8", headers=(("Location", where),))
        elif path == "/search":
            fields = parse_qs(query, keep_blank_values=True)
            fields.update(parse_qs(self._form(), keep_blank_values=True))
            self._answer({name: values[-1] for name, values in fields.items()})
        else:
            body = error_page(404, SEARCH_HOST).encode()
            self._send(404, body, "text/html; charset=utf-8")

    def _form(self) -> str:
        length = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(min(length, _MAX_FORM_BYTES)).decode("utf-8", "replace")

    def _answer(self, fields: dict[str, str]) -> None:
        if fields.get("format", "html") != "json":
            self._send(403, error_page(403, SEARCH_HOST).encode(), "text/html; charset=utf-8")
            return
        wrong = _what_is_wrong(fields)
        if wrong:
            self._json(400, {"error": wrong})
            return
        text = fields["q"]
        reply = self.server.search.reply(text, int(fields.get("pageno", "1")))
        self._json(200, reply, latency_ms=300 + int(600 * noise("search", text)))


def _what_is_wrong(fields: dict[str, str]) -> str | None:
    """Return the message that refuses a search, ``None`` if there is nothing to refuse."""
    checks: dict[str, Callable[[str], bool]] = {
        "language": lambda value: _LANGUAGE.fullmatch(value) is not None,
        "pageno": lambda value: value.isdecimal() and int(value) >= 1,
        "time_range": lambda value: value in ("", "None", "day", "week", "month", "year"),
        "safesearch": lambda value: value in ("0", "1", "2"),
    }
    if not fields.get("q", "").strip():
        return "No query"
    if fields.get("language") == "":
        return "Empty language parameter"
    for name, fits in checks.items():
        if name in fields and not fits(fields[name]):
            return f"Invalid value {fields[name]} for parameter {name}"
    return None


@contextmanager
def serving(site: Path = SITE, port: int = 0) -> Iterator[SampleServer]:
    """Serve the sample web in a thread for the length of a ``with`` block."""
    server = SampleServer(load_pages(site), port)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the sample web on loopback.")
    parser.add_argument("--port", type=int, default=8899, help="port; 0 takes a free one")
    with serving(port=parser.parse_args().port) as server:
        print(f"{len(server.pages)} pages; use {server.proxy_url} as HTTP proxy. Ctrl-C ends it.")
        with contextlib.suppress(KeyboardInterrupt):
            server.closing.wait()


if __name__ == "__main__":
    main()
