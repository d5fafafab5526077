"""The wheels, installed where nothing of this project was: what a user gets, and no more."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path

import psutil
import pytest
from mcp_host.testing import stdio_client
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
BIN = "Scripts" if os.name == "nt" else "bin"
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.xdist_group("clean_install"),  # the wheels are built once
]
OFFLINE = ("Failed to establish a new connection", "Temporary failure in name resolution")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an empty environment into which the Todo DB extra went."""
    folder = tmp_path_factory.mktemp("clean")
    wheels, environment = folder / "wheels", folder / "venv"
    distributions = [ROOT / "core", *sorted(ROOT.glob("plugins/*/"))]
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, *distributions)
    assert len(list(wheels.glob("*.whl"))) == len(distributions)
    venv.create(environment, symlinks=os.name != "nt")
    python = environment / BIN / "python"
    constraints = ROOT / "constraints.txt"
    pip(
        *("--python", python, "install", "--no-compile", "--constraint", constraints),
        *("--find-links", wheels, "mcp-host[todo-db]"),
    )
    return environment / BIN


def test_an_extra_brings_its_own_pack_alone(programs: Path) -> None:
    listing = (
        "import importlib.metadata as m;"
        "print(*sorted(d.name for d in m.distributions() if d.name.startswith('mcp-host')))"
    )

    found = subprocess.check_output([programs / "python", "-c", listing], text=True)

    assert found.split() == ["mcp-host", "mcp-host-todo-db"]


def test_every_wheel_has_its_licence_and_bounds_between_host_and_packs(programs: Path) -> None:
    for wheel in programs.parents[1].glob("wheels/*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            (file,) = [name for name in packed.namelist() if name.endswith("/METADATA")]
            about = message_from_bytes(packed.read(file))
            licence = packed.read(file.replace("METADATA", "licenses/LICENSE"))
        needed = [Requirement(text) for text in about.get_all("Requires-Dist", ())]
        between = [need for need in needed if need.name.startswith("mcp-host")]

        assert about["License-Expression"] == "MIT"
        assert licence == (ROOT / "LICENSE").read_bytes()
        assert between
        for need in between:
            assert need.specifier.contains(str(about["Version"])), need
            assert not need.specifier.contains("1.0.0"), need


def test_a_key_that_an_extra_brings_names_the_extra(programs: Path, tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text('[packs.files]\nargs = ["x"]\ncommand = "npx"\n', "utf-8")

    done = subprocess.run(
        [programs / "mcp-host", "packs", "--config", file],
        env=account(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    needs = 'packs.files.command: this needs what is not installed: pip install "mcp-host[mount]"'
    assert done.returncode == 1
    assert needs in " ".join(done.stderr.split())


def test_the_host_finds_the_pack(programs: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [programs / "mcp-host", "packs", "--json"],
        env=account(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    (pack,) = json.loads(done.stdout)["packs"]
    assert (pack["name"], pack["distribution"]) == ("todo_db", "mcp-host-todo-db")


@pytest.mark.parametrize("later", ["mcp_host", "mcp_host_todo_db"], ids=["host", "pack"])
def test_a_later_host_and_an_earlier_pack_are_not_installed_together_nor_the_reverse(
    programs: Path, tmp_path: Path, later: str
) -> None:
    wheels = programs.parents[1] / "wheels"
    of_later = as_version(wheels, later, "1.0.0", tmp_path)
    earlier = "mcp_host" if later == "mcp_host_todo_db" else "mcp_host_todo_db"
    (of_earlier,) = wheels.glob(f"{earlier}-0*.whl")

    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", programs / "python"),
            *("install", "--dry-run", "--no-index", of_earlier, of_later),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    told = done.stdout + done.stderr
    assert done.returncode == 1
    assert "conflicting dependencies" in told
    assert re.search(r"mcp-host-todo-db \S+ depends on mcp-host<[12] and >=[01]", told), told


def test_a_later_pack_that_was_forced_beside_an_earlier_host_is_refused_by_it(
    programs: Path, tmp_path: Path
) -> None:
    later = as_version(programs.parents[1] / "wheels", "mcp_host_todo_db", "1.0.0", tmp_path)
    there = tmp_path / "there"
    pip("install", "--no-index", "--no-deps", "--no-compile", "--target", there, later)
    (tmp_path / "mcp-host.toml").write_text("[packs.todo_db]\n")

    done = subprocess.run(
        [programs / "mcp-host", "packs", "--json", "--config", "mcp-host.toml"],
        env={**account(tmp_path), "PYTHONPATH": str(there)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    (pack,) = json.loads(done.stdout)["packs"]
    assert pack["code"] == "host_unfit"
    assert "made for mcp-host <2,>=1.0.0, and this is mcp-host 0.1.0" in pack["reason"]


def as_version(wheels: Path, name: str, version: str, folder: Path) -> Path:
    """A distribution's wheel as one of another version, with the bounds that it would have then."""
    (wheel,) = wheels.glob(f"{name}-0*.whl")
    made = folder / f"{name}-{version}-py3-none-any.whl"
    upper = int(version.partition(".")[0]) + 1
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename.endswith(".dist-info/METADATA"):
                text = data.decode().replace("\nVersion: 0.1.0\n", f"\nVersion: {version}\n")
                data = text.replace("<1,>=0.1.0", f"<{upper},>={version}").encode()
            if member.filename.endswith(".dist-info/RECORD"):
                data = b""  # it held the checksum of what has changed
            new.writestr(member.filename.replace("-0.1.0.dist-info", f"-{version}.dist-info"), data)
    return made


@pytest.mark.anyio
async def test_the_pack_serves_alone(programs: Path, tmp_path: Path) -> None:
    environment = {**account(tmp_path), "DATABASE_URL": ""}
    # The time to open is for opening: what is imported then is compiled before.
    imports = "import aiosqlite, alembic, mcp_host_todo_db.plugin, sqlalchemy.ext.asyncio"
    subprocess.run([programs / "python", "-c", imports], env=environment, check=True)
    async with stdio_client([programs / "todo-db-mcp"], environment=environment) as client:
        assert len(await client.tools()) == 5
        await client.value("add_task", user_id="ann", title="t")

        assert (await client.value("list_tasks", user_id="ann"))["total"] == 1


def pythons() -> dict[str, str]:
    """Each supported Python of this machine by its whole version: on the path, or pyenv's."""
    say = "import sys; print(*sys.version_info[:3], sep='.'); print(sys.executable)"
    found: dict[str, str] = {}
    folders = [*os.get_exec_path(), *Path.home().glob(".pyenv/versions/*/bin")]
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        for program in filter(None, (shutil.which(name, path=str(one)) for one in folders)):
            ran = subprocess.run([program, "-c", say], capture_output=True, text=True, check=False)
            version, _, python = ran.stdout.strip().partition("\n")
            if ran.returncode == 0 and re.fullmatch(r"3\.1[123]\.\d+", version):
                found.setdefault(version, python)
    return found


PYTHONS = pythons()
GREET = """
import logging

from mcp_host import tool

log = logging.getLogger("greet")


@tool(read_only=True)
def greet(name: str) -> str:
    "Greet somebody."
    log.warning("%s was greeted", name)
    return f"Hello, {name}!"
"""


@pytest.mark.anyio
@pytest.mark.parametrize("version", PYTHONS)
async def test_a_pack_of_the_folder_serves_session_after_session_on_each_python(
    programs: Path, tmp_path: Path, version: str
) -> None:
    own = tmp_path / "venv" / BIN
    subprocess.run([PYTHONS[version], "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (wheel,) = (programs.parents[1] / "wheels").glob("mcp_host-0*.whl")
    constraints = ROOT / "constraints.txt"
    pip("--python", own / "python", "install", "--constraint", constraints, wheel)
    project = tmp_path / "project"
    project.mkdir()
    (project / "greet.py").write_text(GREET)
    (project / "mcp-host.toml").write_text('[packs.greet]\nfile = "./greet.py"\n')
    environment = {**account(tmp_path), "MCP_HOST_WARM": "1"}
    host = str(own / "mcp-host")
    subprocess.run([host, "trust"], cwd=project, env=environment, check=True)

    try:
        for number in range(9):
            server = [host, "serve", *(["--no-warm"] if number == 0 else [])]
            async with stdio_client(server, cwd=project, environment=environment) as client:
                assert await client.value("greet_greet", name=f"{number}") == f"Hello, {number}!"
    finally:
        left = [
            process
            for process in psutil.process_iter(["cmdline"])
            if "mcp_host.serving.warm" in (process.info["cmdline"] or ())
            and process.info["cmdline"][0].startswith(str(own))
        ]
        subprocess.run([host, "warm", "stop"], cwd=project, env=environment, check=True)
        assert not psutil.wait_procs(left, timeout=30)[1]


def pip(*arguments: str | Path) -> None:
    """Run this environment's pip; where there is no network, there is nothing to show."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if any(sign in done.stderr for sign in OFFLINE):
        pytest.skip("the package index cannot be reached: a clean installation was not tried")
    assert done.returncode == 0, done.stderr


def account(folder: Path) -> Mapping[str, str]:
    """The variables of an account in which nothing was set up."""
    kinds = ("CONFIG", "DATA", "CACHE")
    compiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return {**compiled, **{f"XDG_{kind}_HOME": str(folder / kind) for kind in kinds}}
