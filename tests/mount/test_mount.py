"""Mounted servers: through a started host, everything of theirs is there, and nothing of others."""

import asyncio
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from core_home import Home
from mcp import Client, StdioServerParameters
from mcp_host.testing import Person, StdioClient, http_server, stdio_client
from mcp_host_mount.schemas import input_schema
from mcp_types import ElicitResult

LITTLE = Path(__file__).with_name("little_server.py")
LONGEST = 30.0
STATELESS_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "little_echo",
        "arguments": {"words": "x"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


def table(home: Home, more: str = "") -> Path:
    """Settings that mount the little server, which keeps its state in the project's folder."""
    command = json.dumps([sys.executable, str(LITTLE)])
    return home.write(
        f"[packs.little]\ncommand = {command}\n{more}\n"
        f'[packs.little.env]\nSTATE = "{home.project}"\nTOKEN = {{ env = "GIVEN" }}\n'
    )


def client_of(home: Home, settings: Path) -> AbstractAsyncContextManager[StdioClient]:
    environment = home.environment({"GIVEN": "a-secret-token", "ELSE": "not for servers"})
    serve = home.argv("serve", "--config", str(settings))
    return stdio_client(serve, environment=environment, cwd=home.project)


@asynccontextmanager
async def connected(
    home: Home, settings: Path, transport: str, mode: str, asked: Any
) -> AsyncIterator[Client]:
    """A client of the SDK that asks its person with `asked`, at a host of its own."""
    argv = home.argv("serve", "--config", str(settings))
    environment = home.environment({"GIVEN": "a-secret-token"})
    if transport == "http":
        argv += ["--transport", "http", "--port", "0"]
        async with (
            http_server(argv, environment=environment, cwd=home.project) as server,
            Client(server.url, mode=mode, elicitation_callback=asked) as client,
        ):
            yield client
        return
    started = StdioServerParameters(
        command=argv[0], args=argv[1:], env=environment, cwd=home.project
    )
    async with Client(started, mode=mode, elicitation_callback=asked) as client:
        yield client


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST):
        while not holds():  # noqa: ASYNC110 - files and processes tell nobody
            await asyncio.sleep(0.02)


def learn(home: Home, settings: Path) -> list[str]:
    """Have the host learn what the server lists; the names of its tools."""
    done = home.run("tools", "--json", "--config", str(settings), env={"GIVEN": "a-secret-token"})
    assert done.code == 0, done.err
    return [tool["name"] for tool in done.json]


async def tools_of(client: StdioClient, *, other_than: Sequence[str] = ()) -> dict[str, Any]:
    """The tools of the server, once they are listed: a busy machine starts its worker late."""
    async with asyncio.timeout(LONGEST):
        for count in itertools.count(1):
            tools = {tool["name"]: tool for tool in await client.tools()}
            if tools and list(tools) != list(other_than):
                return tools
            await client.notified("notifications/tools/list_changed", count)
    raise AssertionError


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_all_that_a_server_has_is_there_like_a_packs(home: Home) -> None:
    settings = table(home)
    names = learn(home, settings)

    async with client_of(home, settings) as client:
        listed = await tools_of(client)
        echoed = await client.call("little_echo", words="hello")
        read = await client.read("little://files/a/b")
        prompt = await client.request(
            "prompts/get", {"name": "little_greet", "arguments": {"who": "us"}}
        )
        ref = {"type": "ref/prompt", "name": "little_greet"}
        argument = {"name": "who", "value": "x"}
        proposed = await client.request("completion/complete", {"ref": ref, "argument": argument})
        missing = await client.raw_request("resources/read", {"uri": "little://files/missing"})
        large = await client.call("little_large")
        unparsed = await client.call("little_large", line="not JSON")
        last = await client.call("little_large", line="id last")
        much_waste = await client.call("little_large", line="much waste")
        environment = json.loads(await client.value("little_environment"))
        refused = await client.value("little_sample")

    assert names == list(listed)
    assert {"little_echo", "little_read_it"} <= set(listed)
    assert listed["little_read_it"]["annotations"] == {"readOnlyHint": True}
    assert list(listed["little_broken"]["inputSchema"]["properties"]) == ["a"]
    assert "outputSchema" not in listed["little_odd"]
    assert echoed["content"] == [{"type": "text", "text": "hello"}]
    assert echoed["structuredContent"] == {"own": 1}
    assert read[0]["text"] == "it is little://files/a/b"
    assert prompt["messages"][0]["content"]["text"] == "Greet us"
    assert proposed["completion"]["values"] == ["greetx"]
    assert missing["error"]["data"]["code"] == "not_found"
    for each in (large, unparsed, last):
        details = json.loads(each["content"][0]["text"])["details"]
        assert details["reason"] == "answer_too_large"
        assert details["bytes"] > details["limit"] == 4 << 20
    assert set(much_waste["content"][0]["text"]) == {"é"}
    assert {"TOKEN", "STATE", "PATH"} <= set(environment)
    assert not {"GIVEN", "ELSE", "PYTHONPATH"} & set(environment)
    assert "not allowed" in refused
    assert json.loads((home.project / "offered").read_text()).keys() == {"elicitation"}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_two_sessions_that_are_asked_at_once_hear_their_own_question(
    home: Home, mode: str
) -> None:
    settings = table(home)
    learn(home, settings)
    heard: dict[str, list[str]] = {"ann": [], "bob": []}
    both, thinking = asyncio.Barrier(2), asyncio.Barrier(2)

    async def session(name: str, address: str) -> str:
        async def asked(_: Any, params: Any) -> ElicitResult:
            heard[name].append(params.message)
            await thinking.wait()  # neither answers before the other is asked
            return ElicitResult(action="accept", content={"name": name})

        async with Client(address, mode=mode, elicitation_callback=asked) as client:
            await both.wait()
            result = await client.call_tool("little_ask", {"words": f"for {name}?"})
            return json.loads(result.content[0].text)["content"]["name"]

    serve = home.argv("serve", "--transport", "http", "--port", "0", "--config", str(settings))
    environment = home.environment({"GIVEN": "a-secret-token"})
    async with http_server(serve, environment=environment, cwd=home.project) as server:
        answers = await asyncio.gather(*(session(name, server.url) for name in heard))

    assert answers == ["ann", "bob"]
    assert heard == {name: [f"little: for {name}?"] for name in heard}


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("little_ask_in_vain", {}, "ask_in_vain done"),
        ("little_ask_several", {"questions": ["one?"], "withdrawn": "one?"}, "[]"),
    ],
)
async def test_a_person_is_asked_no_more_what_the_server_does_not_want_to_know_any_more(
    home: Home, transport: str, tool: str, given: dict[str, Any], words: str
) -> None:
    settings = table(home)
    learn(home, settings)
    asked_no_more: list[str] = []

    async def asked(_: Any, params: Any) -> ElicitResult:
        (home.project / "withdraw").touch()
        try:
            async with asyncio.timeout(LONGEST):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            asked_no_more.append(params.message)
            raise
        raise AssertionError("it was not told")

    async with connected(home, settings, transport, "legacy", asked) as client:
        result = await client.call_tool(tool, given)

    assert result.content[0].text == words
    assert len(asked_no_more) == 1


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_questions_of_one_call_are_asked_one_after_the_other(home: Home, mode: str) -> None:
    settings = table(home)
    learn(home, settings)
    heard: list[str] = []

    async def asked(_: Any, params: Any) -> ElicitResult:
        heard.append(params.message)
        (home.project / "withdraw").touch()
        return ElicitResult(action="accept", content={"name": params.message})

    async with connected(home, settings, "stdio", mode, asked) as client:
        questions = {"questions": ["one?", "two?", "three?"]}
        answered = await client.call_tool("little_ask_several", questions)
        again = await client.call_tool("little_ask_several", questions)

    names = [f"little: {name}" for name in ("one?", "two?", "three?")]
    assert json.loads(answered.content[0].text) == json.loads(again.content[0].text) == names
    assert heard == names * 2


async def test_an_answer_that_comes_after_the_call_has_ended_brings_what_became_of_it(
    home: Home,
) -> None:
    settings = table(home)
    learn(home, settings)

    async def asked(_: Any, __: Any) -> ElicitResult:
        (home.project / "withdraw").touch()
        return ElicitResult(action="accept", content={"name": "late"})

    async with connected(home, settings, "http", "2026-07-28", asked) as client:
        result = await client.call_tool("little_ask_in_vain", {})

    assert result.content[0].text == "ask_in_vain done"


async def test_two_sessions_whose_calls_ask_several_questions_hear_their_own(home: Home) -> None:
    settings = table(home)
    learn(home, settings)
    heard: dict[str, list[str]] = {"ann": [], "bob": []}

    async def session(name: str, address: str) -> None:
        async def asked(_: Any, params: Any) -> ElicitResult:
            heard[name].append(params.message)
            return ElicitResult(action="accept", content={"name": name})

        async with Client(address, mode="legacy", elicitation_callback=asked) as client:
            for _ in range(5):
                questions = {"questions": [f"{name} 1", f"{name} 2"]}
                await client.call_tool("little_ask_several", questions)

    serve = home.argv("serve", "--transport", "http", "--port", "0", "--config", str(settings))
    environment = home.environment({"GIVEN": "a-secret-token"})
    async with http_server(serve, environment=environment, cwd=home.project) as server:
        await session("ann", server.url)  # the server has shown how it asks
        await asyncio.gather(*(session(name, server.url) for name in heard))

    assert heard["ann"] == ["little: ann 1", "little: ann 2"] * 10
    assert heard["bob"] == ["little: bob 1", "little: bob 2"] * 5


async def test_lists_follow_the_server_while_it_serves_and_at_its_next_start(home: Home) -> None:
    settings = table(home)
    before = learn(home, settings)

    async with client_of(home, settings) as client:
        await client.call("little_grow")
        grown = list(await tools_of(client, other_than=before))
        called = await client.value("little_grown")
        failed = await client.raw_request("tools/call", {"name": "little_leave", "arguments": {}})
        again = await up_again(client)
        after = list(await tools_of(client))
    (home.project / "grown").touch()
    async with client_of(home, settings) as client:
        then = list(await tools_of(client, other_than=before))
        await client.end_input()
    (catalogue,) = (home.folder / "cache" / "mcp-host" / "catalogues").iterdir()

    assert "little_grown" in catalogue.read_text()  # the client after this one sees it at once
    assert grown == [*before, "little_grown"]
    assert called == "grown done"
    envelope = json.loads(failed["result"]["content"][0]["text"])
    assert (envelope["code"], envelope["details"]["outcome"]) == ("unavailable", "unknown")
    assert "exit code 3" in envelope["error"] and "its last words" in envelope["error"]
    assert again == "up"
    assert (after, then) == (before, grown)


async def up_again(client: StdioClient) -> str:
    """Call until the server is there again, which was started anew."""
    async with asyncio.timeout(LONGEST):
        while True:
            result = await client.call("little_echo", words="up")
            if not result.get("isError"):
                words: str = result["content"][0]["text"]
                return words
            await asyncio.sleep(0.2)


async def test_nothing_of_a_server_is_left_when_its_host_is_killed(home: Home) -> None:
    settings = table(home)
    learn(home, settings)
    (home.project / "processes").unlink()
    with subprocess.Popen(
        home.argv("serve", "--config", str(settings)),
        env=home.environment({"GIVEN": "a-secret-token"}),
        cwd=home.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as host:
        assert host.stdin is not None
        host.stdin.write(json.dumps(STATELESS_CALL).encode() + b"\n")
        host.stdin.flush()
        await until((home.project / "processes").exists)
        await until(lambda: len((home.project / "processes").read_text().split()) == 2)
        pids = [int(pid) for pid in (home.project / "processes").read_text().split()]
        assert all(alive(pid) for pid in pids)
        host.kill()
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_server_hears_who_wants_progress_and_nobody_else_is_told_of_it(home: Home) -> None:
    settings = table(home)
    learn(home, settings)
    call = {"name": "little_echo", "arguments": {"tells_token": True}}
    async with client_of(home, settings) as client:
        await tools_of(client)
        unasked = await client.request("tools/call", call)
        asked = await client.request("tools/call", {**call, "_meta": {"progressToken": "mine"}})
        progress = await client.notified("notifications/progress")

    assert unasked["structuredContent"] == {"own": 1, "has_token": False}
    assert asked["structuredContent"] == {"own": 1, "has_token": True}
    assert [one["params"] for one in progress] == [{"progressToken": "mine", "progress": 1}]


async def test_a_call_waits_for_a_server_that_is_slow_to_start(home: Home) -> None:
    settings = table(home)
    learn(home, settings)
    settings.write_text(settings.read_text() + "[host]\nstart_timeout = 2\n")
    (home.project / "shut").touch()
    async with client_of(home, settings) as client:
        early = asyncio.create_task(client.call("little_echo", words="early"))
        async with asyncio.timeout(LONGEST):
            while "not answered yet" not in str(await client.read("host://packs")):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        during = asyncio.create_task(client.call("little_echo", words="during"))
        (home.project / "shut").unlink()
        answers = [(await each)["content"][0]["text"] for each in (early, during)]

    assert answers == ["early", "during"]


async def test_a_cancelled_call_is_cancelled_at_the_server(home: Home) -> None:
    settings = table(home, "timeout = 1")
    learn(home, settings)
    async with client_of(home, settings) as client:
        result = await client.call("little_wait")
        await until((home.project / "cancelled").exists)

    assert json.loads(result["content"][0]["text"])["code"] == "timeout"


def test_doctor_says_what_was_repaired_and_a_mount_that_cannot_be_says_why(home: Home) -> None:
    home.write(
        '[packs.dies]\ncommand = ["sh", "-c", "echo broken >&2; exit 7"]\n'
        '[packs.gone]\ncommand = ["no-such-program"]\n'
        '[packs.wrong]\ncommand = ["sh"]\nheaders = { A = "b" }\n',
        "bad.toml",
    )
    good = home.run("doctor", "--config", str(table(home)), env={"GIVEN": "a-secret-token"})
    bad = home.run("packs", "--json", "--config", str(home.project / "bad.toml"))

    assert good.code == 0, good.out
    assert "the tool 'read.it' is called read_it here" in good.out
    assert "the tool broken: alternatives at its root were put together" in good.out
    assert "its output schema was left out" in good.out
    reasons = {pack["name"]: pack["reason"] for pack in bad.json["packs"] if "reason" in pack}
    assert "exit code 7" in reasons["dies"] and "broken" in reasons["dies"]
    assert "no-such-program cannot be started" in reasons["gone"]
    assert "packs.wrong: headers must not stand beside command" in reasons["wrong"]


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (None, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object"}),
        ({"type": "object", "allOf": [{}]}, {"type": "object", "allOf": [{}]}),
        ({"properties": 5}, {"type": "object", "properties": {}}),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "title": "A"}}},
            {"$defs": {"A": {"type": "object", "title": "A"}}, "type": "object", "title": "A"},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "strange"}, "b": {"minimum": 1}}},
            {"type": "object", "properties": {"a": {}, "b": {"minimum": 1}}},
        ),
        ({"type": "object", "required": True}, {"type": "object"}),
    ],
)
def test_a_schema_that_would_break_clients_is_repaired_and_no_other(schema: Any, made: Any) -> None:
    repaired, said = input_schema(schema)

    assert repaired == made
    assert bool(said) == (schema != made)


class Redirecting(BaseHTTPRequestHandler):
    """Sends everybody on to another origin."""

    def do_POST(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"{self.server.elsewhere}/mcp")  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: Any) -> None: ...


class Listening(BaseHTTPRequestHandler):
    """Remembers what it was sent, and lets nobody in."""

    def do_POST(self) -> None:
        self.server.heard.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def web(handler: type[BaseHTTPRequestHandler]) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.heard, server.url = [], f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


async def test_a_server_at_an_address_is_a_pack_and_no_secret_follows_a_redirect(
    home: Home,
) -> None:
    settings = table(home)
    learn(home, settings)
    serve = home.argv("serve", "--transport", "http", "--port", "0", "--config", str(settings))
    environment = home.environment({"GIVEN": "a-secret-token"})
    with web(Listening) as elsewhere, web(Listening) as shut, web(Redirecting) as redirecting:
        redirecting.elsewhere = elsewhere.url
        async with http_server(serve, environment=environment, cwd=home.project) as server:
            headers = 'headers = { Authorization = { env = "GIVEN" } }\ntransport = "http"\n'
            home.write(
                f'[packs.web]\nurl = "{server.url}"\nprefix = ""\n{headers}'
                f'[packs.moved]\nurl = "{redirecting.url}/mcp"\n{headers}'
                f'[packs.shut]\nurl = "{shut.url}/mcp"\n{headers}',
                "web.toml",
            )
            given = {"GIVEN": "a-secret-token"}
            web_toml = str(home.project / "web.toml")
            called = await asyncio.to_thread(
                home.run, "call", "little_echo", "words=far", "--config", web_toml, env=given
            )
            packs = await asyncio.to_thread(
                home.run, "packs", "--json", "--config", web_toml, env=given
            )
    reasons = {pack["name"]: pack.get("reason", "") for pack in packs.json["packs"]}

    assert called.out == "far\n", called.err
    assert "not followed" in reasons["moved"]
    assert "HTTP 401" in reasons["shut"]
    assert elsewhere.heard == []
    assert {each["Authorization"] for each in shut.heard} == {"a-secret-token"}
    assert "a-secret-token" not in packs.out


async def test_a_server_of_the_stateless_era_asks_answers_and_tells_of_changes_as_well(
    home: Home,
) -> None:
    settings = table(home)
    settings.write_text(settings.read_text() + 'ONLY = "2026-07-28"\n')
    before = learn(home, settings)
    person = Person(lambda message, _: {"name": message})
    serve, environment = (
        home.argv("serve", "--config", str(settings)),
        home.environment({"GIVEN": "a-secret-token"}),
    )

    async with stdio_client(
        serve, environment=environment, cwd=home.project, person=person
    ) as client:
        asked = json.loads(await client.value("little_ask", words="who?"))
        echoed = await client.call("little_echo", words="hello")
        await until((home.project / "listened").exists)
        await client.call("little_grow")
        grown = list(await tools_of(client, other_than=before))

    assert asked == {"action": "accept", "content": {"name": "little: who?"}}
    assert echoed["content"][0]["text"] == "hello"
    assert json.loads((home.project / "listened").read_text())["toolsListChanged"] is True
    assert grown == [*before, "little_grown"]


def test_a_server_that_ends_when_asked_for_its_versions_is_greeted_as_older_ones_are(
    home: Home,
) -> None:
    settings = table(home)
    settings.write_text(settings.read_text() + 'ENDS_AT = "server/discover"\n')

    assert "little_echo" in learn(home, settings)


async def test_what_was_enabled_by_a_command_is_listed_without_its_server(home: Home) -> None:
    settings = table(home, "enabled = false")
    given = {"GIVEN": "a-secret-token"}

    enabled = home.run("enable", "little", "--config", str(settings), env=given)
    (home.project / "hangs").touch()  # from now on its server answers nothing
    async with client_of(home, settings) as client:
        listed = await tools_of(client)

    assert (enabled.code, enabled.err) == (0, "")
    assert "little_echo" in listed


def test_what_cannot_be_learned_of_a_server_is_said_by_the_command_that_enables_it(
    home: Home,
) -> None:
    settings = home.write('[packs.gone]\nenabled = false\ncommand = ["no-such-program"]\n')

    enabled = home.run("enable", "gone", "--config", str(settings))

    assert enabled.code == 0
    assert "no-such-program cannot be started" in enabled.err


@pytest.mark.parametrize("trusted", [False, True])
def test_the_servers_word_grants_nothing_until_it_is_trusted(home: Home, trusted: bool) -> None:
    more = f"read_only = true\ntrust_annotations = {'true' if trusted else 'false'}"

    names = learn(home, table(home, more))

    assert names == (["little_read_it"] if trusted else [])
