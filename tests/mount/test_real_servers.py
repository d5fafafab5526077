"""Servers of npm and PyPI, all mounted at once: nothing of theirs is lost, and nothing is left."""

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from core_home import Home
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client as sdk_stdio_client
from mcp.shared.exceptions import MCPError
from mcp_host.testing import StdioClient, stdio_client
from real_servers import FILES, REAL, NotInstalledError, Real, command, install, table

pytestmark = [pytest.mark.torture, pytest.mark.xdist_group("real_servers")]
LONGEST = 300.0
KILLS = int(os.environ.get("MCP_HOST_KILLS", "200"))
AT_ONCE = 6
"""Servers of a host that is killed; every tenth has all."""
KINDS = {
    "tools": ("tools/list", "tools", "name"),
    "prompts": ("prompts/list", "prompts", "name"),
    "resources": ("resources/list", "resources", "uri"),
    "templates": ("resources/templates/list", "resourceTemplates", "uriTemplate"),
}
Entries = dict[str, dict[str, dict[str, Any]]]
"""Each kind of list, and its entries by their names."""


@dataclass
class World:
    """Where the servers are installed, where they work, and a host's settings for all of them."""

    home: Home
    folder: Path
    work: Path

    def settings(self, some: tuple[Real, ...] = REAL, name: str = "mcp-host.toml") -> Path:
        packs = {real.pack: table(real, self.folder, self.work) for real in some}
        return self.home.write(tomlkit.dumps({"packs": packs}), name)

    @property
    def environment(self) -> dict[str, str]:
        return self.home.environment({"NO_UPDATE_NOTIFIER": "1"})

    async def run(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        process = await asyncio.create_subprocess_exec(
            *self.home.argv(*arguments, "--json"),
            cwd=self.home.project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        out, _ = await asyncio.wait_for(process.communicate(), LONGEST)
        return json.loads(out)

    @asynccontextmanager
    async def host(self, settings: Path) -> AsyncIterator[StdioClient]:
        serve = self.home.argv("serve", "--config", str(settings))
        async with stdio_client(
            serve, environment=self.environment, cwd=self.home.project
        ) as client:
            yield client


@pytest.fixture(scope="module")
def world(make_home: Any) -> World:
    try:
        folder = install()
    except NotInstalledError as missing:
        pytest.skip(f"NOT TESTED with real servers: {missing}")
    home: Home = make_home()
    work = home.folder / "work"
    work.mkdir()
    (work / "note.txt").write_text("a note\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(work))
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "note.txt"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first commit"], check=True)
    for name, text in FILES.items():
        (home.project / name).write_text(text)
    return World(home, folder, work)


async def own_lists(world: World, real: Real) -> Entries:
    """What a server lists to a client of the SDK that offers what a mount offers."""
    argv, env = command(real, world.folder, world.work, world.home.project)
    parameters = StdioServerParameters(
        command=argv[0],
        args=argv[1:],
        env={"PATH": os.environ["PATH"], "HOME": str(world.home.folder), **env},
        cwd=str(world.home.project),
    )

    async def asked(*_: Any) -> Any:
        raise AssertionError

    with Path(os.devnull).open("w") as nowhere:
        transport = sdk_stdio_client(parameters, errlog=nowhere)
        async with Client(transport, mode="legacy", elicitation_callback=asked) as client:
            reads = {
                "tools": (client.list_tools, "tools", "name"),
                "prompts": (client.list_prompts, "prompts", "name"),
                "resources": (client.list_resources, "resources", "uri"),
                "templates": (
                    client.list_resource_templates,
                    "resource_templates",
                    "uri_template",
                ),
            }
            found: Entries = {}
            for kind, (read, what, key) in reads.items():
                capability = "resources" if kind == "templates" else kind
                entries: list[Any] = []
                has_it = getattr(client.server_capabilities, capability)
                with suppress(MCPError):  # some say that they have resources, and know no templates
                    page = await read() if has_it else None
                    while page:
                        entries += getattr(page, what)
                        page = await read(cursor=page.next_cursor) if page.next_cursor else None
                found[kind] = {
                    str(getattr(each, key)): each.model_dump(
                        by_alias=True, exclude_none=True, mode="json"
                    )
                    for each in entries
                }
            return found


async def host_lists(client: StdioClient) -> Entries:
    """All that the host lists, by the names that it gives."""
    found: Entries = {}
    for kind, (method, what, key) in KINDS.items():
        entries: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = await client.request(method, cursor)
            entries += page[what]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        found[kind] = {entry[key]: entry for entry in entries}
    return found


def with_prefix(real: Real, name: str) -> str:
    """What the host calls a tool; one that begins with the pack's name keeps it."""
    return name if name.startswith((f"{real.pack}_", f"{real.pack}-")) else f"{real.pack}_{name}"


def differences(real: Real, own: Entries, ours: Entries, notes: str) -> list[str]:
    """How a server's lists and those of the host differ, beside what `notes` tell."""
    wrong = []
    for kind, entries in own.items():
        expected = set()
        for name, entry in entries.items():
            plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in name)
            there = name if kind in ("resources", "templates") else with_prefix(real, plain)
            expected.add(there)
            found = ours[kind].get(there)
            if found is None and kind == "templates":
                found = next((e for e in ours[kind].values() if e["name"] == entry["name"]), None)
            if found is None:
                if not any(repr(word) in notes for word in (name, entry["name"])):
                    wrong.append(f"{real.pack}: {kind} {name} is missing")
                continue
            for key in sorted({*entry, *found} - {"name", "uriTemplate", "execution"}):
                is_told = f"the tool {plain}:" in notes
                if entry.get(key) != found.get(key) and not is_told:
                    was, now = (json.dumps(each.get(key))[:400] for each in (entry, found))
                    wrong.append(f"{real.pack}: {kind} {name}: {key}: {was} is {now}")
        if kind in ("tools", "prompts"):
            more = {name for name in ours[kind] if name.startswith(f"{real.pack}_")} - expected
            wrong += [f"{real.pack}: {kind} {name} is nowhere" for name in more]
    return wrong


async def ready(client: StdioClient) -> dict[str, str]:
    """The packs' states, once none is on its way any more."""
    async with asyncio.timeout(LONGEST):
        while True:
            packs = json.loads((await client.read("host://packs"))[0]["text"])
            waiting = [p for p in packs if p["state"] == "opening" or p.get("code") == "starting"]
            if not waiting:
                return {pack["name"]: pack["state"] for pack in packs}
            await asyncio.sleep(0.2)


async def test_every_list_equals_the_servers_own_and_calls_and_errors_come_back(
    world: World,
) -> None:
    settings = world.settings()
    own = {}
    for real in REAL:
        try:
            own[real.pack] = await own_lists(world, real)
        except ExceptionGroup as error:
            pytest.fail(f"{real.pack} cannot be asked directly: {error}")
    doctor = await world.run("doctor", "--config", str(settings))
    notes = {
        pack["name"]: "\n".join(found["problem"] for found in pack["findings"])
        for pack in doctor["packs"]
    }
    async with world.host(settings) as client:
        await ready(client)  # and the catalogue is saved
    answers: dict[str, tuple[Any, Any]] = {}
    async with world.host(settings) as client:
        began = time.monotonic()
        first = await host_lists(client)
        took = time.monotonic() - began
        states = await ready(client)
        after = await host_lists(client)
        for real in REAL:
            right = wrong = None
            if real.call is not None:
                right = await called(client, real, world, *real.call[:2])
            if real.wrong is not None:
                wrong = await called(client, real, world, *real.wrong)
            answers[real.pack] = (right, wrong)
    print(f"the first lists of {len(REAL)} servers took {took:.3f} s")
    print(f"{len(first['tools'])} tools")
    for pack, said in notes.items():
        print(pack, "-", said or "nothing was repaired or withheld")

    assert states == {real.pack: "ready" for real in REAL}
    assert [
        f"{name}: {json.dumps(entry)[:600]} became {json.dumps(after[kind].get(name))[:600]}"
        for kind, entries in first.items()
        for name, entry in entries.items()
        if after[kind].get(name) != entry
    ] == []
    assert {kind: list(of) for kind, of in first.items()} == {
        k: list(of) for k, of in after.items()
    }
    assert [d for r in REAL for d in differences(r, own[r.pack], after, notes[r.pack])] == []
    for real in REAL:
        right, wrong = answers[real.pack]
        if real.call is not None:
            assert not right.get("isError") and real.call[2] in json.dumps(right), (real, right)
        if real.wrong is not None:
            assert wrong.get("isError") or "code" in wrong, (real, wrong)


async def called(
    client: StdioClient, real: Real, world: World, tool: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """What a call comes back with: a result, or an error of the protocol."""
    arguments = json.loads(json.dumps(given).replace("{work}", str(world.work)))
    params = {"name": with_prefix(real, tool), "arguments": arguments}
    answer = await client.raw_request("tools/call", params)
    return dict(answer.get("result") or answer["error"])


def processes_of(home: Path) -> dict[int, str]:
    """What runs with this folder as its user's: the hosts, their children, and theirs."""
    mark = f"HOME={home}\0".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes() + b"\0":
                    found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
    return found


async def what_stays(home: Path) -> dict[int, str]:
    """What of a host is still there half a minute after its end."""
    there = processes_of(home)
    for _ in range(600):
        if not there:
            break
        await asyncio.sleep(0.05)
        there = processes_of(home)
    return there


@pytest.fixture
def dice() -> Iterator[random.Random]:
    seed = random.randrange(1 << 32)
    print(f"the dice's seed is {seed}")
    yield random.Random(seed)


async def test_nothing_is_left_after_many_starts_and_kills(
    world: World, dice: random.Random
) -> None:
    """The host, its children or theirs are killed at random moments; nothing of them stays."""
    left: list[str] = []
    for turn in range(KILLS):
        some = REAL if turn % 10 == 9 else tuple(dice.sample(REAL, AT_ONCE))
        settings = world.settings(some, "kills.toml")
        process = await asyncio.create_subprocess_exec(
            *world.home.argv("serve", "--config", str(settings)),
            cwd=world.home.project,
            env=world.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(dice.randrange(3)):  # children first, in some rounds
            await asyncio.sleep(dice.uniform(0, 1.5))
            children = [pid for pid in processes_of(world.home.folder) if pid != process.pid]
            if children:
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(children), signal.SIGKILL)
        await asyncio.sleep(dice.uniform(0, 2.5))
        how = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        with suppress(ProcessLookupError):
            process.send_signal(how)
        await process.wait()
        for pid, words in (await what_stays(world.home.folder)).items():
            left.append(f"turn {turn}: {words}")
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert left == []
