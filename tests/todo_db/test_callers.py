"""Who calls decides whose tasks may be used: tokens of our own, and of two issuers."""

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from issuers import AUDIENCE, Issuer, issuer
from mcp_host.testing import http_server

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
BOTH, READ, WRITE = "todo_db:read todo_db:write", "todo_db:read", "todo_db:write"
STATIC = {
    "ANN": "ann-may-do-everything",
    "READER": "ann-may-only-read",
    "LATE": "ann-was-here-once",
}
NOTHING = {"NOTHING": "ann-may-do-nothing"}
SETTINGS = """
[http]
tokens = [
    {{ token = {{ env = "ANN" }}, subject = "ann", scopes = ["todo_db:write"] }},
    {{ token = {{ env = "READER" }}, subject = "ann", scopes = ["todo_db:read"] }},
    {{ token = {{ env = "NOTHING" }}, subject = "ann" }},
    {{ token = {{ env = "LATE" }}, subject = "ann", expires = 2020-01-01T00:00:00Z }},
    {{ token = {{ file = "bob" }}, subject = "bob", scopes = ["*"] }},
]

[[http.auth]]
issuer = "{one}"
audience = "{audience}"
prefix = "one:"

[[http.auth]]
issuer = "{two}"
audience = "{audience}"
jwks_url = "{two}/keys"
prefix = "two:"

[packs.todo_db.settings]
url = "sqlite:///{folder}/todo.db"
"""


@dataclass
class Client:
    """Somebody at the endpoint; `session` is that of the handshake era, once there is one."""

    url: str
    http: httpx2.AsyncClient
    session: dict[str, str] = field(default_factory=dict)

    async def begin(self, token: str) -> None:
        params = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        answer = await self.send("initialize", params, token, {})
        self.session = {
            "mcp-session-id": answer.headers["mcp-session-id"],
            "mcp-protocol-version": LEGACY,
        }
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.http.post(self.url, json=told, headers=self.headers(token, self.session))

    def headers(self, token: str | None, more: dict[str, str]) -> dict[str, str]:
        known = {} if token is None else {"authorization": f"Bearer {token}"}
        return {"accept": "application/json, text/event-stream", **known, **more}

    async def send(
        self, method: str, params: dict[str, Any], token: str | None, more: dict[str, str]
    ) -> httpx2.Response:
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = self.http.build_request(
            "POST", self.url, json=frame, headers=self.headers(token, more)
        )
        return await self.http.send(request)

    async def ask(
        self, era: str, method: str, params: dict[str, Any], token: str | None
    ) -> httpx2.Response:
        if era == LEGACY:
            return await self.send(method, params, token, self.session)
        request = self.modern(method, params, token)
        if method != "subscriptions/listen":
            return await self.http.post(self.url, **request)
        async with self.http.stream("POST", self.url, **request) as answer:
            text = ""
            async for line in answer.aiter_lines():
                text += f"{line}\n"
                if line.startswith("data: {"):
                    break  # it was acknowledged, and goes on until somebody leaves
        return httpx2.Response(answer.status_code, headers=answer.headers, text=text)

    def modern(self, method: str, params: dict[str, Any], token: str | None) -> dict[str, Any]:
        """What a request of 2026-07-28 is made of."""
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientCapabilities": {},
            META + "clientInfo": {"name": "c", "version": "1"},
        }
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
        if name := params.get("name") or params.get("uri"):
            headers["mcp-name"] = name
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return {"json": frame, "headers": self.headers(token, headers)}

    async def outcome(
        self, era: str, method: str, params: dict[str, Any], token: str | None
    ) -> str:
        """`ok`, the HTTP status with the scope that is asked for, or the error's code."""
        answer = await self.ask(era, method, params, token)
        if answer.status_code in (401, 403):
            challenge = answer.headers["www-authenticate"]
            where = "https://mcp.example.org/.well-known/oauth-protected-resource/mcp"
            assert f'resource_metadata="{where}"' in challenge
            scope = challenge.partition(' scope="')[2].partition('"')[0]
            return f"403 {scope}" if answer.status_code == 403 else "401"
        told = told_by(answer)
        if "error" in told:
            return str(told["error"]["data"]["code"])
        result = told.get("result", {})
        if result.get("isError"):
            return str(json.loads(result["content"][0]["text"])["code"])
        return "ok"


def told_by(answer: httpx2.Response) -> dict[str, Any]:
    text = answer.text
    if not text.lstrip().startswith("{"):
        text = [line[5:] for line in text.splitlines() if line.startswith("data: {")][-1]
    told: dict[str, Any] = json.loads(text)
    return told


@dataclass
class Served:
    url: str
    one: Issuer
    two: Issuer
    settings: Path
    process: int


@pytest.fixture(scope="module", params=["1", pytest.param("0", marks=pytest.mark.torture)])
async def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    """A host with the lane on, and off in the long round."""
    folder = tmp_path_factory.mktemp("callers")
    with issuer("RS256") as one, issuer("ES256", ["todo_db:read"]) as two:
        config = folder / "mcp-host.toml"
        config.write_text(
            SETTINGS.format(one=one.url, two=two.url, audience=AUDIENCE, folder=folder)
        )
        (folder / "bob").write_text("bob-was-here-from-the-start")
        (folder / "bob").chmod(0o600)
        argv = [sys.executable, "-m", "mcp_host", "serve", "--config", config]
        env = {
            "MCP_HOST_LANE": request.param,
            **STATIC,
            **NOTHING,
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        async with http_server([*argv, "--transport", "http", "--port", "0"], environment=env) as s:
            yield Served(s.url, one, two, config, s.process.pid)


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=60) as client:
        yield client


def uri(user: str, what: str) -> str:
    return f"todo://{quote(user, safe='')}/{what}"


OPERATIONS = {
    "list": ("tools/call", "todo_db_list_tasks", READ),
    "keyed add": ("tools/call", "todo_db_add_task", WRITE),
    "tasks": ("resources/read", "tasks", READ),
    "history": ("resources/read", "history", READ),
    "watch tasks": ("watch", "tasks", READ),
    "watch history": ("watch", "history", READ),
}


def asked(operation: str, era: str, user: str | None) -> tuple[str, dict[str, Any]]:
    """The method and the parameters of an operation on a user's tasks."""
    method, name, _ = OPERATIONS[operation]
    if method == "tools/call":
        whose = {} if user is None else {"user_id": user}
        keyed = {"title": "once", "request_key": "k"} if name.endswith("add_task") else {}
        return method, {"name": name, "arguments": {**whose, **keyed}}
    assert user is not None
    if method == "resources/read":
        return method, {"uri": uri(user, name)}
    if era == LEGACY:
        return "resources/subscribe", {"uri": uri(user, name)}
    return "subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri(user, name)]}}


@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_only_a_right_token_uses_tasks_and_only_its_own(
    served: Served, http: httpx2.AsyncClient, operation: str, era: str
) -> None:
    scope = OPERATIONS[operation][2]
    found, expected = {}, {}
    for who, by in (("ann", None), ("one:ann", served.one), ("two:ann", served.two)):
        right = STATIC["ANN"] if by is None else by.token("ann", WRITE)
        lacking, unscoped = STATIC["READER"], NOTHING["NOTHING"]
        if by is not None:
            lacking, unscoped = by.token("ann", READ), by.token("ann", "openid todo_dbx:write")
        late = STATIC["LATE"] if by is None else by.token("ann", WRITE, exp=1_600_000_000)
        client = Client(served.url, http)
        if era == LEGACY:
            await client.begin(right)
        no_scope = "permission_denied" if by is None else f"403 {scope}"
        for whose, user, allowed in (
            ("own", who, "ok"),
            ("another's", "one:ann" if by is None else "ann", "permission_denied"),
            ("a stranger's", "zoe", "permission_denied"),
            ("left out", None, "ok"),
        ):
            if user is None and OPERATIONS[operation][0] != "tools/call":
                continue  # a resource names its user
            method, params = asked(operation, era, user)
            for case, token, outcome in (
                ("no token", None, "401"),
                ("wrong", f"{right[:-4]}AAAA", "401"),
                ("expired", late, "401"),
                ("lacking", lacking if scope == WRITE else unscoped, no_scope),
                ("right", right, allowed),
            ):
                found[who, whose, case] = await client.outcome(era, method, params, token)
                expected[who, whose, case] = outcome

    assert found == expected


async def test_the_same_key_of_three_people_with_one_name_makes_one_task_each(
    served: Served, http: httpx2.AsyncClient
) -> None:
    client, made = Client(served.url, http), {}
    for who, token in (
        ("ann", STATIC["ANN"]),
        ("one:ann", served.one.token("ann", WRITE)),
        ("two:ann", served.two.token("ann", WRITE)),
    ):
        added = asked("keyed add", MODERN, who)
        ids = set()
        for _ in range(2):
            told = told_by(await client.ask(MODERN, *added, token))
            ids.add(told["result"]["structuredContent"]["task_id"])
        (made[who],) = ids
        page = told_by(await client.ask(MODERN, *asked("list", MODERN, None), token))
        assert [task["id"] for task in page["result"]["structuredContent"]["result"]] == [made[who]]
    assert len(set(made.values())) == 3


@pytest.mark.parametrize(
    "forged",
    [
        lambda one, two: one.token("ann", WRITE, aud="https://other.example.org"),
        lambda one, two: one.token("ann", WRITE, iss=two.url),
        lambda one, two: one.token("ann", WRITE, iss="https://nobody.example.org"),
        lambda one, two: one.token("", WRITE),
        lambda one, two: one.token("ann\n", WRITE),
        lambda one, two: one.token("ann", WRITE, exp=10**400),
        lambda one, two: signed_by_nobody(one.token("ann", WRITE)),
        lambda one, two: signed_with_the_public_key(one),
        lambda one, two: "a.b.c",
        lambda one, two: "x" * 5000,
    ],
)
async def test_a_forged_token_is_none(
    served: Served, http: httpx2.AsyncClient, forged: Any
) -> None:
    token = forged(served.one, served.two)
    client = Client(served.url, http)

    assert await client.outcome(MODERN, *asked("list", MODERN, None), token) == "401"


def signed_by_nobody(token: str) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    return f"{head}.{token.split('.')[1]}."


def signed_with_the_public_key(one: Issuer) -> str:
    """By HMAC with the key that everybody knows as its secret."""
    import hashlib
    import hmac

    head = json.dumps({"alg": "HS256", "kid": one.kid}).encode()
    body = base64.urlsafe_b64decode(one.token("ann", WRITE).split(".")[1] + "==")
    parts = ".".join(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in (head, body))
    secret = json.dumps(one.pages["/keys"]["keys"][0]).encode()
    signature = hmac.new(secret, parts.encode(), hashlib.sha256).digest()
    return f"{parts}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


async def test_a_tool_is_listed_where_the_issuer_gives_its_scope(
    served: Served, http: httpx2.AsyncClient
) -> None:
    async def names(token: str) -> list[str]:
        told = told_by(await client.ask(MODERN, "tools/list", {}, token))
        return [tool["name"].removeprefix("todo_db_") for tool in told["result"]["tools"]]

    client = Client(served.url, http)
    every = ["add_task", "list_tasks", "complete_task", "update_task", "delete_task"]

    assert await names(STATIC["READER"]) == ["list_tasks"]
    assert await names(served.one.token("ann")) == every  # its metadata names no scopes
    assert await names(served.two.token("ann")) == ["list_tasks"]  # it gives that to read
    assert await names(served.two.token("ann", WRITE)) == every


async def test_the_metadata_of_the_resource_names_issuers_and_scopes(
    served: Served, http: httpx2.AsyncClient
) -> None:
    base = served.url.removesuffix("/mcp")
    for place in (
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
    ):
        told = (await http.get(base + place)).json()
        assert told["resource"] == AUDIENCE
        assert told["authorization_servers"] == [served.one.url, served.two.url]
        assert told["scopes_supported"] == ["host:read", "todo_db:read", "todo_db:write"]


async def test_a_new_key_counts_at_once_and_the_old_one_no_more(
    served: Served, http: httpx2.AsyncClient
) -> None:
    client = Client(served.url, http)
    old = served.two.token("cy", WRITE)
    assert await client.outcome(MODERN, *asked("list", MODERN, None), old) == "ok"
    served.two.rotate()
    new = served.two.token("cy", WRITE)

    outcomes = []
    while not outcomes or outcomes[-1] != "ok":  # a fetch begins five seconds after the last
        outcomes.append(await client.outcome(MODERN, *asked("list", MODERN, None), new))
        await asyncio.sleep(0.1)
    assert set(outcomes) <= {"401", "ok"}
    assert await client.outcome(MODERN, *asked("list", MODERN, None), old) == "401"
    assert served.two.asked.count("/keys") <= 4  # however often somebody comes with a wrong key


async def test_tokens_of_our_own_change_without_a_restart(
    served: Served, http: httpx2.AsyncClient
) -> None:
    client = Client(served.url, http)
    old, new = "bob-was-here-from-the-start", "bob-has-another-one-now"
    assert await client.outcome(MODERN, *asked("list", MODERN, "bob"), old) == "ok"

    (served.settings.parent / "bob").write_text(new)
    os.kill(served.process, signal.SIGUSR1)

    outcomes = []
    while not outcomes or outcomes[-1] != "ok":
        outcomes.append(await client.outcome(MODERN, *asked("list", MODERN, "bob"), new))
        await asyncio.sleep(0.05)
    assert await client.outcome(MODERN, *asked("list", MODERN, "bob"), old) == "401"
