"""Long calls as tasks (SEP-2663), over a pack whose jobs end when a file is there."""

import asyncio
import json
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from mcp_host import Caller
from mcp_host.errors import MissingCapability, ProtocolError
from mcp_host.testing import CallFailed, PackContract, hosted, http_server, stdio_client
from mcp_host_tasks.engine.protocol import Wish
from mcp_host_tasks.engine.sqlite import open_engine
from mcp_host_tasks.errors import TooManyTasksError
from mcp_host_tasks.model import INTERRUPTED, Task
from mcp_host_tasks.settings import TasksSettings

IDENTIFIER = "io.modelcontextprotocol/tasks"
MODERN = "2026-07-28"
ANNA = Caller(
    subject="anna",
    protocol=MODERN,
    offers=frozenset(("elicitation",)),
    extensions={IDENTIFIER: {}},
)
BERT = replace(ANNA, subject="bert")
JOBS = '''
import asyncio
from pathlib import Path
from typing import Annotated
from mcp_host import Ask, Context, MissingCapability, hookimpl, tool

@tool
async def dig(gate: str, context: Context) -> int:
    """Dig until the file is there."""
    context.progress(1, 4, "digging")
    try:
        while not Path(gate).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        Path(gate + ".cancelled").touch()
        raise
    return 7

@tool
async def briefly(gate: str) -> int:
    """Have little time."""
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    return 3

@tool
async def refuse(gate: str) -> str:
    """End in an error of the protocol."""
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    raise MissingCapability("roots")

@tool
def name(first: Annotated[str, Ask("First?")], second: Annotated[str, Ask("Second?")]) -> str:
    """Ask for two names."""
    return first + " " + second

@hookimpl
def mcp_host_tools():
    return [dig, briefly, refuse, name]
'''
PACKS = {"jobs": "tasks_test_jobs", "tasks": "mcp_host_tasks.plugin"}
TABLES = {
    "packs": {
        "jobs": {"tools": {"briefly": {"timeout": 0.2}}, "max_concurrency": 4},
        "tasks": {
            "settings": {
                "after": 0.05,
                "poll": 0.05,
                "running": 3,
                "asked_in_task": ["jobs_name"],
                "required": ["jobs_refuse"],
            }
        },
    },
    "host": {"max_concurrency": 3},
}
pytestmark = pytest.mark.anyio


class TestContract(PackContract):
    pack = "tasks"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


@pytest.fixture
def code(tmp_path, monkeypatch):
    """The folder with the pack of jobs, which can be imported here and in children."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "tasks_test_jobs.py").write_text(JOBS)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for who in "ab":
        monkeypatch.setenv(f"TOKEN_{who.upper()}", who * 32)
    yield folder
    sys.modules.pop("tasks_test_jobs", None)


async def until(find, fits):
    """What is found once it fits."""
    async with asyncio.timeout(30):
        while True:
            found = await find()
            if fits(found):
                return found
            await asyncio.sleep(0.02)


async def ended(kit, task_id):
    return await until(
        lambda: kit.method("tasks/get", taskId=task_id),
        lambda task: task["status"] not in ("working", "input_required"),
    )


@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_a_long_call_goes_on_as_a_task_of_its_caller(code, tmp_path, isolation):
    gate = tmp_path / "gate"
    async with hosted(PACKS, TABLES, isolation=isolation) as kit:
        anna, bert = kit.seen_by(ANNA), kit.seen_by(BERT)

        made = await anna.call("jobs_dig", gate=str(gate))
        assert made["resultType"] == "task" and made["status"] == "working"
        assert {"createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} <= made.keys()
        task_id = made["taskId"]
        seen = await until(
            lambda: anna.method("tasks/get", taskId=task_id), lambda t: "statusMessage" in t
        )
        assert seen["statusMessage"] == "1 of 4: digging"

        # nobody else's, whatever they know, and not without the extension
        for caller in (
            BERT,
            replace(ANNA, subject=None),
            replace(ANNA, subject=None, connection=None),
        ):
            for method, more in (("get", {}), ("cancel", {}), ("update", {"inputResponses": {}})):
                with pytest.raises(CallFailed) as refused:
                    await kit.seen_by(caller).method(f"tasks/{method}", taskId=task_id, **more)
                assert refused.value.code == "not_found"
        followed = kit.host.catalog.subscriptions["tasks"][1].agree
        for caller, agreed in ((ANNA, [task_id]), (BERT, [])):
            asked = {"names": [task_id]}
            told = await kit.host.own_methods.ask("tasks", followed, asked, caller, "one")
            assert told["names"] == agreed
        context = kit.host.context(replace(ANNA, extensions={}))
        with pytest.raises(MissingCapability) as lacks:
            await kit.host.call_method("tasks/get", {"taskId": task_id}, context)
        assert lacks.value.data["requiredCapabilities"] == {"extensions": {IDENTIFIER: {}}}

        # what runs behind handles has no place in the host, and its limit is the caller's own
        others = [await anna.call("jobs_dig", gate=str(gate)) for _ in range(2)]
        over = asyncio.create_task(anna.call("jobs_dig", gate=str(gate)))
        theirs = await bert.call("jobs_dig", gate=str(gate) + "2")
        assert theirs["resultType"] == "task"
        await bert.method("tasks/cancel", taskId=theirs["taskId"])
        assert (await ended(bert, theirs["taskId"]))["status"] == "cancelled"
        assert await until(lambda: asyncio.sleep(0, (tmp_path / "gate2.cancelled").exists()), bool)
        await bert.method("tasks/cancel", taskId=theirs["taskId"])

        gate.touch()
        done = await ended(anna, task_id)
        assert done["status"] == "completed"
        assert done["result"]["structuredContent"] == {"result": 7}
        assert "resultType" not in (await over) or (await over)["resultType"] != "task"
        for other in others:
            assert (await ended(anna, other["taskId"]))["status"] == "completed"

        # an error of the protocol, and one of the tool
        failing = await anna.call("jobs_refuse", gate=str(gate) + "3")
        (tmp_path / "gate3").touch()
        failed = await ended(anna, failing["taskId"])
        assert failed["status"] == "failed" and failed["error"]["code"] == -32021
        with pytest.raises(ProtocolError):
            context = kit.host.context(replace(ANNA, extensions={}))
            await kit.host.call_tool("jobs_refuse", {"gate": str(gate)}, context)


@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_a_task_asks_behind_its_handle_and_takes_answers_one_by_one(code, isolation):
    async with hosted(PACKS, TABLES, isolation=isolation) as kit:
        anna = kit.seen_by(ANNA)
        task_id = (await anna.call("jobs_name"))["taskId"]
        asks = await until(
            lambda: anna.method("tasks/get", taskId=task_id),
            lambda task: task["status"] == "input_required",
        )
        first, second = sorted(asks["inputRequests"])

        async def answer(key, value):
            given = {key: {"action": "accept", "content": {"value": value}}, "unknown": {}}
            fields = asks["inputRequests"].get(key, {"params": {}})["params"]
            (field,) = fields.get("requestedSchema", {"properties": {"value": 0}})["properties"]
            given[key]["content"] = {field: value}
            await anna.method("tasks/update", taskId=task_id, inputResponses=given)

        await answer(first, "Ada")
        left = await anna.method("tasks/get", taskId=task_id)
        assert left["status"] == "input_required" and list(left["inputRequests"]) == [second]
        await answer(first, "Eve")  # it was answered
        await answer(second, "Lovelace")
        done = await ended(anna, task_id)
        assert done["result"]["content"][0]["text"] == "Ada Lovelace"


async def test_a_client_without_the_extension_gets_a_handle_at_its_deadline(code, tmp_path):
    gate = tmp_path / "gate"
    async with hosted(PACKS, TABLES) as kit:
        plain = kit.seen_by(Caller(connection="one", protocol="2025-11-25"))
        answer = await plain.call("jobs_briefly", gate=str(gate))
        text = answer["content"][0]["text"]
        assert answer["isError"] is True  # it has an output schema, which this does not fit
        task_id = json.loads(text[text.index("{") : text.index("}") + 1])["task_id"]
        assert "tasks_result" in text

        waits = await plain.value("tasks_result", task_id=task_id, wait=0)
        assert json.loads(waits)["status"] == "working"
        stranger = kit.seen_by(Caller(connection="two", protocol="2025-11-25"))
        assert (await stranger.error("tasks_result", task_id=task_id))["code"] == "not_found"
        gate.touch()
        assert await plain.value("tasks_result", task_id=task_id) == 3


async def test_calls_that_came_while_tasks_was_imported_get_their_handles(code, tmp_path):
    gate, imported = tmp_path / "gate", tmp_path / "imported"
    (code / "tasks_test_late.py").write_text(
        f"import pathlib, time\nwhile not pathlib.Path({str(imported)!r}).exists():\n"
        "    time.sleep(0.01)\nfrom mcp_host_tasks.plugin import *\n"
    )
    late = {**PACKS, "tasks": "tasks_test_late"}
    settings = {"jobs": {"tools": {"briefly": {"timeout": 1}}}}
    settings["tasks"] = TABLES["packs"]["tasks"]
    async with hosted(late, {"packs": settings}, settled=False) as kit:
        anna, plain = kit.seen_by(ANNA), kit.seen_by(Caller(connection="1", protocol="2025-11-25"))
        first = asyncio.create_task(anna.call("jobs_dig", gate=str(gate)))
        second = asyncio.create_task(plain.call("jobs_briefly", gate=str(gate)))
        await until(lambda: asyncio.sleep(0, anna.heard.messages), bool)  # they run
        imported.touch()

        made, told = await first, (await second)["content"][0]["text"]
        gate.touch()
        assert made["resultType"] == "task"
        done = await ended(anna, made["taskId"])
        assert done["result"]["structuredContent"] == {"result": 7}
        task_id = json.loads(told[told.index("{") : told.index("}") + 1])["task_id"]
        assert await plain.value("tasks_result", task_id=task_id) == 3


SERVED = """
[http]
[[http.tokens]]
token = { env = "TOKEN_A" }
subject = "anna"
scopes = ["*"]
[[http.tokens]]
token = { env = "TOKEN_B" }
subject = "bert"
scopes = ["*"]
[packs.jobs]
enabled = true
file = "./code/tasks_test_jobs.py"
[packs.tasks]
enabled = true
settings = { after = 0.05 }
"""


async def test_a_task_whose_server_was_killed_is_failed_and_still_its_callers_own(code, tmp_path):
    settings = tmp_path / "mcp-host.toml"
    settings.write_text(SERVED)
    serve = [sys.executable, "-m", "mcp_host", "serve", "--config", str(settings)]
    http = [*serve, "--transport", "http", "--port", "0"]
    gate = tmp_path / "gate"

    async with http_server(http) as server:
        made = await post(
            server.url, "a", "tools/call", name="jobs_dig", arguments={"gate": str(gate)}
        )
        assert made["result"]["resultType"] == "task"
        task_id = made["result"]["taskId"]
        told = await post(server.url, "a", "tasks/get", taskId=task_id)
        assert told["result"]["status"] == "working"
        await server.signal(9)
    async with http_server(http) as server:
        told = await post(server.url, "a", "tasks/get", taskId=task_id)
        assert told["result"]["status"] == "failed"
        assert told["result"]["statusMessage"] == INTERRUPTED
        assert told["result"]["error"]["data"]["reason"] == "interrupted"
        assert (await post(server.url, "b", "tasks/get", taskId=task_id))["error"]["code"] == -32602
        assert (await post(server.url, "a", "tasks/list"))["error"]["code"] == -32601
        other = {"Mcp-Name": "another"}
        wrong = await post(server.url, "a", "tasks/get", headers=other, taskId=task_id)
        assert wrong["error"]["code"] == -32020


@pytest.mark.parametrize("lane", ["1", "0"])
async def test_a_handle_keeps_its_own_result_type_on_stdio(code, tmp_path, lane):
    settings = tmp_path / "mcp-host.toml"
    settings.write_text(SERVED)
    serve = [sys.executable, "-m", "mcp_host", "serve", "--config", str(settings)]
    own = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {IDENTIFIER: {}}}}
    environment = {"MCP_HOST_LANE": lane}
    async with stdio_client(serve, protocol=MODERN, environment=environment) as client:
        arguments = {"gate": str(tmp_path / "gate")}
        made = []
        for name in ("jobs_dig", "jobs_briefly"):  # one says something before its answer
            call = {"name": name, "arguments": arguments, "_meta": own}
            made.append(await client.request("tools/call", call))
            assert made[-1]["resultType"] == "task"
        (tmp_path / "gate").touch()
        for handle, value in zip(made, (7, 3), strict=True):
            done = await until(
                lambda asked={"taskId": handle["taskId"], "_meta": own}: client.request(
                    "tasks/get", asked
                ),
                lambda task: task["status"] != "working",
            )
            assert done["resultType"] == "complete"
            assert done["result"]["structuredContent"] == {"result": value}


async def post(url, who, method, headers=None, **params):
    """The answer to one request of 2026-07-28 over HTTP, by the token of somebody."""
    from urllib.request import Request, urlopen

    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {IDENTIFIER: {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    }
    name = params.get("name") or params.get("taskId")
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    given = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {who * 32}",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        **({"Mcp-Name": name} if name else {}),
        **(headers or {}),
    }

    def send():
        from urllib.error import HTTPError

        request = Request(url, json.dumps(body).encode(), given)
        try:
            with urlopen(request, timeout=60) as response:
                said = response.read().decode()
        except HTTPError as error:
            said = error.read().decode()
        lines = [line[6:] for line in said.splitlines() if line.startswith("data: ")]
        return json.loads(lines[-1] if lines else said)

    return await asyncio.to_thread(send)


def task(owner, name="one", whose="anna", seconds=60.0):
    now = time.time()
    return Task(name, "dig", whose, owner, now, now, now + seconds, 1.0)


async def test_the_engine_bounds_each_caller_forgets_what_expired_and_brings_wishes(tmp_path):
    async with open_engine(TasksSettings(), tmp_path) as here:
        await here.add(task(here.owner), running=1, kept=2)
        with pytest.raises(TooManyTasksError):
            await here.add(task(here.owner, "two"), running=1, kept=2)
        await here.add(task(here.owner, "three", "bert"), running=1, kept=2)
        await here.change("one", lambda t: replace(t, status="completed", result={"a": 1}))
        await here.change("one", lambda t: replace(t, status="cancelled"))  # it has ended
        assert (await here.get("one")).result == {"a": 1}
        await here.add(task(here.owner, "four", seconds=-1), running=2, kept=9)
        assert await here.get("four") is None

        async with open_engine(TasksSettings(), tmp_path) as there:  # as another process has it
            found = await there.get("three")
            assert found.status == "working"
            await there.wish(found, Wish("three", cancel=True))
            assert await there.wishes(0) == []
            assert await here.wishes(30) == [Wish("three", cancel=True)]
            await there.add(task(there.owner, "five"), running=9, kept=9)
        assert (await here.get("five")).status == "failed"  # it closed in order
    assert [file.name for file in tmp_path.iterdir()] == ["tasks.db"]


async def test_a_new_file_that_another_server_is_making_is_waited_for(tmp_path):
    other = sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # as SQLite does itself where a file is given its log

    async def opened():
        async with open_engine(TasksSettings(), tmp_path) as here:
            await here.add(task(here.owner), running=1, kept=1)

    opening = asyncio.create_task(opened())
    await asyncio.wait({opening}, timeout=0.3)
    assert not opening.done()

    other.execute("COMMIT")
    other.close()
    await opening


async def test_a_later_format_is_refused(tmp_path):
    async with open_engine(TasksSettings(), tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "tasks.db")) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(RuntimeError, match="later version"):
        async with open_engine(TasksSettings(), tmp_path):
            pass
    assert Path(tmp_path / "tasks.db").exists()


async def test_a_stream_is_told_what_becomes_of_the_tasks_that_its_client_may_follow(
    code, tmp_path
):
    settings = tmp_path / "mcp-host.toml"
    settings.write_text(SERVED)
    serve = [sys.executable, "-m", "mcp_host", "serve", "--config", str(settings)]
    own = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {IDENTIFIER: {}}}}
    gate = tmp_path / "gate"
    async with stdio_client(serve, protocol=MODERN) as client:
        call = {"name": "jobs_dig", "arguments": {"gate": str(gate)}, "_meta": own}
        made = await client.request("tools/call", call)
        mine = made["taskId"]
        wanted = {"notifications": {"taskIds": [mine, "another's", mine]}}

        refused = (await client.raw_request("subscriptions/listen", wanted))["error"]
        assert refused["code"] == -32021
        assert refused["data"]["requiredCapabilities"] == {"extensions": {IDENTIFIER: {}}}

        await client.send(
            client.frame("listening", "subscriptions/listen", {**wanted, "_meta": own})
        )
        (agreed,) = await client.notified("notifications/subscriptions/acknowledged")
        assert agreed["params"]["notifications"] == {"taskIds": [mine]}
        (told,) = await client.notified("notifications/tasks")
        assert (told["params"]["taskId"], told["params"]["status"]) == (mine, "working")
        gate.touch()
        notices = await until(
            lambda: client.notified("notifications/tasks"),
            lambda notices: notices[-1]["params"]["status"] != "working",
        )
        told = notices[-1]["params"]
        asked = await client.request("tasks/get", {"taskId": mine, "_meta": own})
        assert told.pop("_meta")["io.modelcontextprotocol/subscriptionId"] == "listening"
        for only_of_the_answer in ("_meta", "resultType"):
            del asked[only_of_the_answer]
        assert told == asked and told["result"]["structuredContent"] == {"result": 7}
