"""Servers of a client become packs: nothing is lost on the way, and no secret is shown."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from core_home import Home
from mcp_host import ClientServer
from mcp_host_mount.adopt.secrets import is_secret, looks_secret
from mcp_host_mount.adopt.translate import Adopted, Translation, pack_name

SERVER = Path(__file__).with_name("little_server.py")
TOKEN = "ghp_aBcD1234567890"


LONGEST = 30.0


def client_file(home: Home, servers: dict[str, Any]) -> Path:
    """A file of Cursor, with a comment in it."""
    path = home.folder / ".cursor" / "mcp.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{\n  // mine\n  "mcpServers": {json.dumps(servers)}\n}}\n')
    return path


def adopted(tmp_path: Path, variables: dict[str, str] | None = None, **entry: Any) -> Adopted:
    """What becomes of a server; its secrets are named, not kept."""
    given = {"command": "run", "file": tmp_path, "client": "cursor", "name": "x", **entry}
    translation = Translation(
        tmp_path, variables or {}, lambda name, value: Path(f"{name}={value}".replace("/", "|"))
    )
    return translation.adopted("x", ClientServer(**given))


def test_a_server_of_a_client_is_adopted_locked_replaced_and_given_back(home: Home) -> None:
    command = {"command": sys.executable, "args": [str(SERVER)], "env": {"API_TOKEN": TOKEN}}
    file = client_file(
        home,
        {
            "Little One": {**command},
            "me": {"command": "/x/mcp-host", "args": ["serve"]},
            "off": {"command": "x", "args": ["--password", "open sesame"], "disabled": True},
        },
    )
    before = file.read_bytes()

    shown = home.run("adopt")
    copy = home.project / "my.json"
    copy.write_bytes(before)
    of_project = home.project / ".vscode" / "mcp.json"
    of_project.parent.mkdir()
    of_project.write_text('{"servers": {"one": {"command": "x"}}}')
    of_file = [home.run("adopt", str(one)).out for one in (file, copy, of_project)]
    copy.unlink()
    of_project.unlink()
    done = home.run("adopt", "cursor", "--all", "--replace")
    settings = (home.project / "mcp-host.toml").read_text()
    replaced = file.read_text()
    again = home.run("adopt", "cursor", "--all", "--no-lock", "--json")
    called = home.run("call", "little_one_echo", "--arguments", '{"text": "hello"}')
    undone = home.run("adopt", "--undo")

    assert shown.code == 0
    assert [each.partition(":")[0] for each in of_file] == [
        "Cursor",
        "A file with servers as Claude Desktop has them",
        "VS Code",
    ]
    assert "me: /x/mcp-host\n    cannot be adopted: it is an mcp-host itself" in shown.out
    assert "off (switched off there): x --password …" in shown.out
    assert done.code == 0, done.err + done.out
    assert "Little One is [packs.little_one]" in done.out
    secret = home.folder / "config/mcp-host/secrets/little_one.API_TOKEN"
    assert secret.read_text() == TOKEN
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert [one.name for one in secret.parent.iterdir()] == [secret.name]
    assert TOKEN not in settings + shown.out + done.out + replaced
    lock = json.loads((home.project / "mcp-host.lock").read_text())
    assert [*lock["packs"]] == ["little_one"]
    assert '"mcp-host"' in replaced and "Little One" not in replaced and "// mine" in replaced
    assert again.json["adopted"] == []
    assert called.code == 0, called.err
    assert (undone.code, file.read_bytes()) == (0, before)


GOOSE = """\
# written by hand
GOOSE_PROVIDER: anthropic   # the model
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  github:   # mine
    args: ['-y', '@modelcontextprotocol/server-github']
    cmd: npx
    enabled: true
    env_keys: []
    envs:
      GITHUB_PERSONAL_ACCESS_TOKEN: <token>
    name: github
    timeout: 300
    type: stdio
  tracker:
    enabled: true
    headers: {Authorization: Bearer <token>}
    name: tracker
    type: streamable_http
    uri: https://tracker.example.org/mcp
"""
CONTINUE = """\
name: My assistant
version: 0.0.1
schema: v1
models: []   # none yet
mcpServers:
  - name: GitHub
    command: npx
    args:
      - "-y"
      - "@modelcontextprotocol/server-github"
    env:
      GITHUB_PERSONAL_ACCESS_TOKEN: <token>
  - name: tracker
    type: streamable-http
    url: https://tracker.example.org/mcp
    requestOptions:
      headers:
        Authorization: Bearer <token>
"""
CLAUDE = """\
{
  "numStartups": 12,
  "mcpServers": {},
  "projects": {
    "/elsewhere": {"mcpServers": {"far": {"type": "stdio", "command": "far", "args": []}}},
    "<project>": {
      "allowedTools": [],
      "mcpServers": {
        "GitHub": {
          "type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
          "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "<token>"}
        },
        "tracker": {
          "type": "http", "url": "https://tracker.example.org/mcp",
          "headers": {"Authorization": "Bearer <token>"}
        }
      },
      "hasTrustDialogAccepted": true
    }
  }
}
"""


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("goose", "config/goose/config.yaml", GOOSE),
        ("continue", ".continue/config.yaml", CONTINUE),
        ("claude-code", ".claude.json", CLAUDE),
    ],
)
def test_a_clients_own_kind_of_file_is_adopted_and_given_back_byte_for_byte(
    home: Home, client: str, file: str, text: str
) -> None:
    path = home.folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = text.replace("<token>", TOKEN).replace("<project>", str(home.project)).encode()
    path.write_bytes(before)

    done = home.run("adopt", client, "--all", "--replace", "--no-lock")
    packs = tomllib.loads((home.project / "mcp-host.toml").read_text())["packs"]
    replaced = path.read_text()
    undone = home.run("adopt", client, "--undo")

    assert done.code == 0, done.err + done.out
    assert list(packs) == ["github", "tracker"]
    folder = {"cwd": str(home.project)} if client == "claude-code" else {}
    secrets = home.folder / "config/mcp-host/secrets"
    variable = "GITHUB_PERSONAL_ACCESS_TOKEN"
    assert packs["github"] == {
        "command": ["npx", "-y", "@modelcontextprotocol/server-github"],
        "env": {variable: {"file": str(secrets / f"github.{variable}")}},
        **folder,
    }
    assert packs["tracker"] == {
        "url": "https://tracker.example.org/mcp",
        "headers": {"Authorization": {"file": str(secrets / "tracker.Authorization")}},
    }
    assert (secrets / f"github.{variable}").read_text() == TOKEN
    assert TOKEN not in replaced + done.out + done.err
    assert "tracker.example.org" not in replaced and "mcp-host" in replaced
    assert ("far" in done.out, "/elsewhere" in replaced) == (client == "claude-code",) * 2
    assert (undone.code, path.read_bytes()) == (0, before)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cursor", "nothing"), "no server 'nothing' is there; there are: a"),
        (("curser",), "no client 'curser' is known"),
        (("./none.json",), "there is no such file"),
        (("./empty.json",), "empty.json: it has no servers in a shape that a known client has"),
        (("--undo",), "has changed no such file"),
    ],
)
def test_what_cannot_be_done_is_told(home: Home, arguments: tuple[str, ...], said: str) -> None:
    client_file(home, {"a": {"command": "x"}})
    (home.project / "empty.json").write_text("{}")

    done = home.run("adopt", *arguments)

    assert done.code == 1
    assert said in done.err
    assert not (home.project / "mcp-host.toml").exists()


@pytest.mark.parametrize("damage", ["", "[1]", "{}", '{"path": '])
def test_a_damaged_original_is_named_and_nothing_is_changed(home: Home, damage: str) -> None:
    file = client_file(home, {"a": {"command": "x"}})
    assert home.run("adopt", "cursor", "--all", "--replace", "--no-lock").code == 0
    replaced = file.read_bytes()
    (original,) = home.folder.rglob("adopted/*.json")
    original.write_text(damage)

    undone = home.run("adopt", "--undo")

    assert undone.code == 1
    assert f"{original} is damaged" in " ".join(undone.err.split())
    assert (file.read_bytes(), original.read_text()) == (replaced, damage)


def test_words_of_a_command_that_are_secret_are_kept_apart(tmp_path: Path) -> None:
    arguments = ("-y", "pack@1.2", "--token", "abc", "--api-key=abc", "-H", "X-Key: abc", TOKEN)
    made = adopted(tmp_path, arguments=(*arguments, "--port", "8080", "https://a:b@c.org/"))

    assert made.table["command"] == [
        *("run", "-y", "pack@1.2", "--token", {"file": "x.token=abc"}),
        {"file": "x.api-key=--api-key=abc"},
        *("-H", {"file": "x.H=X-Key: abc"}, {"file": f"x.argument-8={TOKEN}"}),
        *("--port", "8080", {"file": "x.argument-11=https:||a:b@c.org|"}),
    ]
    assert "abc" not in made.what and TOKEN not in made.what


@pytest.mark.parametrize(
    "words",
    [
        ("--header=Authorization: Bearer hunter",),
        ("--header", "X-Api-Key: hunter"),
        ("-e", "API_TOKEN=hunter"),
        ("--env=API_TOKEN=hunter",),
        ("-eAPI_TOKEN=hunter",),
        ("API_TOKEN=hunter", "node"),
        ("-c", "API_TOKEN='hunter' npx server"),
        ("--config", '{"apiKey":"hunter"}'),
        ("--config", '{"headers": {"Authorization": "Bearer hunter"}}'),
        ("Server=a;Password=hunter;Port=1",),
        ("https://x.org/#access_token=hunter",),
        ("Bearer hunter",),
        ("${PASSWORD:-hunter}",),
        ("--dsn", "${DSN:-postgres://a:hunter@x/}"),
    ],
)
def test_a_secret_is_kept_apart_wherever_it_stands(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = adopted(tmp_path, arguments=words, environment={"OPTIONS": words[-1]})
    at_address = adopted(tmp_path, command="", url="https://x.org/", headers={"X": words[-1]})

    assert "hunter" not in json.dumps(without_files(made.table)) + made.what
    assert "hunter" not in "".join(made.notes)
    if "hunter" in words[-1]:
        assert "hunter" not in json.dumps(without_files(at_address.table))


def without_files(table: Any) -> Any:
    """A table without what stands in files, whose names here tell it."""
    if isinstance(table, dict):
        return {key: without_files(value) for key, value in table.items() if key != "file"}
    return [without_files(one) for one in table] if isinstance(table, list) else table


@pytest.mark.parametrize("kind", ["pipe", "device", "long"])
def test_a_file_of_variables_that_is_none_holds_nobody_up(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "variables"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.write_bytes(b"A=b\n" * 300_000)

    made = adopted(tmp_path, entry={"envFile": str(file)})

    assert "cannot be read" in made.problem


def test_references_are_translated_or_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# mine\nexport PASSWORD='p w'\nPLAIN=yes\n")
    made = adopted(
        tmp_path,
        {"SET": "now"},
        arguments=("${workspaceFolder}/a", "${workspaceFolder}"),
        environment={
            "A": "${SET}",
            "B": "${env:SET:-x}",
            "C": "${input:my-key}",
            "D": "${UNSET}",
            "E": "pre ${SET}",
            "F": "${userHome}/f",
        },
        entry={"envFile": "${workspaceFolder}/.env"},
    )

    assert made.problem == ""
    assert made.table["command"] == ["run", f"{tmp_path}/a", str(tmp_path)]
    assert made.table["env"] == {
        "PASSWORD": {"file": "x.PASSWORD=p w"},
        "PLAIN": "yes",
        "A": {"env": "SET", "default": ""},
        "B": {"env": "SET", "default": "x"},
        "C": {"env": "MY_KEY", "default": ""},
        "D": {"env": "UNSET", "default": ""},
        "E": {"file": "x.E=pre now"},
        "F": f"{Path.home()}/f",
    }
    notes = "\n".join(made.notes)
    assert "MY_KEY" in notes and "UNSET is not set here" in notes and ".env now is kept" in notes


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": ""}, "neither a command nor an address"),
        ({"command": "", "url": "ws://x"}, "its address is none of HTTP: ws"),
        ({"arguments": ("Bearer ${NOPE}",)}, "it needs the variable NOPE"),
        ({"arguments": ("a${command:x}",)}, "cannot be translated"),
        ({"entry": {"envFile": "none"}}, "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_adopted_says_why(
    tmp_path: Path, entry: dict[str, Any], problem: str
) -> None:
    made = adopted(tmp_path, **entry)

    assert problem in made.problem
    assert made.table == {}


def test_an_address_keeps_no_login_and_says_that_others_do_not_travel(tmp_path: Path) -> None:
    login = adopted(tmp_path, command="", url="https://ann:pw@x.org/mcp", headers={"Accept": "a/b"})
    query = adopted(tmp_path, command="", url="https://x.org/mcp?token=abc", entry={"type": "sse"})

    assert login.table == {
        "url": "https://x.org/mcp",
        "headers": {"Accept": "a/b", "Authorization": {"file": "x.Authorization=Basic YW5uOnB3"}},
    }
    assert query.table == {"url": {"file": "x.url=https:||x.org|mcp?token=abc"}, "transport": "sse"}
    assert any("login does not travel" in note for note in query.notes)
    assert (login.what, query.what) == ("https://x.org", "https://x.org")


def test_variables_that_codex_goose_and_continue_name_are_translated(tmp_path: Path) -> None:
    entry = {"bearer_token_env_var": "LOGIN", "env_http_headers": {"X-Team": "TEAM"}}
    remote = adopted(tmp_path, {"LOGIN": "abc"}, command="", url="https://x.org", entry=entry)
    unset = adopted(tmp_path, command="", url="https://x.org", entry=entry)
    local = adopted(tmp_path, entry={"env_vars": ["TEAM"]})
    goose = adopted(tmp_path, entry={"env_keys": ["TEAM"]})
    secret = adopted(tmp_path, environment={"A": "${{ secrets.TEAM }}"})

    assert remote.table["headers"] == {
        "Authorization": {"file": "x.Authorization=Bearer abc"},
        "X-Team": {"env": "TEAM", "default": ""},
    }
    assert unset.problem == "it needs the variable LOGIN, which is not set here"
    assert local.table["env"] == {"TEAM": {"env": "TEAM", "default": ""}}
    assert goose.table == local.table and "TEAM is not set here" in goose.notes[0]
    assert secret.table["env"] == {"A": {"env": "TEAM", "default": ""}}


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("My Server!", "my_server"),
        ("@scope/a.b", "scope_a_b"),
        ("123", "s_123"),
        ("host", "host_server"),
        ("日本", "s"),
        ("x" * 40, "x" * 32),
    ],
)
def test_a_name_becomes_the_nearest_that_a_pack_may_have(name: str, pack: str) -> None:
    assert pack_name(name) == pack


@pytest.mark.parametrize(
    "value",
    [
        "/home/ann/projects/2024-report-final-version",
        "@scope/server-x@1.2.3",
        "workspaceX",
        "mcp/keycloak:latest",
        "LOG_LEVEL=debug",
        "type=bind,src=/home/ann,dst=/projects",
    ],
)
def test_ordinary_words_are_no_secrets(value: str) -> None:
    assert not looks_secret(value)
    assert not is_secret("ROOT", value)


def test_what_is_not_locked_when_somebody_stops_it_is_named(home: Home) -> None:
    state = {"STATE": str(home.project)}
    (home.project / "hangs").touch()
    client_file(home, {"slow": {"command": sys.executable, "args": [str(SERVER)], "env": state}})

    with subprocess.Popen(
        home.argv("adopt", "cursor", "--all"),
        cwd=home.project,
        env=home.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        ends = time.monotonic() + LONGEST
        while not (home.project / "processes").exists() and time.monotonic() < ends:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONGEST)

    assert process.returncode == 130
    assert "Starting slow once" in said
    assert "Not locked, and enabled: slow." in said
    assert "mcp-host lock slow --config" in said
