import asyncio

import httpx
import pytest

from harness.errors import BadInputError
from harness.settings import FetchSettings
from harness.web.guard import AddressRefusedError
from harness.web.network import PER_HOST, PoliteTransport, network_transport


class Busy(httpx.AsyncBaseTransport):
    """Counts how many requests to each host are under way."""

    def __init__(self):
        self.now = {}
        self.most = {}
        self.closed = False

    async def handle_async_request(self, request):
        host = request.url.host
        if request.url.path == "/fail":
            raise httpx.ConnectError("down", request=request)
        self.now[host] = self.now.get(host, 0) + 1
        self.most[host] = max(self.most.get(host, 0), self.now[host])
        return httpx.Response(200, stream=Body(self, host))

    async def aclose(self):
        self.closed = True


class Body(httpx.AsyncByteStream):
    def __init__(self, busy, host):
        self.busy, self.host = busy, host

    async def __aiter__(self):
        for _ in range(3):
            await asyncio.sleep(0)
            yield b"x"

    async def aclose(self):
        self.busy.now[self.host] -= 1


async def get(transport, url):
    response = await transport.handle_async_request(httpx.Request("GET", url))
    body = await response.aread()
    await response.aclose()
    return body


def test_only_so_many_requests_go_to_one_host_at_a_time():
    busy = Busy()

    async def work():
        polite = PoliteTransport(busy)
        urls = [f"http://{host}.example/{n}" for host in "ab" for n in range(12)]
        bodies = await asyncio.gather(*(get(polite, url) for url in urls))
        await polite.aclose()
        return bodies

    assert set(asyncio.run(work())) == {b"xxx"}
    assert busy.most == {"a.example": PER_HOST, "b.example": PER_HOST}
    assert busy.closed


def test_a_failure_gives_its_turn_back():
    busy = Busy()

    async def work():
        polite = PoliteTransport(busy)
        for _ in range(PER_HOST + 1):
            with pytest.raises(httpx.ConnectError):
                await get(polite, "http://a.example/fail")
        return await asyncio.wait_for(get(polite, "http://a.example/"), 1)

    assert asyncio.run(work()) == b"xxx"


def test_the_way_to_the_web_is_guarded(site, web):
    site.pages["127.0.0.1/"] = web.Reply("<p>x</p>")

    async def work(allow):
        network = network_transport(FetchSettings(allow_hosts=allow))
        try:
            return await get(network, site.url + "/")
        finally:
            await network.aclose()

    with pytest.raises(AddressRefusedError):
        asyncio.run(work(()))
    assert site.requests == []
    assert asyncio.run(work(("127.0.0.1",))) == b"<p>x</p>"


def test_everything_goes_through_the_proxy(site, web):
    site.pages["any.example/page"] = web.Reply("<p>x</p>")

    async def work():
        network = network_transport(FetchSettings(), proxy=site.url)
        try:
            return await get(network, "http://any.example/page")
        finally:
            await network.aclose()

    assert asyncio.run(work()) == b"<p>x</p>"
    assert site.requests == ["any.example/page"]


@pytest.mark.parametrize("proxy", ["ftp://x", "127.0.0.1:8080", "http://[bad:1:2"])
def test_a_proxy_that_is_none(proxy):
    with pytest.raises(BadInputError, match="proxy"):
        network_transport(FetchSettings(), proxy=proxy)
