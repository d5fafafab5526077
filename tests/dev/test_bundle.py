"""`mcp-host bundle`: each form is what its own validator takes, and starts as its client would."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from core_home import Home
from mcp_host import SettingsError
from mcp_host.testing import http_server, stdio_client
from mcp_host_dev.bundle import bundle

pytestmark = pytest.mark.anyio

TOOLS = Path(__file__).resolve().parents[2] / ".tools"
MCPB = "@anthropic-ai/mcpb@2.1.2"
NAME = "mcp-host-plants"
PACK = '''
from mcp_host import hookimpl, prompt, tool


@tool(read_only=True)
def water(plant: str) -> str:
    """Say how much water a plant needs.

    In litres a week.
    """
    return f"{plant}: 2"


@prompt
def plan(bed: str) -> str:
    """Plan a bed."""
    return bed


@hookimpl
def mcp_host_tools():
    return [water]


@hookimpl
def mcp_host_prompts():
    return [plan]
'''
SKILL = """---
name: plan-a-bed
description: Plan a bed. Use when somebody names plants for a garden.
---

Ask `water` for each plant; [beds](beds.md) has the sizes.
"""
ARGUMENTS = ("--server-name", "io.github.you/plants", "--image", "ghcr.io/you/plants:3.1")
FORMS = ("mcpb", "plugin", "claude", "gemini", "server-json", "container")


@pytest.fixture(scope="module")
def home(make_home: Callable[[], Home]) -> Home:
    """A user with the pack `plants`, which ships a skill."""
    home = make_home()
    folder = home.folder / "packs"
    skill = folder / "made_plants" / "skills" / "plan-a-bed"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "beds.md").write_text("Beds.\n")
    (skill.parents[1] / "__init__.py").write_text(PACK)
    about = folder / "made_plants-3.0.dist-info"
    about.mkdir()
    lines = ("Metadata-Version: 2.1", "Name: made-plants", "Version: 3.0", "Summary: Plants.")
    (about / "METADATA").write_text("\n".join(lines) + "\n")
    (about / "entry_points.txt").write_text("[mcp_host.packs]\nplants = made_plants\n")
    home.packs.append(folder)
    return home


@pytest.fixture(scope="module")
def bundles(home: Home) -> Path:
    """The folder with all forms of one bundle, made by one command."""
    forms = [word for form in FORMS for word in ("--format", form)]
    done = home.run("bundle", "plants", *forms, "--out", "made", *ARGUMENTS)
    assert done.code == 0, done.err
    assert "1 tools, 1 prompts, 1 skills" in done.out
    assert "made-plants==3.0" in done.out
    return home.project / "made"


@pytest.fixture(scope="module")
def unpacked(bundles: Path) -> Path:
    """The MCP bundle, unpacked as Claude Desktop would."""
    (file,) = (bundles / "mcpb").iterdir()
    with zipfile.ZipFile(file) as archive:
        archive.extractall(bundles / "unpacked")
    return bundles / "unpacked"


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def schema(name: str) -> Any:
    """A published schema; the linter skillsaw brings the formats' own ones with it."""
    return json.loads((resources.files("skillsaw") / "schemas" / name).read_text("utf-8"))


def check(data: Any, schema: Any) -> None:
    jsonschema.validators.validator_for(schema)(schema).validate(data)


@pytest.mark.acceptance
@pytest.mark.xdist_group("mcpb")  # it is installed once
def test_the_mcpb_is_what_its_own_tool_takes(bundles: Path, tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("NOT TESTED with mcpb: node and npm are not installed")
    folder = TOOLS / "mcpb-2.1.2"
    program = folder / "node_modules" / ".bin" / "mcpb"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        argv = [npm, "install", "--prefix", folder, "--ignore-scripts", "--silent"]
        argv += ["--no-audit", "--no-fund", MCPB]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode != 0 or not program.exists():
            pytest.skip(f"NOT TESTED with mcpb: npm said {done.stderr.strip()}")
    (file,) = (bundles / "mcpb").iterdir()

    subprocess.run([node, program, "unpack", file, tmp_path], check=True, capture_output=True)
    done = subprocess.run(
        [node, program, "validate", tmp_path / "manifest.json"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert file.name == f"{NAME}-0.1.0.mcpb"


def test_the_mcpb_tells_of_its_tools_and_lets_uv_bring_python(unpacked: Path) -> None:
    manifest = read(unpacked / "manifest.json")

    assert manifest["manifest_version"] == "0.4"
    assert manifest["server"]["type"] == "uv"
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    assert manifest["tools"] == [
        {"name": "plants_water", "description": "Say how much water a plant needs."}
    ]
    assert '"made-plants==3.0"' in (unpacked / "pyproject.toml").read_text()


def test_the_agent_plugin_fits_the_published_schemas(bundles: Path) -> None:
    folder = bundles / "plugin"

    check(read(folder / "plugin.json"), schema("agent_plugins/v1_0_0/plugin.schema.json"))
    check(read(folder / "mcp.json"), schema("agent_plugins/v1_0_0/mcp.schema.json"))
    assert (folder / "skills" / "plan-a-bed" / "SKILL.md").read_text() == SKILL
    assert (folder / "skills" / "plan-a-bed" / "beds.md").exists()


def test_the_entry_of_the_registry_fits_the_published_schema(bundles: Path) -> None:
    entry = read(bundles / "server-json" / "server.json")
    index, image = entry["packages"]

    check(entry, schema("mcp_registry/v2025_12_11/server.schema.json"))
    assert entry["name"] == "io.github.you/plants"
    assert (index["identifier"], index["version"]) == ("mcp-host", "0.1.0")
    assert index["runtimeArguments"] == [
        {"type": "named", "name": "--with", "value": "made-plants==3.0"}
    ]
    assert image["identifier"] == "ghcr.io/you/plants:3.1"


def test_a_linter_of_plugins_finds_nothing_to_say(bundles: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skillsaw", "lint", "--strict", bundles / "claude"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def as_started(entry: Mapping[str, Any], folder: Path, variable: str) -> list[str]:
    """The command of an entry, with Python in the place of uv, which would bring it."""
    assert (entry["command"], entry["args"][:3]) == ("uv", ["run", "--quiet", "--script"])
    (program,) = entry["args"][3:]
    path = program.replace(f"${{{variable}}}", str(folder)).replace("${/}", "/")
    assert "$" not in path
    return [sys.executable, "-P", path]


@pytest.mark.parametrize(
    ("form", "file", "variable"),
    [
        ("plugin", "mcp.json", "PLUGIN_ROOT"),
        ("claude", ".mcp.json", "CLAUDE_PLUGIN_ROOT"),
        ("gemini", "gemini-extension.json", "extensionPath"),
    ],
)
async def test_a_plugin_is_started_as_its_client_does(
    home: Home, bundles: Path, form: str, file: str, variable: str
) -> None:
    folder = bundles / form
    entry = read(folder / file)["mcpServers"][NAME]

    async with stdio_client(
        as_started(entry, folder, variable), environment=home.environment(), cwd=folder
    ) as client:
        assert await client.value("plants_water", plant="Fern") == "Fern: 2"


async def test_the_mcpb_is_started_with_and_without_a_project_folder(
    home: Home, unpacked: Path, tmp_path: Path
) -> None:
    server = read(unpacked / "manifest.json")["server"]["mcp_config"]
    command = as_started(server, unpacked, "__dirname")

    for given in (str(tmp_path), server["env"]["MCP_HOST_BUNDLE_ROOT"], ""):
        environment = {**home.environment(), "MCP_HOST_BUNDLE_ROOT": given}
        async with stdio_client(command, environment=environment, cwd=unpacked) as client:
            assert await client.value("plants_water", plant="Fern") == "Fern: 2"


def containerfile(bundles: Path) -> list[tuple[str, str]]:
    """The instructions of the container file, each with what follows it."""
    text = (bundles / "container" / "Containerfile").read_text()
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_container_runs_as_nobody_in_particular_and_carries_its_label(bundles: Path) -> None:
    steps = containerfile(bundles)
    names = [name for name, _ in steps]
    said = dict(steps)

    assert names.index("USER") < names.index("ENTRYPOINT")
    assert said["USER"] == "10001"
    assert 'io.modelcontextprotocol.server.name="io.github.you/plants"' in said["LABEL"]
    assert (bundles / "container" / "requirements.txt").read_text() == (
        "mcp-host==0.1.0\nmade-plants==3.0\n"
    )
    for name, what in steps:
        if name == "COPY":
            *sources, _ = what.split()
            assert all((bundles / "container" / source).exists() for source in sources)


async def test_the_container_serves_callers_with_a_token_and_passes_its_health_check(
    home: Home, bundles: Path, tmp_path: Path
) -> None:
    said = dict(containerfile(bundles))
    started = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    there = bundles / "container"
    words = [word.replace("/etc/mcp-host", str(there)) for word in started[1:]]
    command = [sys.executable, "-P", "-m", "mcp_host", *words, "--port", "0"]
    environment = {**home.environment(), "MCP_HOST_TOKEN": "a-token-of-the-test-0123"}

    async with http_server(command, environment=environment) as server:
        port = re.search(r":(\d+)/", server.url)
        assert port is not None
        _, _, check_command = said["HEALTHCHECK"].partition(" CMD ")
        _, *code = json.loads(check_command)
        argv = [sys.executable, *(word.replace("8000", port[1]) for word in code)]
        subprocess.run(argv, check=True)

    stdio = [sys.executable, "-P", "-m", "mcp_host", "serve", "--config", there / "stdio.toml"]
    async with stdio_client(stdio, environment=home.environment(), cwd=tmp_path) as client:
        assert await client.value("plants_water", plant="Fern") == "Fern: 2"


def test_wheels_are_carried_where_they_are_found(home: Home, bundles: Path) -> None:
    wheels = home.folder / "wheels"
    wheels.mkdir()
    (wheels / "made_plants-3.0-py3-none-any.whl").write_bytes(b"wheel")

    done = home.run("bundle", "plants", "--format", "plugin", "--out", "own", "--wheels", wheels)

    assert done.code == 0, done.err
    assert "asks a package index for mcp-host==0.1.0." in done.out
    program = (home.project / "own" / "src" / "server.py").read_text()
    assert '# path = "../wheels/made_plants-3.0-py3-none-any.whl"' in program
    assert (home.project / "own" / "wheels" / "made_plants-3.0-py3-none-any.whl").exists()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"packs": []}, "name the packs to bundle; installed are: "),
        ({"packs": ["todo"]}, "no pack 'todo' is installed; installed are: "),
        ({"name": "Plants!"}, "the name must be of a-z, 0-9"),
        ({"wheels": Path("none")}, "--wheels must be a folder"),
        ({"out": Path(__file__).parent}, "must be new or empty"),
        ({"server_name": "me"}, "--server-name must be"),
    ],
)
def test_what_cannot_be_bundled_is_said_and_nothing_is_written(
    tmp_path: Path, how: dict[str, Any], said: str
) -> None:
    asked = {"packs": ["todo_db"], "forms": ["plugin"], "out": tmp_path / "out", **how}

    with pytest.raises(SettingsError, match=said):
        bundle(**asked)

    assert not (tmp_path / "out").exists()
