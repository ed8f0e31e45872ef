"""A small web on a loopback port for tests: pages, a search server, bad manners.

It answers direct requests by their ``Host`` header and, as an HTTP proxy,
requests for any host name.  Load it by path: tests can't import each other.
"""

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

FILLER = (
    "The town lies between two rivers and has kept its walls, its market and its bells. "
    "Visitors come in spring, when the orchards flower, and stay for the fair. "
)


def article(title, text, lang="en", head=""):
    """Return a page that looks like one, with navigation around its text."""
    return (
        f'<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>'
        f"<nav><a href='/'>Home</a></nav><main><article><h1>{title}</h1><p>{text}</p>"
        f"<p>{FILLER}</p></article></main><footer>Imprint</footer></body></html>"
    )


@dataclass
class Reply:
    body: bytes | str = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: dict = field(default_factory=dict)
    ms: int = 20
    pause_s: float = 0.0  # before every byte
    endless: bytes = b""  # sent again and again after the body
    hang: bool = False
    drop: bool = False


def result(url, title="", content="", **fields):
    """Return one entry of a search reply."""
    return {"url": url, "title": title, "content": content, "engine": "lamp", **fields}


def found(*results, failed=(), **fields):
    """Return a search reply."""
    body = {
        "query": "",
        "results": list(results),
        "answers": [],
        "infoboxes": [],
        "unresponsive_engines": [list(pair) for pair in failed],
        **fields,
    }
    return Reply(json.dumps(body), type="application/json", ms=300)


class Site:
    """``pages`` maps ``"host/path"`` to replies; ``search`` a query to one."""

    SEARCH_HOST = "search.example"

    def __init__(self):
        self.pages = {}
        self.search = lambda query: found()
        self.requests = []  # "host/path?query", in order of arrival
        self.headers = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                site._answer(self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # clients that leave early are part of the tests

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def port(self):
        return self._server.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def count(self, text):
        """Return how many requests had ``text`` in their address."""
        return sum(text in request for request in self.requests)

    def close(self):
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler):
        parts = urlsplit(handler.path)
        host = (parts.netloc or handler.headers.get("Host", "")).partition(":")[0]
        query = f"?{parts.query}" if parts.query else ""
        with self._lock:
            self.requests.append(f"{host}{parts.path}{query}")
            self.headers.append(handler.headers)
        if parts.path.endswith("/search") and host in (self.SEARCH_HOST, "127.0.0.1"):
            reply = self.search(parse_qs(parts.query)["q"][0])
        else:
            reply = self.pages.get(f"{host}{parts.path}", Reply("gone", 404))
        handler.close_connection = True
        with contextlib.suppress(OSError):
            self._send(handler, reply)

    def _send(self, handler, reply):
        if reply.hang:
            self.stopping.wait(30)
        if reply.hang or reply.drop:
            return
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        handler.send_response(reply.status)
        if reply.type:
            handler.send_header("Content-Type", reply.type)
        handler.send_header("Server-Timing", f"total;dur={reply.ms}")
        handler.send_header("Connection", "close")
        if not reply.endless and not reply.pause_s:
            handler.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if not reply.pause_s:
            handler.wfile.write(body)
        else:
            for byte in body:
                if self.stopping.is_set():
                    return
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                time.sleep(reply.pause_s)
        while reply.endless and not self.stopping.is_set():
            handler.wfile.write(reply.endless)
