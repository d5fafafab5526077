"""Streamable HTTP: who gets in, what each caller may see of another, and how the server ends."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from core_home import Home
from core_web import Session, Web, event_ids, frames
from mcp_host.testing import HttpServer

TOKENS = {"ANN": "token-of-ann-0001", "BOB": "token-of-bob-0002", "EVE": "token-of-eve-0003"}
SETTINGS = """
[http]
max_body_bytes = 4096
allowed_origins = ["https://app.example.org"]
tokens = [
    { token = { env = "ANN" }, subject = "ann", scopes = ["*"] },
    { token = { env = "BOB" }, subject = "bob", scopes = ["desk:read"] },
    { token = { env = "EVE" }, subject = "eve" },
]
[packs.desk]
timeout = 60
[packs.desk.tools.reached]
timeout = 8
[packs.nobody_has_it]
"""
FORM = {"elicitation": {}}


@pytest.fixture(scope="module")
async def served(make_home: Callable[[], Home]) -> AsyncIterator[HttpServer]:
    """A server that knows three callers."""
    home = make_home()
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", env=TOKENS) as server:
        yield server


@pytest.fixture
async def ann(served: HttpServer) -> AsyncIterator[Web]:
    async with Web(served.url, TOKENS["ANN"], **FORM) as web:
        yield web


@pytest.fixture
async def bob(served: HttpServer) -> AsyncIterator[Web]:
    async with Web(served.url, TOKENS["BOB"], **FORM) as web:
        yield web


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/readyz", "/nowhere"])
async def test_a_foreign_host_or_origin_is_turned_away_on_every_route(ann: Web, path: str) -> None:
    port = ann.base.rpartition(":")[2]

    async def status(method: str = "GET", **headers: str) -> int:
        url = ann.base + path
        return (await ann.http.request(method, url, headers={**ann.headers, **headers})).status_code

    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", "localhost.evil.example"):
        assert await status(Host=host) == 421
    for origin in ("https://evil.example", f"http://evil.example:{port}", "null"):
        assert await status(Origin=origin) == 403
        assert await status("POST", Origin=origin) == 403
    for origin in (f"http://localhost:{port}", "https://app.example.org"):
        if path != "/mcp":  # a GET there opens a stream of its own
            assert await status(Origin=origin) in (200, 404, 503)
        else:
            assert await status("POST", Origin=origin) not in (403, 421)


async def test_a_web_page_of_an_allowed_origin_may_ask_first_and_read_what_it_gets(
    ann: Web,
) -> None:
    origin = {"Origin": "https://app.example.org"}
    wanted = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,mcp-protocol-version",
    }

    asked = await ann.http.options(ann.url, headers={**origin, **wanted})
    foreign = await ann.http.options(ann.url, headers={"Origin": "https://evil.example", **wanted})
    frame, headers = ann.modern("tools/list", {})
    answer = await ann.http.post(ann.url, json=frame, headers={**headers, **origin})

    assert asked.status_code == 200
    assert "authorization" in asked.headers["access-control-allow-headers"].lower()
    assert foreign.status_code == 403
    assert answer.headers["access-control-allow-origin"] == origin["Origin"]
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"].lower()


async def test_without_a_known_token_nothing_is_answered(served: HttpServer) -> None:
    for token in (None, "token-of-mallory-9", TOKENS["ANN"] + "x"):
        async with Web(served.url, token) as nobody:
            frame, headers = nobody.modern("tools/list", {})
            for method in ("POST", "GET", "DELETE"):
                answer = await nobody.http.request(method, served.url, json=frame, headers=headers)
                assert answer.status_code == 401
                assert "Bearer" in answer.headers["www-authenticate"]


async def test_health_tells_counts_to_everybody_and_names_only_to_a_token(
    served: HttpServer, ann: Web, bob: Web
) -> None:
    await ann.value("desk_greet", name="Ann")  # the desk is open now

    async with Web(served.url) as anyone, Web(served.url, "token-of-mallory-9") as mallory:
        alive, ready = await anyone.get("/healthz"), await anyone.get("/readyz")
        guessed = await mallory.get("/readyz")
    named, partly = await ann.get("/readyz"), await bob.get("/readyz")

    assert (alive.status_code, ready.status_code, named.status_code) == (200, 200, 200)
    assert alive.json() == {"status": "ok"}
    counts = {"ready": True, "packs": {"ready": 1, "failed": 1}}
    assert ready.json() == guessed.json() == counts
    assert [pack["name"] for pack in named.json()["details"]] == ["desk", "nobody_has_it"]
    assert [pack["name"] for pack in partly.json()["details"]] == ["desk"]


async def test_a_body_over_the_limit_is_413_however_it_is_sent(ann: Web) -> None:
    frame, headers = ann.modern("tools/call", {"name": "desk_greet", "arguments": {}})
    frame["params"]["arguments"]["name"] = "x" * 5000

    async def pieces() -> AsyncIterator[bytes]:
        text = json.dumps(frame).encode()
        for start in range(0, len(text), 1000):
            yield text[start : start + 1000]

    headers["Content-Type"] = "application/json"
    at_once = await ann.http.post(ann.url, json=frame, headers=headers)
    in_pieces = await ann.http.post(ann.url, content=pieces(), headers=headers)

    assert (at_once.status_code, in_pieces.status_code) == (413, 413)
    assert await ann.value("desk_greet", name="Ann") == "Hello Ann."


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b'"text"', 400, -32602),
        (b"[]", 400, -32602),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]', 400, -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', 400, -32600),
        (b"[" * 2000 + b"]" * 2000, 400, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 3000 + b'"}', 400, -32600),
    ],
)
async def test_a_body_that_is_no_request_is_refused_and_the_server_lives_on(
    ann: Web, body: bytes, status: int, code: int
) -> None:
    headers = {**ann.headers, "Content-Type": "application/json"}

    answer = await ann.http.post(ann.url, content=body, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert await ann.value("desk_greet", name="Ann") == "Hello Ann."


async def test_half_a_character_and_a_nul_are_answered_not_dropped(ann: Web) -> None:
    frame, headers = ann.modern("tools/call", {"name": "desk_greet", "arguments": {"name": "?"}})
    headers["Content-Type"] = "application/json"
    sent = json.dumps(frame)

    half = await ann.http.post(ann.url, content=sent.replace("?", "\\ud800"), headers=headers)
    nul = await ann.http.post(ann.url, content=sent.replace("?", "a\\u0000b"), headers=headers)

    envelope = half.json()["result"]["_meta"]["mcp-host/error"]
    assert envelope["code"] == "validation_error"
    assert "lone surrogate" in envelope["error"]
    assert nul.json()["result"]["content"][0]["text"] == "Hello a\x00b."


async def test_each_token_is_a_subject_with_scopes_and_sees_what_it_may_use(
    served: HttpServer, ann: Web, bob: Web
) -> None:
    async with Web(served.url, TOKENS["EVE"]) as eve:
        lists = {
            who: {tool["name"] for tool in (await web.ask("tools/list"))["result"]["tools"]}
            for who, web in (("ann", ann), ("bob", bob), ("eve", eve))
        }
        refused = await eve.call("desk_greet", name="Eve")
    seen = json.loads(await bob.value("desk_who_am_i"))
    denied = await bob.call("desk_write", name="tax", text="0")

    assert (seen["subject"], seen["scopes"], seen["client"]) == ("bob", ["desk:read"], "web")
    assert lists["ann"] >= {"desk_greet", "desk_write"}
    assert "desk_greet" in lists["bob"]
    assert "desk_write" not in lists["bob"]
    assert lists["eve"] == set()
    for answer, scope in ((refused, "desk:read"), (denied, "desk:write")):
        envelope = answer["result"]["_meta"]["mcp-host/error"]
        assert envelope["code"] == "permission_denied"
        assert envelope["details"] == {"reason": "missing_scope", "scope": scope}


async def test_a_session_answers_nobody_but_the_caller_who_began_it(ann: Web, bob: Web) -> None:
    session = await ann.session()
    stolen = {**session.headers}

    frame = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    posted = await bob.post(frame, **stolen)
    ended = await bob.http.delete(bob.url, headers={**bob.headers, **stolen})
    still = await session.call("desk_greet", name="Ann")

    assert (posted.status_code, ended.status_code) == (404, 404)
    assert still["result"]["content"][0]["text"] == "Hello Ann."


async def test_nobody_ends_the_notifications_of_somebody_elses_session(ann: Web, bob: Web) -> None:
    session = await ann.session()
    uri = "desk://papers/tea"
    await session.request("resources/subscribe", uri=uri)

    await bob.http.delete(bob.url, headers={**bob.headers, **session.headers})
    async with session.listen() as news:
        await session.call("desk_write", name="tea", text="black")
        async with asyncio.timeout(10):
            told = await anext(news)

    assert told["method"] == "notifications/resources/updated"
    assert told["params"]["uri"] == uri


async def in_a_stream(session: Session, name: str) -> httpx2.Response:
    """The answer to a call, in a stream: the lane leaves a client that takes anything."""
    params = {"name": "desk_greet", "arguments": {"name": name}}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await session.web.post(frame, **session.headers, Accept="*/*")


async def test_last_event_id_never_brings_the_answer_of_another_session(ann: Web) -> None:
    mine, other = await ann.session(), await ann.session()
    answer = await in_a_stream(mine, "Secret")
    await in_a_stream(other, "Other")
    _, _, stream = event_ids(answer.text)[0].partition("_")

    async def first_answer(session: Session) -> str:
        async with session.listen(**{"Last-Event-ID": f"0_{stream}"}) as news:
            async with asyncio.timeout(10):
                async for frame in news:
                    if "result" in frame:
                        return str(frame["result"]["content"][0]["text"])
        raise AssertionError("nothing came")

    assert "Secret" in await first_answer(mine)
    assert "Other" in await first_answer(other)


async def test_a_request_state_is_good_for_its_caller_its_tool_and_its_arguments_alone(
    ann: Web, served: HttpServer
) -> None:
    asked = (await ann.call("desk_shred", ids=["a"]))["result"]
    assert asked["resultType"] == "input_required"
    answer = {
        "requestState": asked["requestState"],
        "inputResponses": {"sure": {"action": "accept", "content": {"sure": True}}},
    }
    params = {"name": "desk_shred", "arguments": {"ids": ["a"]}, **answer}
    tampered = asked["requestState"][:-4] + "AAAA"

    other_arguments = await ann.ask("tools/call", **{**params, "arguments": {"ids": ["a", "b"]}})
    other_tool = await ann.ask("tools/call", **{**params, "name": "desk_post", "arguments": {}})
    forged = await ann.ask("tools/call", **{**params, "requestState": tampered})
    async with Web(served.url, TOKENS["BOB"], **FORM) as bob:
        other_caller = await bob.ask("tools/call", **params)
    right = await ann.ask("tools/call", **params)

    for refused in (other_arguments, other_tool, forged, other_caller):
        assert refused["error"]["code"] == -32602
    assert right["result"]["content"][0]["text"] == "shredded 1"


async def test_nobody_watches_what_they_may_not_read(served: HttpServer, bob: Web) -> None:
    wanted = {"resourceSubscriptions": ["desk://papers/tea", "host://packs"]}
    session = await bob.session()

    own = await session.request("resources/subscribe", uri="desk://papers/tea")
    foreign = await session.request("resources/subscribe", uri="host://packs")
    listened = await bob.ask("subscriptions/listen", notifications=wanted)
    async with Web(served.url, TOKENS["EVE"]) as eve:
        of_eve = await (await eve.session()).request("resources/subscribe", uri="desk://papers/tea")

    assert "result" in frames(own.text)[-1]
    for refused in (frames(foreign.text)[-1], listened, frames(of_eve.text)[-1]):
        assert refused["error"]["data"]["code"] == "permission_denied"


async def test_a_client_that_goes_away_cancels_its_call(ann: Web) -> None:
    async def hold() -> None:
        async with ann.stream("tools/call", name="desk_hold", arguments={"gate": "gone"}) as news:
            async for _ in news:
                raise AssertionError("the call was answered")

    held = asyncio.create_task(hold())
    assert await ann.value("desk_reached", gate="gone") == "true"
    held.cancel()
    await asyncio.gather(held, return_exceptions=True)

    assert await ann.value("desk_reached", gate="gone cancelled") == "true"


async def test_only_a_session_tells_one_client_without_a_token_from_another(home: Home) -> None:
    async def connection(caller: Web | Session) -> str | None:
        answer = await caller.call("desk_who_am_i")
        found: str | None = answer["result"]["structuredContent"]["connection"]
        return found

    for stateless in (False, True):
        home.write(f"[http]\nstateless = {str(stateless).lower()}\n[packs.desk]\n")
        async with home.http("--config", "mcp-host.toml") as server, Web(server.url) as web:
            one, other = await web.session(), await web.session()
            ids = [await connection(caller) for caller in (one, one, other, web, web)]
            forged = Session(web, "made up", {"result": {"capabilities": {}}})
            made_up = await forged.request("tools/call", name="desk_who_am_i", arguments={})

        assert made_up.status_code == 404
        if stateless:
            assert ids == [None] * 5
        else:
            assert None not in ids[:3]
            assert (ids[0] == ids[1], ids[0] == ids[2], ids[3:]) == (True, False, [None, None])


async def test_stateless_mode_tells_clients_of_the_handshake_era_what_they_lose(home: Home) -> None:
    home.write("[http]\nstateless = true\n[packs.desk]\n")

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url, **FORM) as web:
        session = await web.session()
        greeted = await session.call("desk_greet", name="Ann")
        asked = await session.call("desk_shred", ids=["a"])
        discovered = await web.ask("server/discover")
        modern = await web.call("desk_shred", ids=["a"])
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        elsewhere = await web.post(ping, Mcp_Session_Id="of-another-server")

    told = session.capabilities
    assert elsewhere.status_code == 404  # so that the client begins anew
    assert elsewhere.json()["error"]["data"] == {"reason": "stateless"}
    assert session.id is None
    assert not told["tools"].get("listChanged")
    assert not told["resources"].get("listChanged")
    assert not told["resources"].get("subscribe")
    assert "logging" not in told
    assert discovered["result"]["capabilities"]["tools"]["listChanged"] is True
    assert greeted["result"]["content"][0]["text"] == "Hello Ann."
    assert asked["result"]["_meta"]["mcp-host/error"]["code"] == "unsupported"
    assert modern["result"]["resultType"] == "input_required"


async def test_several_stateless_processes_with_one_key_take_each_others_questions(
    home: Home,
) -> None:
    home.write('[host]\nstate_key = { env = "SEAL" }\n[http]\nstateless = true\n[packs.desk]\n')
    env = {"SEAL": "a seal of more than thirty-two characters"}
    config = ("--config", "mcp-host.toml")

    async with (
        home.http(*config, env=env) as one,
        home.http(*config, env=env) as other,
        Web(one.url, **FORM) as first,
        Web(other.url, **FORM) as second,
    ):
        asked = (await first.call("desk_shred", ids=["a"]))["result"]
        answered = await second.ask(
            "tools/call",
            name="desk_shred",
            arguments={"ids": ["a"]},
            requestState=asked["requestState"],
            inputResponses={"sure": {"action": "accept", "content": {"sure": True}}},
        )

    assert answered["result"]["content"][0]["text"] == "shredded 1"


async def test_a_stop_drains_running_calls_ends_streams_and_exits_with_0(home: Home) -> None:
    home.write("[host]\ngrace = 20\n[packs.desk]\n")
    file = home.folder / "go on"

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url) as web:
        arguments = {"path": str(file)}
        call = asyncio.create_task(web.call("desk_await_file", **arguments))
        wanted = {"notifications": {"toolsListChanged": True}}
        async with web.stream("subscriptions/listen", **wanted) as news:
            first = await anext(news)
            server.process.terminate()
            async with asyncio.timeout(10):
                rest = [frame async for frame in news]
        assert not call.done()
        file.write_text("")
        answer = await call
        async with asyncio.timeout(10):
            code = await server.process.wait()

    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert "result" in rest[-1]
    assert answer["result"]["content"][0]["text"] == "it is there"
    assert code == 0
    assert "Traceback" not in server.stderr


async def test_a_server_that_ends_refuses_what_is_new_and_answers_what_runs(home: Home) -> None:
    home.write("[host]\ngrace = 60\n[packs.desk]\n")
    file = home.folder / "go on"

    async with (
        home.http("--config", "mcp-host.toml") as server,
        Web(server.url) as web,
        Web(server.url) as another,
    ):
        call = asyncio.create_task(web.call("desk_await_file", path=str(file)))
        assert await another.value("desk_greet", name="Ann") == "Hello Ann."
        server.process.terminate()
        ready = await stopping(another)
        frame, headers = another.modern("tools/list", {})
        refused = await another.http.post(server.url, json=frame, headers=headers)
        file.write_text("")
        answer = await call
        async with asyncio.timeout(30):
            code = await server.process.wait()

    assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.headers["connection"] == "close"
    assert refused.json()["error"]["data"]["details"]["reason"] == "stopping"
    assert answer["result"]["content"][0]["text"] == "it is there"
    assert code == 0


@pytest.mark.parametrize("lane", ["0", "1"], ids=["sdk", "lane"])
@pytest.mark.parametrize("era", ["modern", "session"])
async def test_a_call_that_outlives_the_grace_of_a_stop_is_answered_in_the_envelope(
    home: Home, era: str, lane: str
) -> None:
    home.write("[host]\ngrace = 0.5\n[packs.desk]\n")

    async with (
        home.http("--config", "mcp-host.toml", env={"MCP_HOST_LANE": lane}) as server,
        Web(server.url) as web,
    ):
        by: Web | Session = web if era == "modern" else await web.session()
        call = asyncio.create_task(by.call("desk_hold", gate="never"))
        assert (await web.call("desk_reached", gate="never"))["result"]["isError"] is False
        server.process.terminate()
        answer = await call
        async with asyncio.timeout(30):
            code = await server.process.wait()

    error = answer["result"]["_meta"]["mcp-host/error"]
    assert (error["code"], error["retryable"]) == ("unavailable", False)
    assert error["details"] == {"reason": "stopping", "outcome": "unknown"}
    assert code == 0
    assert "Traceback" not in server.stderr


async def test_a_server_that_drains_says_so_and_goes_on_to_serve(home: Home) -> None:
    home.write("[http]\ndrain = 60\n[packs.desk]\n")

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url) as web:
        server.process.terminate()
        await stopping(web)
        greeted = await web.value("desk_greet", name="Ann")
        code = await server.signal()  # the second one ends it at once

    assert greeted == "Hello Ann."
    assert code == 0


async def stopping(web: Web) -> httpx2.Response:
    """What /readyz says of a server that has had its signal."""
    async with asyncio.timeout(30):
        while (ready := await web.get("/readyz")).status_code == 200:
            continue
    return ready


async def test_an_idle_server_ends_at_once_even_while_clients_listen_and_people_think(
    home: Home,
) -> None:
    home.write("[host]\ngrace = 60\n[packs.desk]\n")

    async with home.http("--config", "mcp-host.toml") as server, Web(server.url, **FORM) as web:
        session = await web.session()
        params = {"name": "desk_shred", "arguments": {"ids": ["a"]}}
        async with session.listen(), session.stream("tools/call", **params) as news:
            question = await anext(news)
            began = time.monotonic()
            server.process.terminate()
            answer = await anext(news)
            async with asyncio.timeout(30):
                code = await server.process.wait()
            took = time.monotonic() - began

    assert question["method"] == "elicitation/create"
    assert answer["result"]["_meta"]["mcp-host/error"]["code"] == "cancelled"
    assert code == 0
    assert took < 10  # 0.2 s on a machine of its own; a minute where somebody is waited for
    assert "Traceback" not in server.stderr
