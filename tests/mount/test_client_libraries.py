"""Nine client libraries that nobody here wrote use a mounted server, and notice nothing.

`MCP_HOST_CLIENT_LIBRARIES` names a folder with three things, as these commands make them:

    python -m venv py && py/bin/pip install fastmcp "pydantic-ai-slim[mcp]" openai-agents
    python -m venv py1 && py1/bin/pip install langchain-mcp-adapters "mcp<2"
    npm install --prefix npm @modelcontextprotocol/sdk @ai-sdk/mcp @mastra/mcp
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from core_home import Home
from mcp_host.testing import stdio_client

FOLDER = Path(os.environ.get("MCP_HOST_CLIENT_LIBRARIES", "/nowhere"))
HERE = Path(__file__).parent
LONGEST = 1800.0  # LangChain starts a host for each call
LIMITS = "[host]\ntimeout = 600\nstart_timeout = 120\n"
"""How long a busy machine may take is not what is looked at."""
SECOND, FIRST = FOLDER / "py", FOLDER / "py1"
"""Environments with the second and the first version of the SDK."""
OF_PYTHON = {
    "sdk": SECOND,
    "fastmcp": SECOND,
    "pydantic_ai": SECOND,
    "agents": SECOND,
    "sdk_1": FIRST,
    "langchain": FIRST,
}
OF_JAVASCRIPT = ("sdk", "ai_sdk", "mastra")
SERVER = '''
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

mcp = MCPServer("server", version="1")


class Sure(BaseModel):
    sure: bool


def question() -> Elicit[Sure]:
    return Elicit("Are you sure?", Sure)


@mcp.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}."


@mcp.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it never works")


@mcp.tool()
def ask(answer: Annotated[Sure, Resolve(question)]) -> str:
    """Ask a person."""
    return f"sure: {answer.sure}"


@mcp.resource("server://one")
def one() -> str:
    """The first."""
    return "the first"


@mcp.prompt()
def hello(name: str) -> str:
    """Greet."""
    return f"Say hello to {name}"
'''

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="MCP_HOST_CLIENT_LIBRARIES does not name a folder of libraries"
    ),
]
CLIENTS = [
    *([str(HERE / "client_libraries.py"), each] for each in OF_PYTHON),
    *([str(HERE / "client_libraries.mjs"), each] for each in OF_JAVASCRIPT),
]


@pytest.fixture(scope="module")
def home(make_home: Callable[[], Home]) -> Home:
    """A host that mounts the server, and has learned what that lists."""
    home = make_home()
    (home.project / "server.py").write_text(SERVER)
    home.write(LIMITS + '[packs.server]\nserver = "./server.py:mcp"\n')
    asyncio.run(shown(home))
    return home


async def shown(home: Home) -> None:
    """Have a client see all lists; then later ones see them at once, also on a busy machine."""
    serve = home.argv("serve", "--config", str(home.project / "mcp-host.toml"))
    async with (
        asyncio.timeout(LONGEST),
        stdio_client(serve, environment=home.environment(), cwd=home.project) as client,
    ):
        while not await client.tools():  # noqa: ASYNC110 - a list may come late, or at once
            await asyncio.sleep(0.2)
        await client.end_input()


def run(home: Home, argv: Sequence[str]) -> str:
    done = subprocess.run(
        argv,
        env=home.environment(),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: " ".join(client).rpartition("/")[2])
def test_calls_errors_resources_prompts_and_questions_reach_a_mounted_server(
    home: Home, client: list[str]
) -> None:
    program, name = client
    python = str(OF_PYTHON[name] / "bin" / "python") if program.endswith(".py") else ""
    started = [python, program] if python else ["node", program, str(FOLDER / "npm/node_modules")]

    config = str(home.project / "mcp-host.toml")
    said = run(home, [*started, name, *home.argv("serve", "--no-warm", "--config", config)])

    found = json.loads([line for line in said.splitlines() if line.startswith("{")][-1])
    assert found["tools"] == ["server_greet", "server_fail", "server_ask"]
    assert "Hello Ann." in found["call"]
    assert "Error executing tool fail" in found["error"]
    assert found["resource"] == "the first"
    assert found["prompt"] == "Say hello to Ann"
    asks = "This needs the client's 'elicitation'" if name == "agents" else "sure: True"
    assert asks in found["question"]
