"""Clients that nobody here wrote: the SDK's, OpenAI's Agents SDK, the MCP Inspector."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from core_home import Home
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_host.testing import HttpServer
from warm_home import WarmHome

MODES = ["legacy", "auto", "2026-07-28"]
TOOLS = Path(__file__).resolve().parents[3] / ".tools"

# Asking and logging are deprecated in the protocol, and served all the same.
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


@pytest.fixture(scope="module")
def desk(make_home: Callable[[], Home]) -> Home:
    home = make_home()
    home.write('[packs.desk]\nsessions = "shared"\n')
    return home


@pytest.fixture(scope="module")
async def served(desk: Home) -> AsyncIterator[HttpServer]:
    async with desk.http("--config", "mcp-host.toml") as server:
        yield server


@pytest.fixture(scope="module")
async def front(desk: Home) -> AsyncIterator[None]:
    """Whoever asks for it is served through a front of the warm host from now on."""
    warm = WarmHome(desk)
    shutil.rmtree(desk.folder / "cache", ignore_errors=True)  # of those who were served alone
    await warm.learn()
    yield
    try:
        assert warm.hosts()  # two of them: the Inspector keeps a part of the environment to itself
        assert warm.alone() == ""
    finally:
        warm.end()


TRANSPORTS = [
    "http",
    "stdio",
    pytest.param("front", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux only")),
]


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    """`http`, `stdio`, or `front`: stdio through a front of the warm host."""
    if request.param == "front":
        request.getfixturevalue("front")
    return str(request.param)


def command(desk: Home, transport: str) -> StdioServerParameters:
    python, *arguments = desk.argv("serve")
    return StdioServerParameters(
        command=python, args=arguments, env=with_file(desk, transport), cwd=str(desk.project)
    )


def with_file(desk: Home, transport: str) -> dict[str, str]:
    """The settings file by its variable: some clients take `--config` for an option of theirs."""
    warm = "1" if transport == "front" else "0"
    file = str(desk.project / "mcp-host.toml")
    return desk.environment({"MCP_HOST_CONFIG": file, "MCP_HOST_WARM": warm})


async def agrees(context: Any, asked: Any) -> types.ElicitResult:
    (field,) = asked.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={field: True})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS, indirect=True)
async def test_the_sdks_client_lists_calls_asks_and_hears(
    desk: Home, served: HttpServer, transport: str, mode: str
) -> None:
    heard: list[Any] = []
    steps: list[Any] = []

    async def log(message: Any) -> None:
        heard.append(message.level)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, total, message))

    server: Any = served.url if transport == "http" else command(desk, transport)
    async with Client(
        server, mode=mode, elicitation_callback=agrees, logging_callback=log, log_level="warning"
    ) as client:
        if mode == "legacy":
            await client.set_logging_level("warning")
        tools = (await client.list_tools()).tools
        greeting = await client.call_tool("desk_greet", {"name": "Ann"})
        paper = await client.read_resource("desk://papers/tea")
        prompt = await client.get_prompt("desk_tidy", {"shelf": "top"})
        page = await client.call_tool("desk_papers", {})
        shredded = await client.call_tool("desk_shred", {"ids": ["a"]})
        told = await client.call_tool("desk_tell", {"count": 2}, progress_callback=progress)
        unfit = await client.call_tool("desk_papers", {"limit": 0})
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("desk_nothing", {})
        ref = types.PromptReference(type="ref/prompt", name="desk_tidy")
        proposed = await client.complete(ref, {"name": "paper", "value": "te"})

    assert "desk_greet" in {tool.name for tool in tools}
    assert greeting.content[0].text == "Hello Ann."
    assert paper.contents[0].text == "green"
    assert [message.role for message in prompt.messages] == ["user", "assistant"]
    assert page.structured_content["truncated"] is True
    assert shredded.content[0].text == "shredded 1"
    assert told.content[0].text == "told"
    assert steps == [(1, 2, "step 1"), (2, 2, "step 2")]
    assert heard == ["warning", "error"]
    assert unfit.is_error
    assert unfit.structured_content is None
    assert json.loads(unfit.content[0].text)["code"] == "validation_error"
    assert unknown.value.error.code == -32602
    assert proposed.completion.values == ["tea"]


@pytest.mark.parametrize("transport", TRANSPORTS, indirect=True)
async def test_the_agents_sdk_lists_and_calls(
    desk: Home, served: HttpServer, transport: str
) -> None:
    # Its import takes a second, which who runs other tests need not wait.
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    server: Any = MCPServerStreamableHttp(
        {"url": served.url}, client_session_timeout_seconds=20, use_structured_content=True
    )
    if transport != "http":
        python, *arguments = desk.argv("serve")
        server = MCPServerStdio(
            {
                "command": python,
                "args": arguments,
                "env": with_file(desk, transport),
                "cwd": desk.project,
            },
            client_session_timeout_seconds=20,
        )

    async with server:
        tools = await server.list_tools()
        greeting = await server.call_tool("desk_greet", {"name": "Ann"})
        drawn = await server.call_tool("desk_draw", {"pen": {"colour": "red"}, "lines": "[1, 2]"})
        wrong = await server.call_tool("desk_draw", {"pen": {"colour": "green"}, "lines": []})
        prompts = await server.list_prompts()

    assert "desk_greet" in {tool.name for tool in tools}
    assert greeting.content[0].text == "Hello Ann."
    assert json.loads(drawn.content[0].text)["lines"] == [1, 2]
    assert "'red' or 'blue'" in json.loads(wrong.content[0].text)["error"]
    assert "desk_tidy" in {prompt.name for prompt in prompts.prompts}


def newest_node() -> str | None:
    """The Node that `make conformance` installs is newer than that of many machines."""
    own = TOOLS / "conformance" / "node_modules" / "node" / "bin" / "node"
    return str(own) if own.exists() else shutil.which("node")


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The Inspector's command line; installed into `.tools` where npm can."""
    node, npm = newest_node(), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("NOT TESTED with the MCP Inspector: node and npm are not installed")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    version = "2.12.0" if int(said.strip("v\n").split(".")[0]) >= 22 else "0.15.0"
    folder = TOOLS / f"inspector-{version}"
    program = folder / "node_modules" / ".bin" / "mcp-inspector"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        argv = [npm, "install", "--prefix", folder, "--engine-strict=false", "--silent"]
        argv += ["--no-audit", "--no-fund", f"@modelcontextprotocol/inspector@{version}"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode != 0 or not program.exists():
            pytest.skip(f"NOT TESTED with the MCP Inspector: npm said {done.stderr.strip()}")
    return [node, str(program), "--cli"]


@pytest.mark.xdist_group("inspector")  # it is installed once
@pytest.mark.parametrize("transport", TRANSPORTS, indirect=True)
async def test_the_inspector_lists_and_calls(
    desk: Home, served: HttpServer, inspector: list[str], transport: str
) -> None:
    target = [served.url, "--transport", "http"]
    if transport != "http":
        given = with_file(desk, transport)  # the Inspector hands a server only what it is told to
        wanted = (
            "MCP_HOST_CONFIG",
            "MCP_HOST_WARM",
            "PYTHONPATH",
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
        )
        environment = [part for name in wanted for part in ("-e", f"{name}={given[name]}")]
        target = [*environment, *desk.argv("serve")]

    def inspect(*arguments: str) -> Any:
        done = subprocess.run(
            [*inspector, *target, "--method", *arguments],
            cwd=desk.project,
            env=with_file(desk, transport),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    listed = inspect("tools/list")
    called = inspect("tools/call", "--tool-name", "desk_greet", "--tool-arg", "name=Ann")

    assert "desk_greet" in {tool["name"] for tool in listed["tools"]}
    assert called["content"] == [{"type": "text", "text": "Hello Ann."}]
