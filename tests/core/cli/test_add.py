"""`mcp-host add` and `remove`: into the host's own environment, whole or not at all."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from core_home import Done, Home
from mcp_host.cli.add import environment
from mcp_host.cli.add.plugin import read as read_plugin
from mcp_host.cli.add.source import wanted
from mcp_host.errors import SettingsError

PACK = '''
from mcp_host import hookimpl, tool


@tool(read_only=True)
def water() -> str:
    """Water."""
    return "2"


@hookimpl
def mcp_host_tools():
    return [water]
'''


def wheel(folder: Path, name: str, *, pack: str = "", requires: str = "") -> Path:
    """Write a wheel of one module, which may offer a pack."""
    info = f"made_{name}-1.0.dist-info"
    about = f"Metadata-Version: 2.1\nName: made-{name}\nVersion: 1.0\n"
    files = {
        f"made_{name}.py": PACK,
        f"{info}/METADATA": about + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if pack:
        files[f"{info}/entry_points.txt"] = f"[mcp_host.packs]\n{pack} = made_{name}\n"
    record = f"{info}/RECORD"
    path = folder / f"made_{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(record, "".join(f"{file},,\n" for file in [*files, record]))
    return path


class Machine:
    """A user whose host lives in an environment of its own, with wheels and without an index."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.wheels = home.folder / "wheels"
        self.wheels.mkdir()
        prefix = home.folder / "environment"
        venv.create(prefix)
        (self.site,) = (prefix / "lib").glob("python*/site-packages")
        ours = next(path for path in sys.path if Path(path).name == "site-packages")
        (self.site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
        self._python = prefix / "bin" / "python"
        more = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PYTHONPATH": ""}
        self._environment = {**home.environment(), **more}

    def run(self, *words: str | Path) -> Done:
        done = subprocess.run(
            [self._python, "-P", "-m", "mcp_host", *words],
            cwd=self.home.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    @property
    def installed(self) -> set[str]:
        return {path.name for path in self.site.iterdir() if path.name != "__pycache__"}


@pytest.fixture(scope="module")
def machine(make_home: Callable[[], Home]) -> Machine:
    return Machine(make_home())


@pytest.mark.acceptance
def test_a_wheel_is_shown_added_enabled_and_taken_back_with_what_it_brought(
    machine: Machine,
) -> None:
    wheel(machine.wheels, "soil")
    plants = wheel(machine.wheels, "plants", pack="plants", requires="made-soil")
    before = machine.installed

    asked = machine.run("add", plants)
    assert asked.code == 1
    assert "made-plants 1.0" in asked.err and "made-soil 1.0" in asked.err
    assert "nobody to ask here; say --yes" in asked.err
    assert machine.installed == before

    added = machine.run("add", plants, "--yes")
    assert added.code == 0, added.err
    packs = json.loads(machine.run("packs", "--json").out)["packs"]
    assert [pack["state"] for pack in packs if pack["name"] == "plants"] == ["checked"]

    removed = machine.run("remove", "plants", "--yes")
    assert removed.code == 0, removed.err
    assert machine.installed == before
    assert "enabled = false" in (machine.home.project / "mcp-host.toml").read_text()


def test_what_offers_no_pack_is_taken_out_again(machine: Machine) -> None:
    wheel(machine.wheels, "plain")
    before = machine.installed

    done = machine.run("add", "made-plain", "--yes")

    assert done.code == 1
    assert "made-plain offers no pack, and was taken out again" in done.err
    assert machine.installed == before


def test_what_cannot_be_had_whole_changes_nothing(machine: Machine) -> None:
    lonely = wheel(machine.wheels, "lonely", pack="lonely", requires="made-of-nothing>=2")
    before = machine.installed

    done = machine.run("add", lonely, "--yes")

    assert done.code == 1
    assert "nothing was changed: " in done.err
    assert "made-of-nothing" in done.err
    assert machine.installed == before


@pytest.mark.torture  # as the test above, at a later moment
def test_an_installation_that_breaks_off_is_taken_out_again(machine: Machine) -> None:
    broken = wheel(machine.wheels, "broken", pack="broken")
    with zipfile.ZipFile(broken, "a") as archive:
        archive.writestr("../outside.py", "")
    before = machine.installed

    done = machine.run("add", broken, "--yes")

    assert done.code == 1
    assert machine.installed == before
    assert "broken" not in (machine.home.project / "mcp-host.toml").read_text()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("plants; rm -r x", "must be a distribution's name"),
        ("--index-url=x", "must be a distribution's name"),
        ("./none.whl", "none.whl is not there"),
        (".", "must be a wheel, or a folder with a pyproject.toml"),
        ("sources", "say --build to allow it"),
        ("made_plain-1.0-py3-none-any.whl", "offers no pack"),
        ("made.tar.gz", "other archives need --build"),
        ("damaged.whl", "cannot be read as a wheel"),
    ],
)
def test_a_source_that_may_not_be_installed_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sources").mkdir()
    Path("sources", "pyproject.toml").touch()
    wheel(tmp_path, "plain")
    Path("made.tar.gz").touch()
    Path("damaged.whl").touch()

    with pytest.raises(SettingsError, match=said):
        wanted(source, build=False)


def test_a_pack_of_the_hosts_own_is_the_distribution_of_its_extra() -> None:
    found = wanted("todo_db", build=False)

    assert found.distribution == "mcp-host-todo-db"
    assert found.requirement.startswith("mcp-host-todo-db<1")


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an environment, whose makers lie on the path as programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("uv", "pipx"):
        (programs / name).touch(0o755)
    made = tmp_path / "mcp-host"
    made.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    for name in ("UV", "PIPX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "prefix", str(made))
    return made


RECEIPT = """
[tool]
python = "3.12"
requirements = [
    { name = "six", specifier = ">=1" },
    { name = "mcp-host", extras = ["tasky"], specifier = "<1" },
    { name = "made-plants", path = "/wheels/made_plants-1.0-py3-none-any.whl" },
]
"""


def test_a_tool_of_uv_is_installed_again_with_all_that_its_record_holds(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").write_text(RECEIPT)
    who = environment.installer()
    uv, *added = who.install("made-soil", "pins", build=False)
    _, *removed = who.uninstall(["made-plants"])
    plants = "made-plants @ file:///wheels/made_plants-1.0-py3-none-any.whl"
    tool = ["mcp-host[tasky]<1", "--python", "3.12", "--with", "six>=1"]

    assert Path(uv).name == "uv"
    assert added == [
        *("tool", "install", "--quiet", "--no-build", *tool, "--with", plants),
        *("--with", "made-soil"),
    ]
    assert removed == ["tool", "install", "--quiet", *tool]


def test_pipx_injects_so_that_its_record_has_the_pack(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    who = environment.installer()

    assert who.install("made-soil", "pins", build=False)[1:] == [
        *("inject", "--pip-args=--only-binary=:all:", "mcp-host", "made-soil")
    ]
    assert who.uninstall(["made-soil"])[1:] == ["uninject", "mcp-host", "made-soil"]


def test_an_environment_of_uv_is_kept_by_uv_and_what_is_there_stays(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n")
    who = environment.installer()
    command = who.install("made-soil", "pins", build=True)

    assert command[1:3] == ["pip", "install"]
    assert command[3:] == ["--python", sys.executable, "--quiet", "-c", "pins", "made-soil"]


def test_without_the_program_that_made_it_nothing_is_touched(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "uv-receipt.toml").write_text(RECEIPT)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(SettingsError, match="made by uv, which must be on the PATH"):
        environment.installer()


def test_the_systems_own_python_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(environment.sysconfig, "get_path", lambda name: str(tmp_path))

    with pytest.raises(SettingsError, match="belongs to the system"):
        environment.installer()


def test_an_environment_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(SettingsError, match="must be writable to add a pack"):
        environment.installer()


SERVER = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    tools = [{"name": "water", "inputSchema": {"type": "object"}}]
    about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    about["serverInfo"] = {"name": sys.argv[1], "version": "1"}
    result = {"initialize": about, "tools/list": {"tools": tools}}.get(asked["method"], {})
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"


def plugin(folder: Path, **servers: object) -> Path:
    """Write an Agent Plugin with these servers, and one skill."""
    (folder / "skills" / "watering").mkdir(parents=True)
    (folder / "skills" / "watering" / "SKILL.md").touch()
    (folder / "server.py").write_text(SERVER)
    about = {"$schema": f"{SCHEMAS}/plugin.schema.json", "name": "made-garden"}
    (folder / "plugin.json").write_text(json.dumps(about))
    entries = {"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": servers}
    (folder / "mcp.json").write_text(json.dumps(entries))
    return folder


def test_an_agent_plugin_becomes_a_pack_that_serves_and_goes_again(home: Home) -> None:
    program = Path(sys.executable).name
    arguments = ["${PLUGIN_ROOT}/server.py", "${PLUGIN_DATA}"]
    folder = plugin(
        home.folder / "garden",
        garden={"type": "stdio", "command": program, "args": arguments},
    )
    config = home.project / "mcp-host.toml"

    asked = home.run("add", str(folder))
    assert asked.code == 1
    assert not config.exists()
    added = home.run("add", str(folder), "--yes")
    assert added.code == 0, added.err
    assert f"made_garden: {program} {folder}/server.py" in added.err
    assert "its skills are not served by the host: watering" in added.err
    assert "made_garden_water" in home.run("tools").out
    assert home.run("remove", "made_garden", "--yes").code == 0
    assert "made_garden" not in config.read_text()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"type": "stdio", "command": "../run"}, "must begin with ./ and stay in the plugin"),
        ({"type": "stdio", "command": "./run", "cwd": "/etc"}, "cwd must lie in the plugin"),
        ({"type": "stdio"}, "command must be a text"),
        ({"type": "pipe", "command": "x"}, "its type must be one of stdio, streamable-http, sse"),
        ({"type": "stdio", "command": "x", "shell": True}, "shell is not of the format"),
    ],
)
def test_a_server_of_a_plugin_that_the_format_does_not_allow_is_left_out(
    tmp_path: Path, entry: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        read_plugin(plugin(tmp_path / "garden", garden=entry))
