"""A saved catalogue is refused when something that it depends on has changed."""

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from mcp_host.startup import saved
from mcp_host.startup.catalogue import Catalogue
from mcp_host.startup.protocol import LISTS
from mcp_host.startup.saved import Dependencies, ServerIdentity
from mcp_host.testing import stdio_client

SHOWN = Catalogue("s", "1", None, None, {what: {what: []} for what in LISTS.values()})


@dataclass
class Kept:
    """A saved catalogue in this process, with something of every kind that it depends on."""

    identity: ServerIdentity
    depends: Dependencies
    environment: dict[str, str]

    @property
    def path(self) -> Path:
        return Path(self.identity.file)

    def refusal(self, **environment: str) -> str:
        return saved.read(self.identity, {**self.environment, **environment}).refusal

    def write(self) -> None:
        saved.write(
            self.identity,
            SHOWN,
            self.depends,
            must_stay=False,
            environment=self.environment,
        )


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "mcp-host.toml"
    source.write_text("[packs.made]\n")
    installed = tmp_path / "METADATA"
    installed.write_text("Version: 1\n")
    depends = Dependencies(
        files=(str(installed), str(tmp_path / "absent.py")),
        variables=("PLAIN",),
        secret_variables=("TOKEN",),
        secret_files=(str(tmp_path / "token.txt"),),
    )
    kept = Kept(
        ServerIdentity("mcp-host", source, str(tmp_path)),
        depends,
        {"PLAIN": "a", "TOKEN": "s3cret-s3cret"},
    )
    kept.write()
    assert kept.refusal() == ""
    yield kept


async def test_nothing_secret_stands_in_the_file(kept: Kept) -> None:
    text = kept.path.read_text()
    assert "s3cret" not in text
    assert kept.refusal(TOKEN="another") == ""


@pytest.mark.parametrize("what", ["settings", "metadata", "replaced", "older", "new file"])
async def test_a_changed_file_refuses_it(kept: Kept, what: str) -> None:
    source = kept.identity.source
    assert source is not None
    installed, absent = (Path(name) for name in kept.depends.files)
    about = installed.stat()
    if what == "settings":
        source.write_text("[packs.made]\nenabled = false\n")
    elif what == "metadata":
        installed.write_text("Version: 2\n\n")
    elif what == "replaced":
        other = installed.with_name("other")
        other.write_text("Version: 1\n")
        other.replace(installed)
        os.utime(installed, ns=(about.st_atime_ns, about.st_mtime_ns))
    elif what == "older":  # a clock set back, or an older version put in place
        os.utime(installed, ns=(about.st_atime_ns, about.st_mtime_ns - 10**12))
    else:
        absent.write_text("x = 1\n")

    part = "settings file" if what == "settings" else "installed files"
    assert kept.refusal() == f"changed since: {part}"


async def test_the_environment_refuses_it_where_it_was_read(kept: Kept) -> None:
    assert kept.refusal(OTHER="x") == ""
    assert kept.refusal(PLAIN="b") == "changed since: environment"
    assert saved.read(kept.identity, {"PLAIN": "a"}).refusal == "changed since: secrets"


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        (["tasky-mcp", "--stdio"], "TASKY_MCP_TIMEOUT_SECONDS"),
        (["tasky-mcp", "--stdio"], "TASKY_MCP_PROJECT_PATH"),
        (["openspec", "mcp"], "OPENSPEC_ROOT"),
        (["openspec", "mcp"], "OPENSPEC_AUTO_PROJECT_ROOT"),
        (["todo-db-mcp"], "DATABASE_URL"),
    ],
)
async def test_a_server_of_one_pack_heeds_the_variables_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], variable: str
) -> None:
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.delenv(variable, raising=False)
    argv = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    async with stdio_client(argv, cwd=tmp_path) as client:
        await client.tools()
        assert await client.end_input() == 0

    program = " ".join(word for word in command if not word.startswith("-"))
    identity = ServerIdentity(program, None, str(tmp_path))
    assert saved.read(identity).refusal in ("", "changed since: Python path")
    assert "environment" in saved.read(identity, {**os.environ, variable: "7"}).refusal


async def test_another_program_file_or_project_has_a_catalogue_of_its_own(kept: Kept) -> None:
    for other in (
        replace(kept.identity, program="todo-db-mcp"),
        replace(kept.identity, source=None),
        replace(kept.identity, root="/elsewhere"),
    ):
        assert saved.read(other).refusal == "there is none yet"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\xfe", b'{"format": 0}']
)
async def test_a_damaged_file_counts_as_none(kept: Kept, damage: bytes) -> None:
    kept.path.write_bytes(damage)
    assert saved.read(kept.identity).refusal == "it is damaged"
    kept.write()
    assert kept.refusal() == ""


@pytest.mark.parametrize("lacks", ["time", "must_stay", "salt", "fingerprint", "tools"])
async def test_a_file_that_lacks_something_counts_as_none(kept: Kept, lacks: str) -> None:
    data = json.loads(kept.path.read_text())
    catalogue = json.loads(data["catalogue"])
    del (catalogue["pages"] if lacks == "tools" else data)[lacks]
    data["catalogue"] = json.dumps(catalogue)
    kept.path.write_text(json.dumps(data))
    assert kept.refusal() == "it is damaged"
    kept.path.write_text("[" * 200_000)
    assert kept.refusal() == "it is damaged"


async def test_a_file_that_others_could_have_written_counts_as_none(kept: Kept) -> None:
    kept.path.chmod(0o666)
    assert kept.refusal() == "others may write to it"
    kept.path.chmod(0o600)
    with kept.path.open("ab") as file:
        file.truncate(saved.LARGEST + 1)
    assert kept.refusal() == "it is too large"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_a_file_of_somebody_else_counts_as_none(kept: Kept) -> None:
    os.chown(kept.path, 65534, 65534)
    assert kept.refusal() == "it belongs to somebody else"


async def test_drafts_of_the_killed_and_what_is_long_unused_go_when_one_is_saved(
    kept: Kept,
) -> None:
    def aged(name: str, days: float) -> Path:
        path = kept.path.with_name(name)
        path.write_text("{}")
        moment = time.time() - days * 86400
        os.utime(path, (moment, moment))
        return path

    stale = [aged(".catalogue-killed", 1), aged("forgotten.json", 100)]
    fresh = [aged(".catalogue-at-work", 0), aged("another.json", 30)]

    kept.write()

    assert not any(path.exists() for path in stale)
    assert all(path.exists() for path in [*fresh, kept.path])
