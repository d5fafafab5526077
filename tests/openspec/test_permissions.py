"""Trees that may be looked at and not be written, and trees with parts that may not be looked at.

All is tried as a user who is not root: root, whom no permission stops, becomes nobody meanwhile.
"""

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import Hosted, hosted
from mcp_host_openspec.cli import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")

PACK = "mcp_host_openspec.plugin"
CHANGE = "add-lockout"
READING = (
    ("list", "--json"),
    ("list", "--specs"),
    ("show", CHANGE, "--json"),
    ("show", "auth", "--type", "spec", "--json"),
    ("status", "--change", CHANGE),
    ("instructions", "apply", "--change", CHANGE),
    ("find", "password"),
    ("coverage",),
    ("diff", CHANGE),
    ("archive", CHANGE, "--dry-run"),
    ("view",),
    ("doctor",),
    ("context", "--json"),
)
WRITING = (
    ("archive", CHANGE, "--yes"),
    ("new", "change", "another"),
    ("schema", "fork", "spec-driven", "mine"),
    ("schema", "init", "ours"),
    ("init", "--tools", "claude"),
)
CLOSED = (
    "specs",
    "specs/auth",
    "specs/auth/spec.md",
    "changes",
    "changes/archive",
    f"changes/{CHANGE}",
    f"changes/{CHANGE}/specs",
    f"changes/{CHANGE}/proposal.md",
    f"changes/{CHANGE}/tasks.md",
    f"changes/{CHANGE}/.openspec.yaml",
    "config.yaml",
    ".",
)
_NOBODY = 65_534


@pytest.fixture
def public(shop: Path) -> Iterator[Path]:
    """The project where every user may reach it, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="openspec-") as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copytree(shop, Path(folder) / "project"))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be a user who is not root. What is imported lazily must be there before: nobody may not
    read the interpreter's own folder everywhere."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@contextmanager
def protected(project: Path) -> Iterator[None]:
    """Take the right to write here from everybody."""
    for path in [project, *project.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with as_nobody():
            yield
    finally:
        for path in [project, *project.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """Let nobody look at a file or into a folder."""
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with as_nobody():
            yield
    finally:
        path.chmod(mode)


def contents(project: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(project)): path.read_bytes() if path.is_file() else None
        for path in project.rglob("*")
    }


class Command:
    """Runs the command in this process, so that it is whoever this process is."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path
    ) -> None:
        self._capsys = capsys
        monkeypatch.chdir(project)
        monkeypatch.setenv("HOME", str(project / "home"))

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code and what was printed."""
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture(scope="module")
def rehearsed(new_shop: Callable[[], Path]) -> None:
    """Every command was run once, and has imported what it needs."""
    project = new_shop()
    with contextlib.chdir(project), pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(project / "home"))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for arguments in (*READING, *reversed(WRITING)):
                main(arguments)


@pytest.fixture
def command(
    rehearsed: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    public: Path,
) -> Command:
    """The command in the project."""
    return Command(capsys, monkeypatch, public)


def test_a_protected_tree_is_read_as_any_other(command: Command, public: Path) -> None:
    expected = {arguments: command(*arguments) for arguments in READING}

    with protected(public):
        seen = {arguments: command(*arguments) for arguments in READING}

    assert seen == expected
    assert not any(code for code, _, _ in seen.values())


@pytest.mark.parametrize("arguments", WRITING)
def test_a_command_that_would_write_says_that_it_may_not_and_leaves_all_as_it_was(
    command: Command, public: Path, arguments: tuple[str, ...]
) -> None:
    before = contents(public)
    with protected(public):
        code, _, told = command(*arguments)

    assert code == 1
    assert "writing is not permitted" in told and str(public) in told
    assert contents(public) == before


@pytest.mark.parametrize("place", CLOSED)
def test_what_may_not_be_looked_at_is_told_of_and_no_command_falls_over_it(
    command: Command, public: Path, place: str
) -> None:
    with closed(public / "openspec" / place):
        told = [command(*arguments) for arguments in (*READING, WRITING[0], WRITING[1])]

    assert all(out or err for _, out, err in told)
    failed = [out + err for code, out, err in told if code]
    named = ("permission denied", "permitted", "No OpenSpec tree", "No requirement")
    assert all(any(word.lower() in text.lower() for word in named) for text in failed)
    assert (public / f"openspec/changes/{CHANGE}").is_dir()


async def answers(host: Hosted) -> list[Any]:
    """What the server says to everything that only reads."""
    return [
        await host.value("openspec_list"),
        await host.value("openspec_list", specs=True, long=True),
        await host.value("openspec_show", name=CHANGE),
        await host.value("openspec_show", name="auth", type="spec"),
        await host.value("openspec_show", name=CHANGE, part="apply"),
        await host.value("openspec_validate"),
        await host.value("openspec_archive", name=CHANGE, dryRun=True),
        await host.read("openspec://project"),
        await host.read(f"openspec://changes/{CHANGE}"),
    ]


async def test_a_server_reads_a_protected_tree_and_says_what_it_may_not_write(public: Path) -> None:
    rehearsal = Path(shutil.copytree(public, public.with_name("rehearsal")))
    async with hosted({"openspec": PACK}, root=rehearsal) as host:
        await host.value("openspec_update_project_context", content="# Shop")
        await host.value("openspec_archive", name=CHANGE)

    async with hosted({"openspec": PACK}, root=public) as host:
        expected = await answers(host)
        before = contents(public)
        with protected(public):
            seen = await answers(host)
            refused = [
                await host.error("openspec_archive", name=CHANGE),
                await host.error("openspec_update_project_context", content="# Shop"),
            ]

    assert seen == expected
    assert contents(public) == before
    for error in refused:
        assert error["code"] == "unavailable" and not error["retryable"]
        assert "writing is not permitted" in error["error"] and str(public) in error["error"]
