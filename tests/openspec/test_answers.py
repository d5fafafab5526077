"""The command's answers that are kept: said again only while all that they are made from is so."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OPENSPEC = str(Path(sys.executable).with_name("openspec"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def run(shop: Path, cache: Path) -> Callable[..., Any]:
    def run(*arguments: str, folder: Path = shop, **variables: str) -> Any:
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **variables}
        environment = {name: value for name, value in environment.items() if value}
        return subprocess.run(
            [OPENSPEC, *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )

    return run


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def falsify(cache: Path) -> None:
    """Put a sign into every kept answer, by which it is known when it is said."""
    for path in kept(cache):
        head, body = path.read_bytes().split(b"\n", 1)
        code = head.split()[3]
        path.write_bytes(b"openspec answer 1 %s 5\n" % code + b"kept\n" + b"")
        assert body


def test_an_answer_is_said_again_with_its_exit_code(
    run: Callable[..., Any], cache: Path, shop: Path
) -> None:
    (shop / "openspec/changes/add-lockout/specs/auth/spec.md").write_text("## ADDED Requirements\n")
    first = run("validate", "--all", "--json")
    assert first.returncode == 1 and len(kept(cache)) == 1
    again = run("validate", "--all", "--json")
    assert (again.returncode, again.stdout, again.stderr) == (1, first.stdout, first.stderr)
    falsify(cache)
    assert run("validate", "--all", "--json").stdout == "kept\n"


@pytest.mark.parametrize(
    "edit",
    [
        lambda shop: (shop / "openspec/specs/auth/spec.md").write_text("# other\n"),
        lambda shop: (shop / "openspec/specs/fresh").mkdir(),
        lambda shop: (shop / "openspec/config.yaml").unlink(),
        lambda shop: (shop / "openspec/changes/archive/2026-01-01-x").mkdir(),
        lambda shop: os.utime(shop / "openspec/changes/add-lockout/tasks.md", (1, 1)),
        lambda shop: subprocess.run(["git", "init", "-q"], cwd=shop, check=True),
    ],
)
def test_any_edit_is_seen(
    run: Callable[..., Any], cache: Path, shop: Path, edit: Callable[[Path], object]
) -> None:
    run("list", "--json")
    falsify(cache)
    assert run("list", "--json").stdout == "kept\n"
    edit(shop)
    assert run("list", "--json").stdout != "kept\n"


def test_an_edit_of_the_same_size_and_time_is_seen(
    run: Callable[..., Any], cache: Path, shop: Path
) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    run("show", "auth", "--json")
    falsify(cache)
    status = spec.stat()
    spec.write_text(spec.read_text().replace("password", "passport"))
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "passport" in run("show", "auth", "--json").stdout


def test_a_commit_is_seen(run: Callable[..., Any], cache: Path, shop: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], cwd=shop, check=True)
    run("validate", "--all", "--json")
    falsify(cache)
    assert run("validate", "--all", "--json").stdout == "kept\n"
    subprocess.run([*git, "commit", "-qm", "two", "--allow-empty"], cwd=shop, check=True)
    assert run("validate", "--all", "--json").stdout != "kept\n"


def test_what_cannot_be_kept_is_worked_out(
    run: Callable[..., Any], cache: Path, shop: Path, tmp_path: Path
) -> None:
    run("list")  # it tells how long ago
    run("list", "--json", OPENSPEC_CACHE="0")
    run("list", "--json", OPENSPEC_ROOT=str(shop))
    run("list", "--json", folder=tmp_path)
    run("archive", "add-lockout", "--dry-run")
    assert kept(cache) == []
    cache.write_text("a file")
    assert run("list", "--json").returncode == 0


def test_nobody_else_may_read_an_answer(run: Callable[..., Any], cache: Path) -> None:
    run("show", "auth")
    (answer,) = kept(cache)
    assert answer.stat().st_mode & 0o077 == 0
    assert answer.parent.stat().st_mode & 0o077 == 0
    answer.write_bytes(b"\xff no answer")
    assert run("show", "auth").stdout.startswith("# auth")


def test_only_the_last_answers_are_kept(run: Callable[..., Any], cache: Path) -> None:
    run("show", "auth")
    (answer,) = kept(cache)
    for number in range(300):
        (answer.parent / f"old-{number}").write_text("")
        os.utime(answer.parent / f"old-{number}", (1, 1))
    run("show", "auth", "--json")
    assert len(kept(cache)) == 100 and answer in kept(cache)
