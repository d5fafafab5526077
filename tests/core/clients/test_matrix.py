"""Every client with every kind of file: nothing is lost, every refusal is explained, and a second
run changes nothing."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from mcp_host.clients import jsonc, yaml
from mcp_host.clients.changes import apply, plan_install, plan_uninstall
from mcp_host.clients.client import Client, ClientFileError, Launch
from mcp_host.clients.known import CLIENTS
from mcp_host.clients.reading import read_file
from mcp_host.errors import SettingsError

LAUNCH = Launch("/opt/my venv/bin/mcp-host", ("serve", "--config", "C:\\a b\\mcp-host.toml"))
WRITTEN = [client for client in CLIENTS.values() if not client.by_bundle]
READ = {"json": jsonc.loads, "toml": tomllib.loads, "yaml": yaml.loads}


def dumped(client: Client, data: dict[str, Any]) -> str:
    """The data as the client's users write it."""
    if client.syntax == "toml":
        return tomli_w.dumps(data)
    if client.syntax == "json":
        return json.dumps(data, indent=2) + "\n"
    lines = []
    for key, value in data.items():
        lines.append(
            f"{key}:" + ("" if isinstance(value, dict | list) else f" {json.dumps(value)}")
        )
        items = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        for item in items:
            for number, (name, of) in enumerate(item.items()):
                mark = "- " if isinstance(value, list) and number == 0 else "  "
                lines.append(f"  {mark if isinstance(value, list) else ''}{name}: {json.dumps(of)}")
    return "\n".join(lines) + "\n"


def table(client: Client, *entries: tuple[str, dict[str, Any]]) -> Any:
    if client.listed:
        return [{"name": name, **entry} for name, entry in entries]
    return dict(entries)


def entry(client: Client, command: str = "npx", **more: Any) -> dict[str, Any]:
    """Somebody else's server, in the client's own words."""
    if client.arguments is None:
        return {client.command: [command, "x"], **more}
    return {client.command: command, client.arguments: ["x"], **more}


OTHER = "other"
COMMENT = {"json": "// mine, { \n", "toml": "# mine, [\n", "yaml": "# mine, {\n"}


def files(client: Client) -> dict[str, str | None]:
    """The sixteen kinds, each as a text; None is a file that is not there."""
    kind, servers = client.syntax, client.servers
    usual = dumped(client, {"theme": "dark", servers: table(client, (OTHER, entry(client)))})
    many = [(f"s{n}", entry(client)) for n in range(10 if kind == "yaml" else 80)]
    deep: Any = "deep"
    for _ in range(40):
        deep = {"k": [deep]} if kind == "json" else {"k": deep}
    nested = {
        "json": json.dumps({"x": deep, servers: table(client, (OTHER, entry(client)))}),
        "toml": f"x{'.k' * 40} = 1\n" + usual,
        "yaml": f"x: {json.dumps(deep)}\n" + usual,
    }
    quoted = json.dumps(servers)
    other = json.dumps(entry(client))
    return {
        "missing": None,
        "empty": "",
        "byte-order mark": "\ufeff" + usual,
        "CRLF": usual.replace("\n", "\r\n"),
        "comments": COMMENT[kind] + usual + COMMENT[kind],
        "trailing commas": {
            "json": f'{{{quoted}: {{"a": {{"args": [1, 2,],}},}},}}',
            "toml": f"[{servers}.a]\nargs = [1, 2,]\n",
            "yaml": usual + "list: [1, 2,]\n",
        }[kind],
        "dotted keys": {
            "json": f'{{"editor.font.size": 12, {quoted}: {{"a.b": {{}}}}}}',
            "toml": f"{servers}.a.command = 'x' # mine\n{servers}.a.args = []\ntheme.x = 1\n",
            "yaml": usual + "editor.font.size: 12\n",
        }[kind],
        "inline tables": {
            "json": f'{{{quoted}: {{"a": {other}}}, "z": [1, {{"y": 2}}]}}',
            "toml": f"{servers} = {{ a = {{ command = 'x' }} }} # mine\n",
            "yaml": "z: {y: [1, 2]} # mine\n" + usual,
        }[kind],
        "duplicate keys": {
            "json": f'{{"a": 1, "a": 2, {quoted}: {{"x": {{}}}}, {quoted}: {{"y": {{}}}}}}',
            "toml": "a = 1\na = 2\n",
            "yaml": "a: 1\na: 2\n",
        }[kind],
        "another's entry": dumped(
            client, {servers: table(client, ("mcp-host", entry(client, "node")))}
        ),
        "disabled entry": dumped(
            client, {servers: table(client, ("mcp-host", entry(client, "mcp-host", disabled=True)))}
        ),
        "read-only": usual,
        "symlink": usual,
        "invalid": {"json": '{"a": ', "toml": "a = ", "yaml": "a: [1\nb: }"}[kind],
        "huge": dumped(
            client,
            {servers: table(client, *many), "z": 1}
            if kind != "toml"
            else {"z": 1, servers: table(client, *many)},
        ),
        "nested": nested[kind],
    }


REFUSED = {
    "another's entry": "has another server called mcp-host (node)",
    "read-only": "is read-only and left as it is",
    "invalid": "is damaged and left as it is",
}
DUPLICATES = "is damaged and left as it is"


@pytest.mark.parametrize("client", WRITTEN, ids=lambda client: client.name)
def test_nothing_is_lost_every_refusal_is_explained_and_a_second_run_changes_nothing(
    client: Client, tmp_path: Path
) -> None:
    kinds = files(client)
    assert len(kinds) == 16

    for kind, text in kinds.items():
        folder = tmp_path / kind
        folder.mkdir()
        path = made(folder, kind, text)
        refusal = REFUSED.get(kind, "")
        if kind == "duplicate keys" and client.syntax != "json":
            refusal = DUPLICATES
        if refusal:
            refused(client, path, refusal, kind)
        else:
            installed(client, path, text or "", kind)


def made(folder: Path, kind: str, text: str | None) -> Path:
    path = folder / "file"
    if text is None:
        return path
    if kind == "symlink" and sys.platform != "win32":
        (folder / "real").write_bytes(text.encode())
        path.symlink_to(folder / "real")
        return path
    path.write_bytes(text.encode())
    if kind == "read-only":
        path.chmod(0o444)
    return path


def refused(client: Client, path: Path, why: str, kind: str) -> None:
    before = path.read_bytes()

    with pytest.raises(ClientFileError) as caught:
        apply(plan_install(client, path, LAUNCH))

    assert why in str(caught.value), kind
    assert str(path) in str(caught.value), kind
    assert path.read_bytes() == before, kind
    assert list(path.parent.iterdir()) == [path], kind


def installed(client: Client, path: Path, text: str, kind: str) -> None:
    change = plan_install(client, path, LAUNCH)
    apply(change)

    after = path.read_bytes().decode()
    rest = iter(after)
    old = read(client, text)
    new = read(client, after)
    was = by_name(client, old).get("mcp-host", {})
    assert by_name(client, new) == {
        **by_name(client, old),
        "mcp-host": {**was, **client.entry(LAUNCH, was, "mcp-host")},
    }, kind
    assert {**new, client.servers: 0} == {**old, client.servers: 0}, kind
    if not was:
        assert all(character in rest for character in text), kind
    assert path.is_symlink() == (kind == "symlink" and sys.platform != "win32")
    assert (change.off != "") == (kind == "disabled entry")
    assert not plan_install(client, path, LAUNCH).is_needed, kind
    server = next(s for s in read_file(client, path).servers if s.name == "mcp-host")
    assert (server.command, server.arguments) == (LAUNCH.command, LAUNCH.arguments), kind
    apply(plan_uninstall(client, path))
    left = read(client, path.read_bytes().decode())
    assert "mcp-host" not in by_name(client, left), kind
    assert {client.servers: 0, **left, client.servers: 0} == {**old, client.servers: 0}, kind


def read(client: Client, text: str) -> dict[str, Any]:
    text = text.removeprefix("\ufeff").strip() or client.begins
    data: dict[str, Any] = (READ[client.syntax](text) or {}) if text else {}
    return data


def by_name(client: Client, data: dict[str, Any]) -> dict[str, Any]:
    found = data.get(client.servers) or {}
    return {item["name"]: item for item in found} if client.listed else dict(found)


def test_without_ruamel_yaml_a_file_in_yaml_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("extensions: {}\n")
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)

    with pytest.raises(SettingsError, match=r'pip install "mcp-host\[yaml\]"'):
        plan_install(CLIENTS["goose"], path, LAUNCH)

    assert "mcp-host[yaml]" in read_file(CLIENTS["goose"], path).problem


@pytest.mark.parametrize("text", ["extensions: {} # none yet\n", "a: 1\nextensions: # none yet\n"])
def test_a_comment_beside_an_empty_table_in_yaml_stays(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)

    apply(plan_install(CLIENTS["goose"], path, LAUNCH))

    assert "extensions: # none yet\n  mcp-host:\n" in path.read_text()


def test_a_new_file_of_continue_has_the_name_and_version_that_continue_insists_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.yaml"

    apply(plan_install(CLIENTS["continue"], path, LAUNCH))

    assert {"name", "version", "schema", "mcpServers"} == set(yaml.loads(path.read_text()))
