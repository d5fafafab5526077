"""The clients themselves: `connect` writes their files, and each finds the host and calls it.

They come from npm. `MCP_HOST_CLIENTS` names the folder with their programs, such as
`node_modules/.bin` after `npm install @anthropic-ai/claude-code @google/gemini-cli opencode-ai
@qwen-code/qwen-code @continuedev/cli @github/copilot cline @openai/codex @sourcegraph/amp`; a
model that follows a script, on loopback, stands in for the provider's.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scripted_model import scripted_model

PROGRAMS = os.environ.get("MCP_HOST_CLIENTS", "")
TOOL = "tasky_project_info"
PROMPT = "Ask the plan what it is."
HOST = Path(sys.executable).parent

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(not PROGRAMS, reason="MCP_HOST_CLIENTS does not name clients' programs"),
]


@dataclass(frozen=True)
class Talk:
    """How a client is made to ask a model: MODEL stands for its address, HOME for the home."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    """Merged into the client's files of settings, in the home."""
    before: tuple[str, ...] = ()


PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "scripted",
    "options": {"baseURL": "MODEL/v1", "apiKey": "x"},
    "models": {"scripted": {"name": "scripted"}},
}
CONTINUE = """\
models:
  - {name: scripted, provider: openai, model: scripted, apiKey: x, apiBase: MODEL/v1,
     capabilities: [tool_use], roles: [chat]}
"""
TALKS = {
    "claude-code": Talk(
        ("claude", "-p", PROMPT, "--allowedTools", f"mcp__mcp-host__{TOOL}"),
        {"ANTHROPIC_BASE_URL": "MODEL", "ANTHROPIC_API_KEY": "x"},
    ),
    "gemini-cli": Talk(
        ("gemini", "-m", "gemini-2.5-flash", "-y", "-p", PROMPT),
        {"GOOGLE_GEMINI_BASE_URL": "MODEL", "GEMINI_API_KEY": "x"},
        {
            ".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}},
            ".gemini/trustedFolders.json": {"PROJECT": "TRUST_FOLDER"},
        },
    ),
    "opencode": Talk(
        ("opencode", "run", "-m", "scripted/scripted", PROMPT),
        files={".config/opencode/opencode.json": {"provider": {"scripted": PROVIDER}}},
    ),
    "qwen-code": Talk(
        (
            *("qwen", "--auth-type", "openai", "--openai-api-key", "x", "-m", "scripted"),
            *("--openai-base-url", "MODEL/v1", "-y", PROMPT),
        )
    ),
    "continue": Talk(
        ("cn", "--config", "HOME/.continue/config.yaml", "--auto", "-p", PROMPT),
        files={".continue/config.yaml": CONTINUE},
    ),
    "copilot-cli": Talk(
        ("copilot", "-p", PROMPT, "--allow-all-tools"),
        {
            "COPILOT_PROVIDER_BASE_URL": "MODEL/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
        },
    ),
    "cline": Talk(
        ("cline", "--json", PROMPT),
        before=("cline", "auth", "-p", "openai", "-k", "x", "-m", "scripted", "-b", "MODEL/v1"),
    ),
}
SEEN = {
    "claude-code": (("claude", "mcp", "list"), "Connected"),
    "opencode": (("opencode", "mcp", "list"), "connected"),
    "qwen-code": (("qwen", "mcp", "list"), "Connected"),
    "amp": (("amp", "mcp", "doctor"), "connected (5 tools"),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_clients_own_list_says_that_the_host_is_connected(name: str, place: "Place") -> None:
    command, word = SEEN[name]

    place.connect(name)

    assert word in place.run(command, {"AMP_API_KEY": "x"})


@pytest.mark.parametrize("name", TALKS)
def test_a_model_behind_the_client_calls_a_tool_of_the_host(name: str, place: "Place") -> None:
    talk = TALKS[name]
    place.connect(name)
    with scripted_model(TOOL) as model:

        def put(text: str) -> str:
            text = text.replace("MODEL", model.url).replace("PROJECT", str(place.project))
            return text.replace("HOME", str(place.home))

        for file, more in talk.files.items():
            place.add(file, more, put)
        environment = {key: put(value) for key, value in talk.environment.items()}
        if talk.before:
            place.run(tuple(map(put, talk.before)), environment)
        shown = place.run(tuple(map(put, talk.arguments)), environment)

    assert model.told, shown
    assert "available_statuses" in model.told[-1]


def test_codex_lists_the_tools_of_the_host(place: "Place") -> None:
    place.connect("codex")
    asked = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "mcpServerStatus/list", "params": {}},
    ]
    codex = place.started(("codex", "app-server"))
    try:
        assert codex.stdin
        assert codex.stdout
        codex.stdin.write("".join(f"{json.dumps(one)}\n" for one in asked))
        codex.stdin.flush()
        answer = next(one for one in map(json.loads, codex.stdout) if one.get("id") == 2)
    finally:
        codex.kill()
        codex.communicate()

    (server,) = answer["result"]["data"]
    assert TOOL in server["tools"]


class Place:
    """A home with a client's programs, and a project with a plan."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        for made in (self.home, self.project):
            made.mkdir()
        system = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        path = os.pathsep.join([str(HOST), PROGRAMS, system["PATH"]])
        self._environment = {**system, "HOME": str(self.home), "PATH": path}
        self.run(("git", "init", "-q", "."))
        self.run(("mcp-host", "init", "tasky"))
        with (self.project / "mcp-host.toml").open("a") as settings:
            settings.write("[host]\nwarm = false\n")  # some clients pass no variables on
        self.run(("mcp-host", "trust", "mcp-host.toml"))
        self.run(("tasky", "project", "init"))

    def connect(self, client: str) -> None:
        said = self.run(("mcp-host", "connect", client, "--all", "--root", str(self.project)))
        assert "starts in" in said, said

    def add(self, file: str, more: Any, put: Callable[[str], str]) -> None:
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text() if path.exists() else ""
        if isinstance(more, str):
            path.write_text(old + put(more))
        else:
            path.write_text(
                json.dumps({**json.loads(old or "{}"), **json.loads(put(json.dumps(more)))})
            )

    def run(self, command: tuple[str, ...], more: Mapping[str, str] | None = None) -> str:
        """Run it to its end; return what it said."""
        if shutil.which(command[0], path=self._environment["PATH"]) is None:
            pytest.skip(f"{command[0]} is not among the clients' programs")
        ended = subprocess.run(
            command,
            cwd=self.project,
            env={**self._environment, **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
            check=False,
        )
        return ended.stdout

    def started(self, command: tuple[str, ...]) -> "subprocess.Popen[str]":
        if shutil.which(command[0], path=self._environment["PATH"]) is None:
            pytest.skip(f"{command[0]} is not among the clients' programs")
        return subprocess.Popen(
            command,
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
