"""Issuers that answer badly, and strangers who come beside callers whose tokens are new."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from issuers import AUDIENCE, Issuer, issuer
from mcp_host.testing import HttpServer, http_server
from test_callers import MODERN, READ, WRITE, Client, asked, uri

pytestmark = pytest.mark.anyio

SETTINGS = """
[[http.auth]]
issuer = "{one}"
audience = "{audience}"
prefix = "one:"

[[http.auth]]
issuer = "{two}"
audience = "{audience}"
prefix = "two:"

[http.limits]
body_bytes = 4096
streams = 1

[packs.todo_db.settings]
url = "sqlite:///{folder}/todo.db"
"""
STRANGER = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer nobodys\r\n"
    b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    b"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nContent-Length: 4000\r\n\r\n{"
)


@asynccontextmanager
async def serving(folder: Path, one: Issuer, two: Issuer) -> AsyncIterator[HttpServer]:
    config = folder / "mcp-host.toml"
    config.write_text(SETTINGS.format(one=one.url, two=two.url, audience=AUDIENCE, folder=folder))
    argv = [sys.executable, "-m", "mcp_host", "serve", "--config", config]
    environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    http = ["--transport", "http", "--port", "0"]
    async with http_server([*argv, *http], environment=environment) as server:
        yield server


async def test_an_issuer_that_never_ends_its_answer_holds_nobody_up_for_long(
    tmp_path: Path,
) -> None:
    with issuer("RS256") as one, issuer("ES256") as two:
        one.drips = True
        async with serving(tmp_path, one, two) as server, httpx2.AsyncClient(timeout=60) as http:
            client = Client(server.url, http)
            late = one.token("ann", WRITE)
            ready = server.url.removesuffix("/mcp") + "/readyz"
            by_drops = asyncio.create_task(client.ask(MODERN, *asked("list", MODERN, None), late))
            known = two.token("ann", WRITE)

            assert await client.outcome(MODERN, *asked("list", MODERN, None), known) == "ok"
            assert not by_drops.done()
            assert (await by_drops).status_code == 503
            told = await http.get(ready, headers={"authorization": f"Bearer {late}"})
            assert (told.status_code, "details" in told.json()) == (200, False)


async def test_keys_of_no_use_leave_an_issuer_its_others(tmp_path: Path) -> None:
    with issuer("RS256") as one, issuer("ES256") as two:
        (good,) = one.pages["/keys"]["keys"]
        one.pages["/keys"]["keys"] = [
            None,
            {"kty": "RSA"},
            {**good, "alg": "none", "kid": "none"},
            {**good, "alg": ["RS256"], "kid": "list"},
            {**good, "n": 1, "kid": "number"},
            good,
        ]
        async with serving(tmp_path, one, two) as server, httpx2.AsyncClient(timeout=60) as http:
            token = one.token("ann", WRITE)

            listed = Client(server.url, http).outcome(
                MODERN, *asked("list", MODERN, "one:ann"), token
            )
            assert await listed == "ok"


async def test_the_first_request_with_a_token_counts_for_its_subject_and_not_for_strangers(
    tmp_path: Path,
) -> None:
    with issuer("RS256") as one, issuer("ES256") as two:
        async with serving(tmp_path, one, two) as server, AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(timeout=60))
            where = urlsplit(server.url)
            for _ in range(3):
                reader, writer = await asyncio.open_connection(where.hostname, where.port)
                stack.callback(writer.close)
                writer.write(STRANGER)
                assert b" 401 " in await reader.readline()  # the body is not waited for
            client = Client(server.url, http)
            watched = {}
            for user in ("ann", "bob", "cy"):
                token = one.token(user, READ)
                wanted = {"resourceSubscriptions": [uri(f"one:{user}", "tasks")]}
                request = client.modern("subscriptions/listen", {"notifications": wanted}, token)
                answer = await stack.enter_async_context(http.stream("POST", client.url, **request))
                watched[user] = answer.status_code

            assert watched == {"ann": 200, "bob": 200, "cy": 200}
