"""Completion in the shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OPENSPEC = str(Path(sys.executable).with_name("openspec"))


def openspec(folder: Path, *arguments: str) -> Any:
    environment = {
        "PATH": f"{Path(OPENSPEC).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
    }
    return subprocess.run(
        [OPENSPEC, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def offered(folder: Path, *words: str) -> set[str]:
    """What is offered for the last of the words."""
    done = openspec(folder, "__complete", "line", str(len(words)), *words)
    assert done.returncode == 0, done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


def test_names_are_told_as_the_reference_tool_tells_them(shop: Path) -> None:
    told = {kind: openspec(shop, "__complete", kind) for kind in ("changes", "specs", "schemas")}
    assert told["changes"].stdout == "add-lockout\tactive change\n"
    assert told["specs"].stdout == "area/nested\tspecification\nauth\tspecification\n"
    assert told["schemas"].stdout == "spec-driven\tschema\n"
    archived = openspec(shop, "__complete", "archived-changes").stdout
    assert archived.splitlines()[0] == "2025-03-04-add-logout\tarchived change"
    assert openspec(shop, "__complete", "bogus").returncode == 1


def test_commands_verbs_flags_and_names_are_offered(shop: Path) -> None:
    assert {"list", "archive", "config"} <= offered(shop, "")
    assert offered(shop, "arc") == {"archive"}
    assert offered(shop, "config", "p") == {"path", "profile"}
    assert offered(shop, "config", "set", "--a") == {"--allow-unknown"}
    assert {"--yes", "--dry-run"} <= offered(shop, "archive", "-")
    assert offered(shop, "archive", "") == {"add-lockout"}
    assert offered(shop, "show", "a") == {"add-lockout", "area/nested", "auth"}
    assert offered(shop, "status", "--change", "") == {"add-lockout"}
    assert offered(shop, "completion", "install", "z") == {"zsh"}


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
def test_bash_completes_with_what_was_installed(shop: Path) -> None:
    (shop / "home").mkdir()
    profile = shop / "home/.bashrc"
    profile.write_text("alias mine=true")
    assert openspec(shop, "completion", "install", "bash").returncode == 0
    assert openspec(shop, "completion", "install", "bash").returncode == 0
    assert profile.read_text().count("OPENSPEC:START") == 1
    script = (
        f". {profile}; COMP_WORDS=(openspec archive add); COMP_CWORD=2; "
        '_openspec_completion; echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(OPENSPEC).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=shop, env={"PATH": path}, capture_output=True, text=True
    )
    assert done.stdout == "add-lockout\n", done.stderr
    assert openspec(shop, "completion", "uninstall", "bash").returncode == 1  # nobody to ask
    assert openspec(shop, "completion", "uninstall", "bash", "--yes").returncode == 0
    assert profile.read_text() == "alias mine=true\n"
    assert openspec(shop, "completion", "uninstall", "bash", "--yes").returncode == 1


@pytest.mark.parametrize("shell", ["zsh", "bash", "fish", "powershell"])
def test_each_shell_has_a_script(shop: Path, shell: str) -> None:
    assert "__complete line" in openspec(shop, "completion", "generate", shell).stdout


def test_another_shell_is_refused_by_name(shop: Path) -> None:
    refused = openspec(shop, "completion", "generate", "tcsh")
    assert refused.returncode == 1 and "tcsh" in refused.stderr
