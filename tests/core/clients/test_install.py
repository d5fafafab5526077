"""`install` and `uninstall`: one entry of a client's file changes, and nothing else."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path, PurePath

import pytest
from mcp_host import client_files
from mcp_host.clients import jsonc, yaml
from mcp_host.clients.changes import apply, plan_install, plan_uninstall
from mcp_host.clients.client import ClientFileError, Launch, file_of, this_host
from mcp_host.clients.known import CLIENTS, find
from mcp_host.clients.machine import Machine

LAUNCH = Launch("/opt/my venv/bin/mcp-host", ("serve", "--config", "/home/ann/mcp-host.toml"))
ENTRY = {"command": LAUNCH.command, "args": list(LAUNCH.arguments)}
HELLO = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


PROGRAMS = {
    "claude-desktop": "Claude/claude_desktop_config.json",
    "vscode": "Code/User/mcp.json",
    "trae": "Trae/User/mcp.json",
    "roo-code": "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
}
"""Files below the folder in which programs with a window keep their settings."""
XDG = {
    "opencode": "opencode/opencode.json",
    "goose": "goose/config.yaml",
    "zed": "zed/settings.json",
    "crush": "crush/crush.json",
}
HOME = {
    "claude-code": "~/.claude.json",
    "cursor": "~/.cursor/mcp.json",
    "windsurf": "~/.codeium/windsurf/mcp_config.json",
    "gemini-cli": "~/.gemini/settings.json",
    "codex": "~/.codex/config.toml",
    "copilot-cli": "~/.copilot/mcp-config.json",
    "cline": "~/.cline/data/settings/cline_mcp_settings.json",
    "kiro": "~/.kiro/settings/mcp.json",
    "junie": "~/.junie/mcp/mcp.json",
    "ai-assistant": "~/.ai/mcp/mcp.json",
    "continue": "~/.continue/config.yaml",
    "lm-studio": "~/.lmstudio/mcp.json",
    "qwen-code": "~/.qwen/settings.json",
    "amp": "~/.config/amp/settings.json",
    "warp": "~/.warp/.mcp.json",
    "antigravity": "~/.gemini/config/mcp_config.json",
}
WRITTEN = [name for name, client in CLIENTS.items() if not client.by_bundle]


def home_files(system: str, **environment: str) -> dict[str, str]:
    """Where each client's file is on such a machine, below `~`."""
    machine = Machine(system, Path("~"), environment)
    return {
        name: PurePath(file_of(CLIENTS[name], machine=machine)).as_posix()
        for name in WRITTEN
        if not CLIENTS[name].systems or system in CLIENTS[name].systems
    }


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {name: f"{folder}/{file}" for name, file in files.items()}


def test_every_client_is_looked_for_where_it_keeps_its_servers() -> None:
    support = "~/Library/Application Support"

    xdg = below("~/.config", XDG)
    assert home_files("linux") == HOME | xdg | below("~/.config", PROGRAMS)
    assert home_files("darwin") == HOME | xdg | below(support, PROGRAMS)
    assert home_files("win32", APPDATA="R:/Roaming") == HOME | xdg | below(
        "R:/Roaming",
        PROGRAMS | {"zed": "Zed/settings.json", "goose": "Block/goose/config/config.yaml"},
    ) | {"visual-studio": "~/.mcp.json"}
    moved = home_files(
        "linux",
        XDG_CONFIG_HOME="/x",
        CLAUDE_CONFIG_DIR="/c",
        GEMINI_CLI_HOME="/g",
        CODEX_HOME="/o",
    )
    assert moved["vscode"] == "/x/Code/User/mcp.json"
    assert moved["claude-code"] == "/c/.claude.json"
    assert moved["gemini-cli"] == "/g/.gemini/settings.json"
    assert moved["codex"] == "/o/config.toml"


def test_a_project_has_a_file_of_its_own_where_the_client_reads_one(tmp_path: Path) -> None:
    files = {
        name: file_of(client, tmp_path).relative_to(tmp_path).as_posix()
        for name, client in CLIENTS.items()
        if client.project_file and not client.systems
    }

    assert files == {
        "claude-code": ".mcp.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".vscode/mcp.json",
        "zed": ".zed/settings.json",
        "gemini-cli": ".gemini/settings.json",
        "codex": ".codex/config.toml",
        "copilot-cli": ".github/mcp.json",
        "roo-code": ".roo/mcp.json",
        "opencode": "opencode.json",
        "kiro": ".kiro/settings/mcp.json",
        "junie": ".junie/mcp/mcp.json",
        "ai-assistant": ".ai/mcp/mcp.json",
        "qwen-code": ".qwen/settings.json",
        "amp": ".amp/settings.json",
        "trae": ".trae/mcp.json",
        "warp": ".warp/.mcp.json",
        "crush": "crush.json",
    }
    with pytest.raises(ClientFileError, match="Claude Desktop keeps no servers with a project"):
        file_of(CLIENTS["claude-desktop"], tmp_path)
    with pytest.raises(ClientFileError, match="Visual Studio is a program for Windows alone"):
        file_of(CLIENTS["visual-studio"], machine=Machine("linux", tmp_path, {}))
    with pytest.raises(ClientFileError, match="extensions come from bundles"):
        file_of(CLIENTS["claude-extensions"], machine=Machine("linux", tmp_path, {}))
    with pytest.raises(ClientFileError, match="name one of claude-desktop, claude-extensions"):
        find("claude")


ENTRIES = {
    "claude-code": {"type": "stdio"} | ENTRY,
    "vscode": {"type": "stdio"} | ENTRY,
    "visual-studio": {"type": "stdio"} | ENTRY,
    "zed": {"source": "custom", "env": {}} | ENTRY,
    "copilot-cli": {"type": "local", "tools": ["*"]} | ENTRY,
    "opencode": {"type": "local", "enabled": True, "command": [LAUNCH.command, *LAUNCH.arguments]},
    "crush": {"type": "stdio"} | ENTRY,
    "continue": {"name": "mcp-host"} | ENTRY,
    "goose": {
        "name": "mcp-host",
        "type": "stdio",
        "enabled": True,
        "timeout": 300,
        "cmd": LAUNCH.command,
        "args": list(LAUNCH.arguments),
    },
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_client_without_a_file_gets_one_with_the_entry_it_reads(
    name: str, tmp_path: Path
) -> None:
    client, path = CLIENTS[name], tmp_path / "new" / "file"

    assert apply(plan_install(client, path, LAUNCH)) is None

    entry = ENTRIES.get(name, ENTRY)
    read = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.loads}[client.syntax]
    table = [entry] if client.listed else {"mcp-host": entry}
    beside = read(client.begins) if client.begins else {}
    assert read(path.read_text()) == {**beside, client.servers: table}
    assert list(path.parent.iterdir()) == [path]


JSON_FILES = {
    "empty object": "{}",
    "no servers": '{\n  "theme": "dark"\n}\n',
    "servers": '{\n  "servers": {\n    "other": {"command": "x", "args": []}\n  },\n  "z": 1\n}\n',
    "empty servers": '{\n\t"inputs": [],\n\t"servers": {}\n}',
    "comments": (
        "// My servers\n{\n  // before\n"
        '  "servers": {\n    /* the first, */\n    "a": { "command": "x" }, // a, or b\n'
        '    "b": { "command": "}//" } // last, of all\n    // the end\n  } /* after */\n}\n'
    ),
    "trailing commas": (
        '{\n    "servers": {\n        "a": {\n            "args": [1,],\n        },\n    },\n}\n'
    ),
    "one line": '{"servers": {"a": {"command": "x"}}, "z": [1, 2]}',
    "windows": '\ufeff{\r\n  "servers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    "comment only": '{\n  "servers": {\n    // none yet\n  }\n}\n',
}


@pytest.mark.parametrize("text", JSON_FILES.values(), ids=JSON_FILES)
def test_an_entry_is_added_to_json_without_touching_anything_else(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode())

    apply(plan_install(CLIENTS["vscode"], path, LAUNCH))

    after = path.read_bytes().decode()
    old, new = jsonc.loads(text), jsonc.loads(after)
    assert new.pop("servers") == {**old.pop("servers", {}), "mcp-host": {"type": "stdio"} | ENTRY}
    assert new == old
    assert is_subsequence(text, after)


@pytest.mark.parametrize("text", JSON_FILES.values(), ids=JSON_FILES)
def test_what_was_added_to_json_is_taken_out_to_the_byte(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    if "servers" not in text:
        text = jsonc.with_member(text, ("servers",), {})
    path.write_bytes(text.encode())

    apply(plan_install(CLIENTS["vscode"], path, LAUNCH))
    apply(plan_uninstall(CLIENTS["vscode"], path))

    assert path.read_bytes().decode() == text


@pytest.mark.parametrize("member", ["a", "b", "c"])
@pytest.mark.parametrize(
    "text",
    [
        '{"s": {"a": 1, "b": [2], "c": {"d": 3}}}',
        '{"s": {"a": 1,\n "b": [2], /* x, */ "c": {"d": 3},}}',
        '{\n"s": {\n  "a": 1, // A\n  // of B\n  "b": [2], /* B */\n  "c": {"d": 3} // C\n}\n}',
        '{ "s" : {\r\n\t"a": 1\r\n\t, "b": [2]\r\n\t, "c": {"d": 3} } }',
    ],
)
def test_any_member_can_be_taken_out_of_any_layout(text: str, member: str) -> None:
    left = jsonc.without_member(text, ("s", member))

    wanted = {"a": 1, "b": [2], "c": {"d": 3}}
    del wanted[member]
    assert jsonc.loads(left) == {"s": wanted}
    assert is_subsequence(left, text)


def test_installing_again_moves_the_command_and_keeps_what_the_user_added(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '{"context_servers": {"mcp-host": {\n  "command": "/old/mcp-host", // mine\n'
        '  "args": ["old"],\n'
        '  "enabled": false,\n  "env": {"A": "b"}\n}}}'
    )
    client = CLIENTS["gemini-cli"]
    client = type(client)(**{**vars(client), "servers": "context_servers"})

    apply(plan_install(client, path, LAUNCH))
    again = plan_install(client, path, LAUNCH)

    entry = jsonc.loads(path.read_text())["context_servers"]["mcp-host"]
    assert entry == ENTRY | {"enabled": False, "env": {"A": "b"}}
    assert "// mine" in path.read_text()
    assert not again.is_needed
    assert again.diff == ""
    assert again.off == "enabled = false"


def test_an_entry_of_zed_keeps_the_environment_that_its_owner_gave_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    entry = {"source": "custom", "command": "mcp-host", "args": [], "env": {"KEY": "value"}}
    path.write_text(json.dumps({"context_servers": {"mcp-host": entry}}))

    apply(plan_install(CLIENTS["zed"], path, LAUNCH))

    after = json.loads(path.read_text())["context_servers"]["mcp-host"]
    assert after == {**entry, **ENTRY}


def test_claude_desktop_of_windows_own_installer_is_found_by_looking(tmp_path: Path) -> None:
    machine = Machine(
        "win32", tmp_path, {"APPDATA": str(tmp_path / "R"), "LOCALAPPDATA": str(tmp_path / "L")}
    )
    before = file_of(CLIENTS["claude-desktop"], machine=machine)
    (tmp_path / "L" / "Packages" / "Claude_pzs8sxrjxfjjc").mkdir(parents=True)
    (tmp_path / "L" / "Packages" / "ClaudeOther_x").mkdir()

    after = file_of(CLIENTS["claude-desktop"], machine=machine)

    assert before == tmp_path / "R" / "Claude" / "claude_desktop_config.json"
    assert after == tmp_path.joinpath(
        "L", "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude",
        "claude_desktop_config.json",
    )  # fmt: skip


ANOTHERS = [
    ("cursor", '{"mcpServers": {"mcp-host": {"command": "node", "args": ["other.js"]}}}', "node"),
    ("cursor", '{"mcpServers": {"mcp-host": {"url": "https://x.example/mcp"}}}', "https://x.exa"),
    (
        "windsurf",
        '{"mcpServers": {"mcp-host": {"serverUrl": "https://x.example"}}}',
        "https://x.exa",
    ),
    ("codex", '[mcp_servers.mcp-host]\ncommand = "npx"\n', "npx"),
]


@pytest.mark.parametrize(("name", "text", "what"), ANOTHERS)
def test_another_server_of_our_name_is_left_alone_unless_forced(
    name: str, text: str, what: str, tmp_path: Path
) -> None:
    client, path = CLIENTS[name], tmp_path / "file"
    path.write_text(text)

    for plan in (
        lambda: plan_install(client, path, LAUNCH),
        lambda: plan_uninstall(client, path),
    ):
        with pytest.raises(ClientFileError, match="another server called mcp-host") as caught:
            plan()
        assert what in str(caught.value)
        assert "--name" in str(caught.value)
        assert "--force" in str(caught.value)

    assert path.read_text() == text
    apply(plan_install(client, path, LAUNCH, force=True))
    assert LAUNCH.command in path.read_text()


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/home/ann/venv/bin/mcp-host", "args": ["serve"]},
        {"command": "C:\\venv\\Scripts\\mcp-host.exe"},
        {"command": "/usr/bin/python3", "args": ["-P", "-m", "mcp_host", "serve"]},
        {"command": "uvx", "args": ["--from", "mcp-host[tasky]", "mcp-host", "serve"]},
        {"env": {"A": "b"}},
    ],
)
def test_an_entry_of_any_installation_of_the_host_is_brought_up_to_date(
    entry: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"mcp-host": entry}}))

    apply(plan_install(CLIENTS["cursor"], path, LAUNCH))

    assert json.loads(path.read_text())["mcpServers"]["mcp-host"] == {**entry, **ENTRY}


CODEX_FILE = """\
# Codex, as I like it
model = "gpt-5"   # the best

[mcp_servers.other]
command = "uvx"
args = ["x"]  # keep

[mcp_servers.other.env]
KEY = "value"

[tui]
theme = 'dark'
"""


@pytest.mark.parametrize(
    "text",
    [
        CODEX_FILE,
        CODEX_FILE.replace("\n", "\r\n"),
        "\ufeff" + CODEX_FILE,
        "",
        'model = "x"\n',
        'model = "x"\nmcp_servers = { other = { command = "x" } } # mine\n[tui]\n',
        'mcp_servers.other.command = "x" # mine\nmodel = "x"\n[tui]\na = 1\n',
        '[mcp_servers]\nother.command = "x"\nother.args = []\n\n[tui]\n# end\n',
        '[mcp_servers]\nother = { command = "x" }\n',
        "[profiles.a]\nx = 1\n\n[mcp_servers.z]\ncommand = 'y'\n\n[profiles.b]\n# end\n",
    ],
)
def test_an_entry_is_added_to_toml_and_taken_out_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())

    apply(plan_install(CLIENTS["codex"], path, LAUNCH))

    after = path.read_bytes().decode()
    old, new = (tomllib.loads(content.removeprefix("\ufeff")) for content in (text, after))
    assert new.pop("mcp_servers") == {**old.pop("mcp_servers", {}), "mcp-host": ENTRY}
    assert new == old
    assert is_subsequence(text, after)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert after.count("\r\n") == (after.count("\n") if "\r\n" in text else 0)
    apply(plan_uninstall(CLIENTS["codex"], path))
    assert path.read_bytes().decode() == text


CODEX_ENTRIES = [
    '[mcp_servers."mcp-host"]\ncommand = "mcp-host" # mine\nargs = [\n  "old", # why\n]\n',
    '[mcp_servers]\nmcp-host = { command = "mcp-host", enabled = false } # mine\n',
    'mcp_servers = { "mcp-host" = { command = "mcp-host" }, other = { command = "y" } } # mine\n',
    'mcp_servers.mcp-host.command = "mcp-host" # mine\nmcp_servers.mcp-host.env.A = "1"\n',
    '[mcp_servers.mcp-host]\ncommand = "mcp-host" # mine\n[mcp_servers.mcp-host.env]\nK = "v"\n',
]


@pytest.mark.parametrize("rest", ["", "\n[tui]\ntheme = 'dark' # end\n"])
@pytest.mark.parametrize("entry", CODEX_ENTRIES)
def test_an_entry_in_toml_is_brought_up_to_date_however_it_is_written_and_can_be_taken_out(
    entry: str, rest: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(entry + rest)
    old = tomllib.loads(entry + rest)

    apply(plan_install(CLIENTS["codex"], path, LAUNCH))

    new = tomllib.loads(path.read_text())
    assert new["mcp_servers"]["mcp-host"] == {**old["mcp_servers"]["mcp-host"], **ENTRY}
    assert {**new, "mcp_servers": 0} == {**old, "mcp_servers": 0}
    assert "# mine" in path.read_text()
    assert path.read_text().endswith(rest)
    assert not plan_install(CLIENTS["codex"], path, LAUNCH).is_needed
    apply(plan_uninstall(CLIENTS["codex"], path))
    left = tomllib.loads(path.read_text())
    del old["mcp_servers"]["mcp-host"]
    assert {"mcp_servers": {}, **left} == old
    assert path.read_text().endswith(rest)


@pytest.mark.parametrize(
    ("client", "text", "message"),
    [
        ("cursor", '{"mcpServers": {', "line 1, column 17: a name in double quotes expected"),
        ("cursor", '{"a": 1}\n{}', "line 2, column 1: the end of the file expected"),
        ("cursor", '{"a" 1}', "line 1, column 6: a colon expected"),
        ("cursor", '{"a": 1 "b": 2}', "line 1, column 9: a comma or } expected"),
        ("cursor", '{"a": "\n"}', "line 1, column 7: a value expected"),
        ("cursor", "[" * 5000, "less nesting expected"),
        ("cursor", "[]", "the whole must be an object"),
        ("cursor", '{"mcpServers": []}', "mcpServers must be an object"),
        ("codex", "a = ", "damaged and left as it is"),
        ("codex", "mcp_servers = 1", "mcp_servers must be an object"),
        ("codex", b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_damaged_is_refused_and_left_alone(
    client: str, text: str | bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)

    for plan in (
        lambda: plan_install(CLIENTS[client], path, LAUNCH),
        lambda: plan_uninstall(CLIENTS[client], path),
    ):
        with pytest.raises(ClientFileError) as caught:
            plan()
        assert message in str(caught.value)
        assert str(path) in str(caught.value)

    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_plan_shows_the_change_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(JSON_FILES["comments"])

    change = plan_install(CLIENTS["vscode"], path, LAUNCH)

    assert path.read_text() == JSON_FILES["comments"]
    assert list(tmp_path.iterdir()) == [path]
    assert change.is_needed
    signs = [line for line in change.diff.splitlines() if line[:1] in "+-"]
    assert signs == [
        f"--- {path}",
        f"+++ {path}",
        '-    "b": { "command": "}//" } // last, of all',
        '+    "b": { "command": "}//" }, // last, of all',
        '+    "mcp-host": {',
        '+      "type": "stdio",',
        '+      "command": "/opt/my venv/bin/mcp-host",',
        '+      "args": ["serve", "--config", "/home/ann/mcp-host.toml"]',
        "+    }",
    ]


@POSIX
def test_a_linked_file_is_followed_and_keeps_its_mode_and_so_does_its_copy(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "cursor.json"
    real.parent.mkdir()
    real.write_text('{"mcpServers": {"secret": {"env": {"TOKEN": "t"}}}}')
    real.chmod(0o600)
    link = tmp_path / "mcp.json"
    link.symlink_to(real)

    copy = apply(plan_install(CLIENTS["cursor"], link, LAUNCH))

    assert link.is_symlink()
    assert "mcp-host" in real.read_text()
    assert copy
    assert copy.read_text() == '{"mcpServers": {"secret": {"env": {"TOKEN": "t"}}}}'
    assert [stat.S_IMODE(file.stat().st_mode) for file in (real, copy)] == [0o600, 0o600]


def test_a_file_that_changed_after_the_plan_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    change = plan_install(CLIENTS["cursor"], path, LAUNCH)
    path.write_text('{"new": 1}')

    with pytest.raises(ClientFileError, match="changed in the meantime"):
        apply(change)

    assert path.read_text() == '{"new": 1}'


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ClientFileError, match="cannot be"):
        apply(plan_install(CLIENTS["cursor"], tmp_path / "file" / "mcp.json", LAUNCH))


def test_the_host_is_started_by_absolute_paths(tmp_path: Path) -> None:
    (tmp_path / "mcp-host").touch()
    config = Path("mcp-host.toml")

    script = this_host(config, Path("project"), tmp_path / "python")
    module = this_host(config, executable=tmp_path / "empty" / "python")

    serve = ("serve", "--config", str(Path.cwd() / "mcp-host.toml"))
    project = ("--root", str(Path.cwd() / "project"))
    assert script == Launch(str(tmp_path / "mcp-host"), (*serve, *project))
    assert module == Launch(str(tmp_path / "empty" / "python"), ("-P", "-m", "mcp_host", *serve))
    assert Path(this_host(config).command).is_absolute()


def command(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`mcp-host` as the owner of this home would run it, inside a folder of theirs."""
    variables = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "USERPROFILE": str(home),
        **environment,
    }
    (home / "work").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-P", "-m", "mcp_host", *arguments],
        cwd=home / "work",
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_install_writes_the_trusted_file_of_the_folder_and_its_project(tmp_path: Path) -> None:
    assert "mcp-host init" in command(tmp_path, "install", "cursor").stderr
    command(tmp_path, "init", "todo_db")
    file = tmp_path / ".cursor" / "mcp.json"

    dry = command(tmp_path, "install", "cursor", "--dry-run")
    assert (dry.returncode, file.exists()) == (0, False)
    done = command(tmp_path, "install", "cursor")
    again = command(tmp_path, "install", "cursor", "--json")

    entry = json.loads(file.read_text())["mcpServers"]["mcp-host"]
    work = tmp_path / "work"
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-5:] == [
        "serve",
        "--config",
        str(work / "mcp-host.toml"),
        "--root",
        str(work),
    ]
    assert dry.stdout.startswith(f"--- /dev/null\n+++ {file}\n")
    assert f"Cursor will start mcp-host: {file}" in done.stdout
    assert json.loads(again.stdout) == {
        "client": "cursor",
        "file": str(file),
        "changed": False,
        "diff": "",
        "copy": None,
    }


def test_what_install_writes_starts_the_host(tmp_path: Path) -> None:
    command(tmp_path, "init", "todo_db")
    command(tmp_path, "install", "claude-desktop", "--name", "mine")
    (file,) = tmp_path.rglob("claude_desktop_config.json")
    entry = json.loads(file.read_text())["mcpServers"]["mine"]

    answers = subprocess.run(
        [entry["command"], *entry["args"]],
        input=HELLO,
        cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    tools = json.loads(answers[-1])["result"]["tools"]
    assert [tool["name"] for tool in tools][:1] == ["todo_db_add_task"]


def test_uninstall_leaves_the_other_servers(tmp_path: Path) -> None:
    command(tmp_path, "init", "todo_db")
    project = tmp_path / "work"
    file = project / ".vscode" / "mcp.json"
    file.parent.mkdir()
    file.write_text(JSON_FILES["comments"])

    command(tmp_path, "install", "vscode", "--project", ".")
    installed = file.read_text()
    done = command(tmp_path, "uninstall", "vscode", "--project", ".", "--json")

    assert "mcp-host" in installed
    assert file.read_text() == JSON_FILES["comments"]
    report = json.loads(done.stdout)
    assert report["changed"] is True
    assert report["copy"] is None
    assert list(file.parent.iterdir()) == [file]


def test_there_is_one_copy_and_only_while_the_file_differs_from_it(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    later = Launch("/new/mcp-host", ("serve",))

    first = apply(plan_install(CLIENTS["cursor"], path, LAUNCH))
    installed = path.read_text()
    second = apply(plan_install(CLIENTS["cursor"], path, later))

    assert first == second == tmp_path / "mcp.json.bak"
    assert second.read_text() == installed
    assert sorted(tmp_path.iterdir()) == [path, second]
    assert apply(plan_install(CLIENTS["cursor"], path, LAUNCH)) is None
    assert path.read_text() == installed
    assert list(tmp_path.iterdir()) == [path]


def test_a_project_under_git_gets_a_copy_only_when_asked(tmp_path: Path) -> None:
    command(tmp_path, "init", "todo_db")
    project = tmp_path / "work"
    (project / ".git").mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {}}')
    install = ("install", "claude-code", "--project", ".")

    done = command(tmp_path, *install)
    assert (done.returncode, "is kept in" in done.stdout) == (0, False)
    assert not (project / ".mcp.json.bak").exists()

    command(tmp_path, *install, "--backup", "--name", "another")
    assert "another" not in (project / ".mcp.json.bak").read_text()


UNREADY = [
    ('[packs.todo_db.settings]\nurl = { env = "THE_URL" }\n', "reads THE_URL from the env"),
    ('[host]\nstate_key = { env = "THE_KEY" }\n[packs.todo_db]\n', "reads THE_KEY from the"),
    ("[packs.todo_db]\n[packs.nobody_has_it]\n", "enables nobody_has_it, and no installed"),
    ("[packs.todo_db\n", "is not valid TOML"),
]


@pytest.mark.parametrize(("text", "said"), UNREADY)
def test_a_host_that_could_not_start_for_the_client_is_not_installed_unless_forced(
    text: str, said: str, tmp_path: Path
) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text(text)
    file = tmp_path / ".lmstudio" / "mcp.json"
    install = ("install", "lm-studio", "--config", str(settings))

    refused = command(tmp_path, *install, THE_URL="sqlite://", THE_KEY="x" * 32)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert said in refused.stderr
    assert not file.exists()
    if "TOML" not in said:
        assert "--force" in refused.stderr
        assert command(tmp_path, *install, "--force").returncode == 0
        assert "mcp-host" in json.loads(file.read_text())["mcpServers"]


def test_a_variable_that_the_clients_entry_sets_is_no_reason_to_refuse(tmp_path: Path) -> None:
    settings, file = tmp_path / "own.toml", tmp_path / ".cursor" / "mcp.json"
    settings.write_text('[host]\nstate_key = { env = "THE_KEY" }\n[packs.todo_db]\n')
    file.parent.mkdir()
    entry = {"command": "mcp-host", "env": {"THE_KEY": "k" * 32}}
    file.write_text(json.dumps({"mcpServers": {"mcp-host": entry}}))

    done = command(tmp_path, "install", "cursor", "--config", str(settings))

    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text())["mcpServers"]["mcp-host"]["env"] == entry["env"]


def test_an_entry_that_is_switched_off_is_told(tmp_path: Path) -> None:
    command(tmp_path, "init", "todo_db")
    file = tmp_path / ".codeium" / "windsurf" / "mcp_config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"mcp-host": {"command": "mcp-host", "disabled": true}}}')

    done = command(tmp_path, "install", "windsurf")

    assert done.returncode == 0
    assert "The entry is switched off there: disabled = true." in done.stdout


def test_uninstall_makes_no_file_where_there_is_none(tmp_path: Path) -> None:
    done = command(tmp_path, "uninstall", "vscode", "--project", ".")

    assert (done.returncode, "is not there" in done.stdout) == (0, True)
    assert not (tmp_path / "work" / ".vscode").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["install", "emacs"], 1, "no client 'emacs' is known: name one of claude-desktop"),
        (["uninstall", "windsurf", "--project", "."], 1, "keeps no servers with a project"),
        (["install"], 2, "CLIENT"),
    ],
)
def test_what_cannot_be_installed_is_told(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    done = command(tmp_path, *arguments)

    assert done.returncode == code
    assert said in done.stderr


def is_subsequence(small: str, large: str) -> bool:
    """Whether the small text comes out of the large one by leaving something out."""
    rest = iter(large)
    return all(character in rest for character in small)


def test_what_clients_know_is_read_in_one_set_of_words_and_nothing_secret_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    files = {
        ".config/opencode/opencode.json": '{"mcp": {"a": {"command": ["npx", "x"], '
        '"environment": {"KEY": "s3cret"}, "enabled": false}}}',
        ".continue/config.yaml": "mcpServers:\n  - name: b\n    command: uvx\n    args: [y]\n",
        ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"c": {"serverUrl": "https://c"}}}',
        ".codex/config.toml": "[mcp_servers",
    }
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)

    found = {file.client: file for file in client_files()}

    told = [
        (server.name, server.command, server.arguments, server.url, server.enabled)
        for name in ("opencode", "continue", "windsurf")
        for server in found[name].servers
    ]
    assert told == [
        ("a", "npx", ("x",), "", False),
        ("b", "uvx", ("y",), "", True),
        ("c", "", (), "https://c", True),
    ]
    assert found["opencode"].servers[0].environment == {"KEY": "s3cret"}
    assert "s3cret" not in repr(found["opencode"])
    assert "Expected" in found["codex"].problem
    assert found.keys() == {"opencode", "continue", "windsurf", "codex"}


def test_a_variable_is_referred_to_as_the_client_does_and_asked_for_once(tmp_path: Path) -> None:
    launch = Launch("/x/mcp-host", ("serve",), ("TOKEN", "URL"))
    path = tmp_path / "mcp.json"
    before = '{\n  // mine\n  "inputs": [\n    {"id": "URL", "type": "promptString"}\n  ]\n}\n'
    path.write_text(before)

    apply(plan_install(CLIENTS["vscode"], path, launch))

    data = jsonc.loads(path.read_text())
    assert [item["id"] for item in data["inputs"]] == ["URL", "TOKEN"]
    assert data["inputs"][1]["password"] is True
    entry = data["servers"]["mcp-host"]
    assert entry["env"] == {"TOKEN": "${input:TOKEN}", "URL": "${input:URL}"}
    assert not plan_install(CLIENTS["vscode"], path, launch).is_needed
    assert CLIENTS["codex"].entry(launch)["env_vars"] == ["TOKEN", "URL"]
    assert CLIENTS["cursor"].entry(launch, {"env": {"URL": "u", "A": "b"}})["env"] == {
        "URL": "u",
        "A": "b",
        "TOKEN": "${env:TOKEN}",
    }
    apply(plan_uninstall(CLIENTS["vscode"], path))
    assert jsonc.loads(path.read_text()) == {**jsonc.loads(before), "servers": {}}
