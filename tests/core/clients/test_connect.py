"""`mcp-host connect`: clients of a home are told of the host, and it is started as they would."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from mcp_host.cli.connect.printed import printed
from mcp_host.cli.connect.references import NotStarted, environment
from mcp_host.cli.connect.rehearsal import rehearse
from mcp_host.cli.connect.sharing import project_launch
from mcp_host.clients import yaml
from mcp_host.clients.changes import apply, plan_install
from mcp_host.clients.client import Launch, Remote
from mcp_host.clients.known import CLIENTS
from mcp_host.clients.reading import server_of

HOMES = {
    ".config/Claude/claude_desktop_config.json": '{"mcpServers": {"other": {"command": "npx"}}}',
    ".claude.json": '{"numStartups": 3, "projects": {}}',
    ".cursor/mcp.json": "",
    ".config/Code/User/mcp.json": '{\n  // mine\n  "servers": {},\n  "inputs": []\n}\n',
    ".config/Code/User/profiles/-a1/settings.json": "{}",
    ".codeium/windsurf/mcp_config.json": '{"mcpServers": {}}',
    ".config/zed/settings.json": '// Zed settings\n{\n  "theme": "One Dark",\n}\n',
    ".gemini/settings.json": '{"security": {"auth": {"selectedType": "x"}}}',
    ".codex/config.toml": 'model = "o"\n\n[mcp_servers.other]\ncommand = "npx"\n',
    ".config/opencode/opencode.jsonc": '{\n  "theme": "system", // mine\n}\n',
    ".config/goose/config.yaml": (
        "GOOSE_MODEL: m # mine\nextensions:\n  developer:\n    enabled: true\n"
        "    type: builtin\n    name: developer\n"
    ),
}
"""Ten clients, one of them with a profile of its own, as their users have them."""
TOKEN = "t" * 32


def command(
    home: Path, *arguments: str, given: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """`mcp-host` as the owner of this home runs it in a folder of theirs."""
    own = {"HOME": str(home), "USERPROFILE": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    programs = home / "bin"
    return subprocess.run(
        [sys.executable, "-P", "-m", "mcp_host", *arguments],
        cwd=home / "work",
        env={**os.environ, **own, "PATH": f"{programs}:/usr/bin:/bin", **variables},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for file, text in HOMES.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mcp-host.toml").write_text(
        '[host]\nwarm = false\nstate_key = { env = "THE_KEY" }\n[packs.todo_db]\n'
        'settings = { user_id = "ann" }\n'
    )
    assert command(tmp_path, "trust", THE_KEY=TOKEN).returncode == 0
    return tmp_path


UNABLE = {".config/Claude/claude_desktop_config.json", ".config/zed/settings.json"}
"""Files of the two that have no way to refer to the variable that the settings need."""
PROFILE = ".config/Code/User/profiles/-a1/mcp.json"
FILES = {*HOMES, PROFILE} - {".config/Code/User/profiles/-a1/settings.json"}


def reported(home: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """What `connect` tells of each file."""
    done = command(home, "connect", *arguments, "--json", THE_KEY=TOKEN)
    return {report["file"].removeprefix(f"{home}/"): report for report in json.loads(done.stdout)}


@pytest.mark.skipif(sys.platform == "win32", reason="the folders of Linux")
def test_ten_clients_are_told_and_can_start_the_host_and_a_second_run_writes_nothing(
    home: Path,
) -> None:
    refused = command(home, "connect", THE_KEY=TOKEN)
    assert refused.returncode == 2
    assert "nobody can be asked here" in refused.stderr

    dry = reported(home, "cursor", "--dry-run")[".cursor/mcp.json"]
    assert dry["diff"].startswith("--- ")
    assert (home / ".cursor/mcp.json").read_text() == ""
    states = {
        file: (report["state"], report["written"])
        for file, report in reported(home, "--all", "--no-check").items()
    }

    assert states == {
        file: ("cannot start", False) if file in UNABLE else ("connected", True) for file in FILES
    }
    assert not any(TOKEN in (home / file).read_text() for file in FILES - UNABLE)
    assert "// mine" in (home / ".config/Code/User/mcp.json").read_text()
    assert "# mine" in (home / ".config/goose/config.yaml").read_text()
    extensions = yaml.loads((home / ".config/goose/config.yaml").read_text())["extensions"]
    assert extensions["mcp-host"]["env_keys"] == ["THE_KEY"]
    assert extensions["developer"]["type"] == "builtin"
    windsurf = home / ".codeium/windsurf/mcp_config.json"
    windsurf.write_text('{"mcpServers": {"mcp-host": {"command": "mcp-host", "disabled": true}}}')
    again = reported(home, "windsurf", "cursor", "goose")
    assert again.pop(str(windsurf.relative_to(home))) == {
        "client": "windsurf",
        "file": str(windsurf),
        "state": "switched off",
        "why": "disabled = true",
        "written": True,
        "copy": f"{windsurf}.bak",
        "start": None,
    }
    assert [report["written"] for report in again.values()] == [False, False]
    assert [report["start"]["answered"] for report in again.values()] == ["answers", "answers"]
    rows = json.loads(command(home, "clients", "--json", THE_KEY=TOKEN).stdout)
    assert len(rows) >= 26
    assert "connected" in {row["state"] for row in rows if row["client"] == "codex"}


@pytest.mark.torture
@pytest.mark.skipif(sys.platform == "win32", reason="the folders of Linux")
def test_the_host_starts_from_the_file_of_each_of_ten_clients(home: Path) -> None:
    reports = reported(home, "--all")

    for file in FILES - UNABLE:
        assert reports[file]["start"]["failure"] == "", file
        assert reports[file]["start"]["tools"] == 5, file
        assert reports[file]["start"]["answered"] == "answers", file


def test_a_host_that_cannot_start_is_told_with_the_reason_and_in_the_clients_time(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mcp.json"
    ends = Launch(sys.executable, ("-c", "raise SystemExit('no such pack')", "mcp-host"))
    apply(plan_install(CLIENTS["cursor"], path, ends))
    assert rehearse(CLIENTS["cursor"], path, "mcp-host").failure == (
        "the host ended at its start: no such pack"
    )

    apply(plan_install(CLIENTS["cursor"], path, Launch("/gone/mcp-host", ("serve",))))
    assert "/gone/mcp-host cannot be used" in rehearse(CLIENTS["cursor"], path, "mcp-host").failure

    remote = Remote("http://127.0.0.1:9/mcp")
    apply(plan_install(CLIENTS["cursor"], path, remote, "far"))
    assert "cannot be used" in rehearse(CLIENTS["cursor"], path, "far").failure


def test_a_server_has_the_variables_that_its_client_gives_and_no_others() -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "SECRET": "s", "TOKEN": "t", "SYSTEMROOT": "C:\\W"}

    def given(client: str, entry: dict[str, object], system: str = "linux") -> dict[str, str]:
        known = CLIENTS[client]
        return environment(known, server_of(known, Path("f"), "n", entry), ours, system)

    few = {"PATH": "/bin", "HOME": "/h"}
    assert given("claude-desktop", {"command": "x", "env": {"A": "b"}}) == few | {"A": "b"}
    assert given("cursor", {"command": "x", "env": {"A": "${env:TOKEN}"}}) == few | {"A": "t"}
    assert given("codex", {"command": "x", "env_vars": ["TOKEN"]}) == few | {"TOKEN": "t"}
    assert given("opencode", {"command": ["x"]}) == ours
    assert given("lm-studio", {"command": "x"}, "win32") == {"PATH": "/bin", "SYSTEMROOT": "C:\\W"}
    with pytest.raises(NotStarted, match="refers to NONE, which is not set here"):
        given("kiro", {"command": "x", "env": {"A": "${NONE}"}})
    with pytest.raises(NotStarted, match="refers to NONE"):
        given("codex", {"command": "x", "env_vars": ["NONE"]})


def test_links_and_entries_hold_what_the_client_would_have_in_its_file() -> None:
    launch = Launch("uvx", ("--from", "mcp-host[tasky]", "mcp-host", "serve"))
    _, of_cursor, badge = printed("link", CLIENTS["cursor"], launch, "mine").splitlines()
    query = parse_qs(urlsplit(of_cursor).query)
    assert query["name"] == ["mine"]
    assert json.loads(base64.b64decode(query["config"][0])) == CLIENTS["cursor"].entry(launch)
    assert badge.startswith("[![") and "cursor.com/en/install-mcp?" in badge

    remote = Remote("https://x.example/mcp", "TOKEN")
    _, of_vs_code, _ = printed("link", CLIENTS["vscode"], remote, "mine").splitlines()
    whole = json.loads(unquote(of_vs_code.removeprefix("vscode:mcp/install?")))
    assert whole["name"] == "mine"
    assert whole["headers"] == {"Authorization": "Bearer ${input:TOKEN}"}
    assert [item["id"] for item in whole["inputs"]] == ["TOKEN"]

    text = printed("yaml", CLIENTS["continue"], launch, "mine")
    assert yaml.loads(text) == {
        "mcpServers": [{"name": "mine", "command": "uvx", "args": list(launch.arguments)}]
    }
    assert yaml.loads(printed("yaml", None, launch, "mine"))["extensions"]["mine"]["name"] == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="a script of POSIX")
def test_a_projects_entry_has_no_path_of_this_machine(home: Path) -> None:
    missing = command(home, "connect", "claude-code", "--project", ".", "--no-check")
    assert missing.returncode == 1
    assert "is not on the PATH" in missing.stderr

    (home / "bin").mkdir()
    (home / "bin" / "mcp-host").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -P -m mcp_host "$@"\n'
    )
    (home / "bin" / "mcp-host").chmod(0o755)
    done = command(home, "connect", "claude-code", "--project", ".", "--json", THE_KEY=TOKEN)

    (report,) = json.loads(done.stdout)
    assert report["start"]["failure"] == ""
    assert report["start"]["tools"] == 5
    text = (home / "work" / ".mcp.json").read_text()
    assert json.loads(text)["mcpServers"]["mcp-host"]["command"] == "mcp-host"
    assert str(home) not in text
    assert project_launch("pkg") == Launch("uvx", ("--from", "pkg", "mcp-host", "serve"))
