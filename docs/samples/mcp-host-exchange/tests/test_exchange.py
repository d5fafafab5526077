"""The pack against an API of the test's own, on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp_host.testing import PackContract

KEY = "a-key-that-nobody-may-see"


class TestContract(PackContract):
    pack = "exchange"
    module = "mcp_host_exchange"
    fuzz_examples = 1


class Api(BaseHTTPRequestHandler):
    """Knows one rate and one key."""

    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self._answer(401, {})
        if asked["quote"] == ["JPY"]:
            return self._answer(429, {}, {"Retry-After": "7"})
        if asked["quote"] == ["XXX"]:
            return self._answer(200, {"nothing": "of use"})
        if asked["base"] + asked["quote"] != ["EUR", "USD"]:
            return self._answer(404, {})
        return self._answer(200, {"rate": 1.25})

    def _answer(self, status, data, headers=None):
        body = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *about):
        """Say nothing."""


@pytest.fixture
def api():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def mcp_host_packs():
    return {"exchange": "mcp_host_exchange"}


@pytest.fixture
def key():
    return KEY


@pytest.fixture
def mcp_host_tables(api, key):
    settings = {"url": api} if key is None else {"url": api, "key": key}
    return {"packs": {"exchange": {"settings": settings}}}


@pytest.mark.anyio
async def test_a_rate_is_returned(host):
    rate = await host.value("exchange_rate", base="EUR", quote="USD")

    assert rate == {"base": "EUR", "quote": "USD", "rate": 1.25}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("quote", "code"), [("GBP", "not_found"), ("JPY", "busy"), ("XXX", "unavailable")]
)
async def test_each_failure_of_the_api_has_its_code(host, quote, code):
    assert (await host.error("exchange_rate", base="EUR", quote=quote))["code"] == code


@pytest.mark.anyio
@pytest.mark.parametrize("key", [None, "", "another"])
async def test_without_the_right_key_an_answer_says_how_to_set_it_and_shows_none(host, key):
    error = await host.error("exchange_rate", base="EUR", quote="USD")

    assert error["code"] == "authentication_required"
    assert "[packs.exchange.settings]" in error["suggestions"][0]
    assert "another" not in str(error)


@pytest.mark.anyio
@pytest.mark.parametrize("api", ["http://127.0.0.1:9"])
async def test_an_api_that_is_not_there_is_unavailable(host, api):
    assert (await host.error("exchange_rate", base="EUR", quote="USD"))["code"] == "unavailable"
