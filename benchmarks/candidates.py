"""Who is measured: the bare SDK, FastMCP, and mcp-host with packs made for the purpose."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from .clients import Era, HttpClient, StdioClient, free_port

ROOT = Path(__file__).resolve().parent.parent
SERVERS = Path(__file__).resolve().parent / "servers"
FASTMCP = "fastmcp==4.1.2"  # the newest that can be installed beside the pinned SDK
SDK = "SDK, 1 tool"
HOST_ONE = "mcp-host, 1 pack of 1 tool"
HOST_TEN = "mcp-host, 10 packs of 10 tools"
HOST_TASKY = "mcp-host, Tasky"
HOST_ALL = "mcp-host, all packs of this repository"
MOUNT = "mcp-host, a mount"
MOUNT_APART = "mcp-host, a mount, a processor each"
MOUNT_OBJECT = "mcp-host, a mount of its object"
PROXY = "FastMCP, a proxy"
NO_CATALOGUE = ", no catalogue"

ADDITION = {"a": 1, "b": 2}


@dataclass(frozen=True)
class Candidate:
    """A server, the tool that is called on it, and how it is started: `command(transport)`."""

    name: str
    tool: str
    stdio: tuple[str, ...]
    http: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=lambda: ADDITION)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def call(self) -> dict[str, Any]:
        return {"name": self.tool, "arguments": dict(self.arguments)}

    def over_stdio(self, era: Era) -> StdioClient:
        return StdioClient(era, self.stdio, _environment() | self.environment)

    def over_http(self, era: Era) -> HttpClient:
        port = free_port()
        command = [part.replace("PORT", str(port)) for part in self.http]
        return HttpClient(era, command, _environment() | self.environment, port)


def _environment() -> dict[str, str]:
    """Ours, in which Python may keep its bytecode: what pip installs comes with it."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"MCP_HOST_WARM": "0", **own}


@contextmanager
def candidates() -> Iterator[list[Candidate]]:
    """Every candidate, with a scratch folder for what the host's packs keep."""
    with TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        folder = Path(scratch)
        yield [_sdk(), *_fastmcp(), *_hosts(folder)]


@contextmanager
def callers() -> Iterator[tuple[list[Candidate], list[Candidate]]]:
    """Who is called in the lane's benchmark: with a small tool, and with one that gives rows."""
    with TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        folder = Path(scratch)
        packs = folder / "packs"
        _write_pack(packs, "alone", tools=1)
        rows = _PLUGIN + _ROWS
        _install_pack(packs, "rows", rows)
        one = _host(folder, HOST_ONE, "alone_add_0", "[packs.alone]\nenabled = true\n")
        many = _host(folder, HOST_ONE, "rows_rows", "[packs.rows]\nenabled = true\n", arguments={})
        yield (
            [_sdk(), _fastmcp_with("one", "FastMCP, 1 tool", "add_0", ADDITION), *_ways(one)],
            [
                _sdk_with("rows", SDK, "rows", {}),
                _fastmcp_with("rows", "FastMCP, 1 tool", "rows", {}),
                *_ways(many),
            ],
        )


@contextmanager
def mounts() -> Iterator[list[Candidate]]:
    """Who is called in the benchmark of mounts: an SDK server directly, and through others."""
    with TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        server = _sdk()
        place = json.dumps(f"{SERVERS / 'sdk.py'}:one")
        ways = {MOUNT: f"command = {json.dumps(server.stdio)}", MOUNT_OBJECT: f"server = {place}"}
        ours, servers = _two_processors()
        if servers:
            ways[MOUNT_APART] = f"command = {json.dumps((*servers, *server.stdio))}"
        hosts = [
            _host(Path(scratch), name, "far_add_0", f"[packs.far]\n{way}\n")
            for name, way in ways.items()
        ]
        for each in hosts:
            learn = (*each.stdio[:3], "tools", *each.stdio[4:6])
            subprocess.run(
                learn, env=_environment() | each.environment, check=True, capture_output=True
            )
        hosts = [
            replace(one, stdio=(*ours, *one.stdio)) if one.name == MOUNT_APART else one
            for one in hosts
        ]
        proxy = (str(fastmcp_python()), str(SERVERS / "fastmcp_proxy.py"), *server.stdio)
        yield [server, *hosts, Candidate(PROXY, "add_0", stdio=proxy, http=())]


def _two_processors() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What binds a program to one processor, and to another; nothing where there is no such way."""
    if which("taskset") is None or len(os.sched_getaffinity(0)) < 2:
        return (), ()
    one, other, *_ = sorted(os.sched_getaffinity(0))
    return ("taskset", "--cpu-list", str(one)), ("taskset", "--cpu-list", str(other))


def _ways(host: Candidate) -> list[Candidate]:
    """The host on asyncio's loop, on uvloop where that is installed, and without the lane."""
    ways = {"": {"MCP_HOST_UVLOOP": "0"}, ", uvloop": {"MCP_HOST_UVLOOP": "1"}}
    if find_spec("uvloop") is None:
        del ways[", uvloop"]
    ways[", no lane"] = {"MCP_HOST_UVLOOP": "0", "MCP_HOST_LANE": "0"}
    return [
        replace(host, name=host.name + way, environment={**host.environment, **more})
        for way, more in ways.items()
    ]


@contextmanager
def starters() -> Iterator[list[Candidate]]:
    """Who is started: as `candidates`, and every host also without its saved catalogue."""
    with candidates() as everyone, TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        packs = ("cortex", "openspec", "tasky", "todo_db")
        enabled = "".join(f"[packs.{name}]\nenabled = true\n" for name in packs)
        whole = _host(
            Path(scratch),
            HOST_ALL,
            "todo_db_list_tasks",
            f'[host]\nroot = "."\n{enabled}',
            arguments={"user_id": "bench"},
        )
        begin = (str(Path(sys.executable).with_name("tasky")), "project", "init", scratch)
        subprocess.run(begin, check=True, capture_output=True)
        tasky = _host(
            Path(scratch),
            HOST_TASKY,
            "tasky_project_info",
            f'[host]\nroot = "{scratch}"\n[packs.tasky]\nenabled = true\n',
            arguments={},
        )
        hosts = [c for c in everyone if c.name in (HOST_ONE, HOST_TEN)] + [tasky, whole]
        yield [*(c for c in everyone if c not in hosts), *hosts, *map(_without_catalogue, hosts)]


def _without_catalogue(host: Candidate) -> Candidate:
    name = host.name + NO_CATALOGUE
    return replace(host, name=name, stdio=(*host.stdio, "--no-catalogue"))


def _sdk() -> Candidate:
    return _sdk_with("one", SDK, "add_0", ADDITION)


def _sdk_with(shape: str, name: str, tool: str, arguments: Mapping[str, Any]) -> Candidate:
    program = (sys.executable, str(SERVERS / "sdk.py"), shape)
    stdio, http = (*program, "stdio"), (*program, "http", "PORT")
    return Candidate(name, tool, stdio=stdio, http=http, arguments=arguments)


def _fastmcp() -> list[Candidate]:
    return [
        _fastmcp_with("one", "FastMCP, 1 tool", "add_0", ADDITION),
        _fastmcp_with("ten", "FastMCP, 10 mounts of 10 tools", "p5_add_5", ADDITION),
    ]


def _fastmcp_with(shape: str, name: str, tool: str, arguments: Mapping[str, Any]) -> Candidate:
    program = (str(fastmcp_python()), str(SERVERS / "fastmcp_tools.py"), shape)
    return Candidate(
        name,
        tool,
        stdio=(*program, "stdio"),
        http=(*program, "http", "PORT"),
        arguments=arguments,
        environment={"FASTMCP_CHECK_FOR_UPDATES": "off"},
    )


def fastmcp_python() -> Path:
    """FastMCP in an environment of its own, with the SDK that the host uses; made once."""
    environment = ROOT / ".venv-bench"
    python = environment / "bin" / "python"
    done = environment / f".{FASTMCP}, asyncpg"
    if not done.exists():
        print(f"installing {FASTMCP} into {environment.name}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pins = ("--constraint", str(ROOT / "constraints.txt"))
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *pins, FASTMCP, "asyncpg"],
            check=True,
        )
        done.touch()
    return python


def _hosts(folder: Path) -> list[Candidate]:
    packs = folder / "packs"
    for number in range(10):
        _write_pack(packs, f"p{number}", tools=10)
    _write_pack(packs, "alone", tools=1)
    ten = "".join(f"[packs.p{number}]\nenabled = true\n" for number in range(10))
    return [
        _host(folder, HOST_ONE, "alone_add_0", "[packs.alone]\nenabled = true\n"),
        _host(folder, HOST_TEN, "p5_add_5", ten),
        _host(
            folder,
            "mcp-host, Todo DB (SQLite)",
            "todo_db_list_tasks",
            "[packs.todo_db]\nenabled = true\n",
            arguments={"user_id": "bench"},
        ),
    ]


def _host(
    folder: Path, name: str, tool: str, settings: str, arguments: Mapping[str, Any] = ADDITION
) -> Candidate:
    file = folder / f"{len(list(folder.glob('*.toml')))}.toml"
    file.write_text(settings, encoding="utf-8")
    serve = (sys.executable, "-m", "mcp_host", "serve", "--config", str(file), "--transport")
    kept = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    return Candidate(
        name,
        tool,
        stdio=(*serve, "stdio"),
        http=(*serve, "http", "--port", "PORT"),
        arguments=arguments,
        environment={
            "PYTHONPATH": str(folder / "packs"),
            **{variable: str(folder / file.stem) for variable in kept},
        },
    )


_PLUGIN = '''"""Made by the benchmark."""

from mcp_host import hookimpl, tool
'''
_TOOL = '''

@tool(read_only=True)
async def add_{number}(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
_ROWS = '''
ROWS = [
    {"id": number, "title": f"Task number {number}", "done": number % 3 == 0, "tags": ["a", "b"]}
    for number in range(500)
]


@tool(read_only=True)
async def rows() -> list[dict]:
    """Give five hundred rows."""
    return ROWS


@hookimpl
def mcp_host_tools():
    return [rows]
'''
_HOOK = """

@hookimpl
def mcp_host_tools():
    return [{names}]
"""


def _write_pack(folder: Path, name: str, tools: int) -> None:
    functions = "".join(_TOOL.format(number=number) for number in range(tools))
    names = ", ".join(f"add_{number}" for number in range(tools))
    _install_pack(folder, name, _PLUGIN + functions + _HOOK.format(names=names))


def _install_pack(folder: Path, name: str, plugin: str) -> None:
    """A pack as an installer leaves it: a module, and beside it its distribution's metadata."""
    folder.mkdir(exist_ok=True)
    (folder / f"bench_{name}.py").write_text(plugin, encoding="utf-8")
    about = folder / f"bench_{name}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: bench-{name}\nVersion: 1\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        f"[mcp_host.packs]\n{name} = bench_{name}\n", encoding="utf-8"
    )
