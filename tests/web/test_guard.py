import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from harness.corpus import RequestPolicy
from harness.web.guard import AddressRefusedError, GuardedTransport, refusal


class Inner(httpx.AsyncBaseTransport):
    """Answers everything and remembers what it was asked."""

    def __init__(self, refuse=()):
        self.requests = []
        self.refuse = refuse
        self.closed = False

    async def handle_async_request(self, request):
        self.requests.append(request)
        if request.url.host in self.refuse:
            raise httpx.ConnectError("down", request=request)
        return httpx.Response(200, text="ok")

    async def aclose(self):
        self.closed = True


def send(transport, url, provider="page"):
    policy = RequestPolicy(provider=provider)
    request = httpx.Request("GET", url, extensions={"hotseat": policy})
    return asyncio.run(transport.handle_async_request(request))


def names(**table):
    async def resolve(host, port):
        found = table.get(host.split(".")[0])
        if found is None:
            raise OSError("unknown")
        return found

    return resolve


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1.2.3:8080/x",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://0.0.0.0/",
        "http://255.255.255.255/",
        "http://224.0.0.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[fc00::1]/",
        "http://[ff02::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://127.1/",
        "http://a b/",
        "http://x:99999/",
        "http://[/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://localhost/",
        "http://LOCALHOST.:80/",
        "http://db.localhost/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "//example.org/",
        "/etc/passwd",
    ],
)
@pytest.mark.parametrize("proxied", [False, True])
def test_private_addresses_are_refused_as_written(url, proxied):
    inner = Inner()
    assert refusal(httpx.URL(url)) is not None
    with pytest.raises(AddressRefusedError):
        send(GuardedTransport(inner, proxied=proxied, resolve=names()), url)
    assert inner.requests == []


@pytest.mark.parametrize(
    "url", ["http://93.184.215.14/", "http://[::ffff:93.184.215.14]/", "https://[2606::1]/"]
)
def test_public_addresses_pass(url):
    inner = Inner()
    assert send(GuardedTransport(inner), url).status_code == 200
    assert str(inner.requests[0].url) == url


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "10.0.0.5"],
        ["::ffff:10.0.0.5"],
        ["169.254.169.254"],
        ["fe80::1%eth0"],
    ],
)
def test_a_name_that_resolves_to_a_private_address_is_refused(addresses):
    inner = Inner()
    with pytest.raises(AddressRefusedError):
        send(GuardedTransport(inner, resolve=names(evil=addresses)), "http://evil.example/")
    assert inner.requests == []


def test_the_connection_goes_to_the_address_that_was_checked():
    inner = Inner()
    guard = GuardedTransport(inner, resolve=names(good=["93.184.215.14"]))
    send(guard, "https://good.example/page?x=1")
    (sent,) = inner.requests
    assert str(sent.url) == "https://93.184.215.14/page?x=1"
    assert sent.headers["host"] == "good.example"
    assert sent.headers["connection"] == "close"
    assert sent.extensions["sni_hostname"] == "good.example"
    assert sent.extensions["hotseat"].provider == "page"


def test_the_next_address_is_tried_when_one_is_down():
    inner = Inner(refuse=("93.184.215.14",))
    guard = GuardedTransport(inner, resolve=names(good=["93.184.215.14", "93.184.215.15"]))
    assert send(guard, "http://good.example/").status_code == 200
    only = GuardedTransport(inner, resolve=names(good=["93.184.215.14"]))
    with pytest.raises(httpx.ConnectError):
        send(only, "http://good.example/")


def test_an_unknown_name_is_a_connection_error():
    for resolve in (names(), names(empty=[])):
        with pytest.raises(httpx.ConnectError, match="unknown"):
            send(GuardedTransport(Inner(), resolve=resolve), "http://empty.example/")


def test_allowed_hosts_pass_by_name_only():
    inner = Inner()
    guard = GuardedTransport(inner, allow_hosts=("Intranet.example", "127.0.0.1"), resolve=names())
    assert send(guard, "http://intranet.example/").status_code == 200
    assert send(guard, "http://127.0.0.1:8000/").status_code == 200
    with pytest.raises(AddressRefusedError):
        send(guard, "http://127.0.0.2/")
    with pytest.raises(httpx.ConnectError):
        send(guard, "http://sub.intranet.example/")


def test_the_search_server_may_be_private_but_not_its_pages():
    inner = Inner()
    guard = GuardedTransport(inner)
    assert send(guard, "http://127.0.0.1:8080/search", "searxng").status_code == 200
    with pytest.raises(AddressRefusedError):
        send(guard, "http://127.0.0.1:8080/page")
    with pytest.raises(AddressRefusedError):
        send(guard, "file:///etc/passwd", "searxng")


def test_behind_a_proxy_names_are_the_proxys_business():
    inner = Inner()
    assert send(GuardedTransport(inner, proxied=True), "http://any.example/").status_code == 200
    assert str(inner.requests[0].url) == "http://any.example/"


def test_closing_closes_the_inner_transport():
    inner = Inner()
    asyncio.run(GuardedTransport(inner).aclose())
    assert inner.closed


def test_a_real_connection_is_made_to_the_resolved_address():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.headers["Host"].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()

    async def get():
        port = server.server_address[1]
        # Loopback stands for a public address here: the check itself is tested above.
        inner = httpx.AsyncHTTPTransport()
        guard = GuardedTransport(inner, resolve=names(site=["127.0.0.1"]))
        request = httpx.Request("GET", f"http://site.example:{port}/")
        response = await guard._send_to(["127.0.0.1"], request)
        try:
            return await response.aread(), port
        finally:
            await response.aclose()
            await guard.aclose()

    try:
        body, port = asyncio.run(get())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert body == f"site.example:{port}".encode()
