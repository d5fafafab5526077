"""Windows and macOS on paper: what is known of them, from the pages named beside each fact.

None of this was run on these systems.
"""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
from mcp_host.cli.connect.references import environment
from mcp_host.clients import yaml
from mcp_host.clients.changes import apply, plan_install
from mcp_host.clients.client import Client, Launch, files_of, is_on, this_host
from mcp_host.clients.known import CLIENTS
from mcp_host.clients.machine import Machine
from mcp_host.clients.reading import read_file, server_of

PROGRAM_FILES = "C:\\Program Files\\venv\\Scripts\\mcp-host.exe"
ARGUMENTS = (
    "serve",
    "--config",
    'C:\\Users\\Ann O\'Hara\\my "x" \\mcp-host.toml',
    "--root",
    "D:\\",
)
WRITTEN = [client for client in CLIENTS.values() if not client.by_bundle]


def test_a_venv_of_windows_has_its_launcher_beside_its_python(tmp_path: Path) -> None:
    """https://docs.python.org/3/library/venv.html: scripts are `Scripts\\NAME.exe`."""
    scripts = tmp_path / "Scripts"
    scripts.mkdir()
    (scripts / "mcp-host.exe").touch()

    launch = this_host(tmp_path / "mcp-host.toml", executable=scripts / "python.exe")

    assert launch.command == str(scripts / "mcp-host.exe")


@pytest.mark.parametrize("client", WRITTEN, ids=lambda client: client.name)
def test_a_command_of_windows_comes_back_from_every_file_as_it_was(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "file"

    apply(plan_install(client, path, Launch(PROGRAM_FILES, ARGUMENTS)))

    (server,) = read_file(client, path).servers
    assert (server.command, server.arguments) == (PROGRAM_FILES, ARGUMENTS)
    read = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.loads}[client.syntax]
    assert read(path.read_text())


def test_what_windows_is_given_is_one_line_that_it_takes_apart_again() -> None:
    """The rules of CommandLineToArgvW, as `subprocess` writes them down; rows of its own page.

    https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments
    """
    assert subprocess.list2cmdline([PROGRAM_FILES, *ARGUMENTS[:1]]) == f'"{PROGRAM_FILES}" serve'
    for given, written in {
        "a b c": '"a b c"',
        'ab"c': 'ab\\"c',
        "a\\\\b": "a\\\\b",
        "D:\\": "D:\\",
        "a b\\": '"a b\\\\"',
    }.items():
        assert subprocess.list2cmdline([given]) == written


def test_variants_profiles_and_stores_are_found_where_these_systems_keep_them(
    tmp_path: Path,
) -> None:
    """The profiles of VS Code: https://code.visualstudio.com/docs/configure/profiles."""
    roaming = tmp_path / "AppData" / "Roaming"
    for folder in ("Code/User", "Code/User/profiles/-1", "Code - Insiders/User", "VSCodium/User"):
        (roaming / folder).mkdir(parents=True)
    windows = Machine("win32", tmp_path, {"APPDATA": str(roaming)})

    found = files_of(CLIENTS["vscode"], machine=windows)

    assert [path.relative_to(roaming).as_posix() for path in found] == [
        "Code/User/mcp.json",
        "Code/User/profiles/-1/mcp.json",
        "Code - Insiders/User/mcp.json",
        "VSCodium/User/mcp.json",
    ]
    store = tmp_path / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"
    store.mkdir(parents=True)
    (path,) = files_of(CLIENTS["claude-desktop"], machine=windows)
    assert path == store / "claude_desktop_config.json"
    assert is_on(CLIENTS["claude-desktop"], windows)
    assert not is_on(CLIENTS["visual-studio"], Machine("darwin", tmp_path, {}))
    (tmp_path / "AppData/Local/Microsoft/VisualStudio/17.0_ab").mkdir(parents=True)
    assert is_on(CLIENTS["visual-studio"], windows)

    support = tmp_path / "Library" / "Application Support"
    (support / "Claude").mkdir(parents=True)
    mac = Machine("darwin", tmp_path, {"PATH": ""})
    assert files_of(CLIENTS["claude-desktop"], machine=mac) == [
        support / "Claude" / "claude_desktop_config.json"
    ]
    assert is_on(CLIENTS["claude-desktop"], mac)
    assert not is_on(CLIENTS["codex"], mac)


def test_a_server_gets_the_variables_that_the_sdks_pass_on_each_system() -> None:
    """`getDefaultEnvironment` of the TypeScript SDK has one list for Windows and one for others."""
    ours = dict.fromkeys(("PATH", "SYSTEMROOT", "USERPROFILE", "HOME", "SECRET"), "x")
    server = server_of(CLIENTS["claude-desktop"], Path("f"), "n", {"command": "x"})

    def given(system: str) -> set[str]:
        return set(environment(CLIENTS["claude-desktop"], server, ours, system))

    assert given("win32") == {"PATH", "SYSTEMROOT", "USERPROFILE"}
    assert given("darwin") == given("linux") == {"PATH", "HOME"}
