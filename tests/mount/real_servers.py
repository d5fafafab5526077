"""Servers that nobody here wrote, from npm and PyPI, installed once into a folder outside the tree.

`MCP_HOST_REAL_SERVERS` names the folder; without it, it is one in the folder for temporary files.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INSTALLING = 1800.0
FASTMCP, OFFICIAL = "fastmcp", "official"
ENVIRONMENTS = {
    FASTMCP: ("fastmcp==4.1.2",),
    OFFICIAL: (
        "awslabs-aws-documentation-mcp-server==1.2.3",
        "duckduckgo-mcp-server==0.7.0",
        "mcp-server-fetch==2026.10.24",
        "mcp-server-git==2026.10.19",
        "mcp-server-time==2026.10.19",
    ),
}
"""What PyPI's servers are installed into, beside each other."""


@dataclass(frozen=True)
class Real:
    """One server, and what it is asked.

    It is `npm`'s package with a program, a `program` of an environment, or an `object` in one.
    `call` is a tool with arguments and a word of the answer; `wrong` is one that it refuses.
    `{work}` is a folder with a Git repository and a file.
    """

    pack: str
    npm: str = ""
    environment: str = ""
    program: str = ""
    arguments: Sequence[str] = ()
    object: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    call: tuple[str, Mapping[str, Any], str] | None = None
    wrong: tuple[str, Mapping[str, Any]] | None = None


FASTMCP_SERVER = '''
"""A server of FastMCP, after the examples of its documentation."""
from dataclasses import dataclass
from fastmcp import Context, FastMCP
{imports}

mcp = FastMCP("{name}", version="2.1")
{body}
'''
ECHO = '''
@mcp.tool
def echo_tool(text: str) -> str:
    """Echo the input text"""
    return text

@mcp.resource("echo://static")
def echo_resource() -> str:
    return "Echo!"

@mcp.resource("echo://{text}")
def echo_template(text: str) -> str:
    """Echo the input text"""
    return f"Echo: {text}"

@mcp.prompt("echo")
def echo_prompt(text: str) -> str:
    return text
'''
COMPLEX = '''
class Shrimp(BaseModel):
    name: Annotated[str, Field(max_length=10)]

class Tank(BaseModel):
    shrimp: list[Shrimp]
    neighbour: "Tank | None" = None

@mcp.tool
def name_shrimp(
    tank: Tank,
    extra_names: Annotated[list[str], Field(max_length=10)],
    ctx: Context,
) -> list[str]:
    """List all shrimp names in the tank"""
    return [shrimp.name for shrimp in tank.shrimp] + extra_names

@mcp.tool(annotations={"readOnlyHint": True}, tags={"a"})
def weigh(kind: Literal["krill", "prawn"] = "krill") -> dict[str, float]:
    """Weigh a shrimp; see {tool:name_shrimp}"""
    return {kind: 1.5}
'''
MEMORY = '''
@dataclass
class Preference:
    likes: bool

@mcp.tool
async def prefer(what: str, ctx: Context) -> str:
    """Ask a person whether they like something"""
    answer = await ctx.elicit(f"Do you like {what}?", response_type=Preference)
    return f"{answer.action} {getattr(answer, 'data', None)}"

@mcp.tool
async def report(steps: int, ctx: Context) -> int:
    """Say how far it is"""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps)
        await ctx.info(f"step {step + 1}")
    return steps
'''
FILES = {
    "echo.py": FASTMCP_SERVER.replace("{name}", "Echo")
    .replace("{imports}", "")
    .replace("{body}", ECHO),
    "complex_inputs.py": FASTMCP_SERVER.replace("{name}", "Shrimp Tank")
    .replace(
        "{imports}",
        "from typing import Annotated, Literal\nfrom pydantic import BaseModel, Field",
    )
    .replace("{body}", COMPLEX),
    "asking.py": FASTMCP_SERVER.replace("{name}", "Asking")
    .replace("{imports}", "")
    .replace("{body}", MEMORY),
}
NPM = {
    "@aashari/boilerplate-mcp-server": "3.2.0",
    "@antv/mcp-server-chart": "0.9.10",
    "@circleci/mcp-server-circleci": "0.20.0",
    "@cyanheads/git-mcp-server": "2.15.3",
    "@executeautomation/playwright-mcp-server": "1.0.12",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-github": "2025.4.8",
    "@modelcontextprotocol/server-gitlab": "2025.4.25",
    "@modelcontextprotocol/server-memory": "2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking": "2026.8.31",
    "@modelcontextprotocol/server-slack": "2025.4.25",
    "@notionhq/notion-mcp-server": "2.5.2",
    "@playwright/mcp": "0.0.83",
    "@upstash/context7-mcp": "4.1.1",
    "chrome-devtools-mcp": "1.11.0",
    "exa-mcp-server": "3.4.1",
    "tavily-mcp": "0.2.22",
}
REAL = (
    Real(
        "filesystem",
        npm="mcp-server-filesystem",
        arguments=["{work}"],
        call=("read_text_file", {"path": "{work}/note.txt"}, "a note"),
        wrong=("read_text_file", {"path": "/etc/passwd"}),
    ),
    Real(
        "memory",
        npm="mcp-server-memory",
        env={"MEMORY_FILE_PATH": "{work}/memory.jsonl"},
        call=("read_graph", {}, "entities"),
        wrong=("create_entities", {"entities": 5}),
    ),
    Real(
        "thinking",
        npm="mcp-server-sequential-thinking",
        call=(
            "sequentialthinking",
            {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
            "thoughtNumber",
        ),
        wrong=("sequentialthinking", {"thought": 5}),
    ),
    Real(
        "everything",
        npm="mcp-server-everything",
        call=("echo", {"message": "hello"}, "hello"),
        wrong=("get-sum", {"a": "x"}),
    ),
    Real("context7", npm="context7-mcp", wrong=("resolve-library-id", {"libraryName": 5})),
    Real("playwright", npm="playwright-mcp", wrong=("browser_click", {})),
    Real("notion", npm="notion-mcp-server", wrong=("API-get-user", {})),
    Real("github", npm="mcp-server-github", wrong=("create_issue", {"owner": 5})),
    Real(
        "gitlab",
        npm="mcp-server-gitlab",
        env={"GITLAB_PERSONAL_ACCESS_TOKEN": "none"},
        wrong=("create_issue", {"title": 5}),
    ),
    Real(
        "slack",
        npm="mcp-server-slack",
        env={"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "T0"},  # tells errors as plain answers
    ),
    Real("chrome", npm="chrome-devtools-mcp", wrong=("navigate_page", {"timeout": "x"})),
    Real("chart", npm="mcp-server-chart", wrong=("generate_bar_chart", {"data": 5})),
    Real("circleci", npm="mcp-server-circleci", wrong=("find_flaky_tests", {"params": 5})),
    Real("boilerplate", npm="mcp-server", wrong=("ip_get_details", {"ipAddress": 5})),
    Real(
        "cyan_git",
        npm="git-mcp-server",
        call=("git_status", {"path": "{work}"}, "main"),
        wrong=("git_commit", {"path": "{work}"}),
    ),
    Real("ea_playwright", npm="playwright-mcp-server", wrong=("playwright_click", {})),
    Real("exa", npm="exa-mcp-server", env={"EXA_API_KEY": "none"}, wrong=("web_search_exa", {})),
    Real(
        "tavily",
        npm="tavily-mcp",
        env={"TAVILY_API_KEY": "none"},
        wrong=("tavily_search", {"query": "x"}),
    ),
    Real(
        "git",
        environment=OFFICIAL,
        program="mcp-server-git",
        arguments=["--repository", "{work}"],
        call=("git_log", {"repo_path": "{work}"}, "first commit"),
        wrong=("git_show", {"repo_path": "{work}", "revision": "nowhere"}),
    ),
    Real(
        "time",
        environment=OFFICIAL,
        program="mcp-server-time",
        arguments=["--local-timezone", "UTC"],
        call=("get_current_time", {"timezone": "Europe/Oslo"}, "Europe/Oslo"),
        wrong=("get_current_time", {"timezone": "Nowhere/None"}),
    ),
    Real(
        "fetch",
        environment=OFFICIAL,
        program="mcp-server-fetch",
        wrong=("fetch", {"url": "http://127.0.0.1:9/"}),
    ),
    Real(
        "aws",
        environment=OFFICIAL,
        program="awslabs.aws-documentation-mcp-server",
        wrong=("read_documentation", {"url": "https://example.org/"}),
    ),
    Real("duck", environment=OFFICIAL, program="duckduckgo-mcp-server", wrong=("search", {})),
    Real(
        "echo",
        environment=FASTMCP,
        object="./echo.py:mcp",
        call=("echo_tool", {"text": "hello"}, "hello"),
        wrong=("echo_tool", {"text": 5}),
    ),
    Real(
        "shrimp",
        environment=FASTMCP,
        object="./complex_inputs.py:mcp",
        call=("name_shrimp", {"tank": {"shrimp": [{"name": "a"}]}, "extra_names": []}, "a"),
        wrong=("name_shrimp", {"tank": {}, "extra_names": []}),
    ),
    Real(
        "asking",
        environment=FASTMCP,
        object="./asking.py:mcp",
        call=("report", {"steps": 2}, "2"),
        wrong=("report", {"steps": "x"}),
    ),
)


class NotInstalledError(Exception):
    """What is needed is not there, or cannot be installed; says what."""


def install() -> Path:
    """Install what is not there yet, and return the folder."""
    given = os.environ.get("MCP_HOST_REAL_SERVERS")
    folder = Path(given or Path(tempfile.gettempdir()) / "mcp-host-real-servers")
    folder.mkdir(parents=True, exist_ok=True)
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not installed")
    wanted = [f"{name}@{version}" for name, version in NPM.items()]
    node = folder / "npm"
    node.mkdir(exist_ok=True)
    if _is_other(node / "installed", wanted):
        (node / "package.json").write_text('{"name": "real-servers", "private": true}')
        _run(npm, "install", "--ignore-scripts", "--legacy-peer-deps", *wanted, cwd=node)
        (node / "installed").write_text(json.dumps(wanted))
    for name, packages in ENVIRONMENTS.items():
        if _is_other(folder / name / "installed", packages):
            _run(sys.executable, "-m", "venv", name, cwd=folder)
            pip = folder / name / "bin" / "pip"
            _run(str(pip), "install", "--quiet", *packages, cwd=folder)
            (folder / name / "installed").write_text(json.dumps(packages))
    return folder


def table(real: Real, folder: Path, work: Path) -> dict[str, Any]:
    """Return the table of a server in the settings, which stand beside `FILES`."""
    arguments = [word.replace("{work}", str(work)) for word in real.arguments]
    if real.object:
        made: dict[str, Any] = {"server": real.object}
        made["python"] = str(folder / real.environment / "bin" / "python")
        return made
    program = folder / real.environment / "bin" / real.program
    if real.npm:
        program = folder / "npm" / "node_modules" / ".bin" / real.npm
    env = {name: value.replace("{work}", str(work)) for name, value in real.env.items()}
    return {"command": [str(program), *arguments], "env": env}


def command(real: Real, folder: Path, work: Path, files: Path) -> tuple[list[str], dict[str, str]]:
    """Return what starts a server directly, and its variables."""
    made = table(real, folder, work)
    if real.object:
        file, _, _ = real.object.partition(":")
        run = "import runpy, sys; runpy.run_path(sys.argv[1])['mcp'].run(show_banner=False)"
        return [made["python"], "-c", run, str(files / file)], {}
    return made["command"], made["env"]


def _is_other(note: Path, wanted: Sequence[str]) -> bool:
    return not note.exists() or json.loads(note.read_text()) != list(wanted)


def _run(*argv: str, cwd: Path) -> None:
    try:
        done = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=INSTALLING, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"{argv[0]}: {error}") from None
    if done.returncode:
        raise NotInstalledError(f"{argv[0]} said: {done.stderr.strip()[-500:]}")
