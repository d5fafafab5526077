"""`mcp-host demo` shows every installed pack at work, and touches nothing of the reader's."""

import contextlib
import os
import pty
import re
import subprocess
import sys
import termios
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from mcp_host.declarations.demo import GROUP

DEMONSTRATIONS = sorted(point.name for point in metadata.entry_points(group=GROUP))
PACKS = {point.name for point in metadata.entry_points(group="mcp_host.packs")}


def demo(folder: Path, *words: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    home = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    return subprocess.run(
        [sys.executable, "-m", "mcp_host", "demo", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder), **home},
        text=True,
        check=False,
        **(streams or {"capture_output": True}),
    )


@pytest.mark.acceptance
@pytest.mark.parametrize("pack", DEMONSTRATIONS)
def test_a_pack_shows_calls_that_succeed_and_one_that_is_refused(pack: str, tmp_path: Path) -> None:
    done = demo(tmp_path, pack)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"── {pack} " in done.stdout
    assert '"success": false' in done.stdout
    assert "mcp-host connect" in done.stdout
    assert list(tmp_path.iterdir()) == []


def read_all(terminal: int, into: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # how Linux tells that nobody holds the other end
        while chunk := os.read(terminal, 65536):
            into.append(chunk)


def test_a_terminal_of_80_columns_breaks_no_word(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 80))
    written: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(parent, written))
    reader.start()
    done = demo(tmp_path, "todo_db", stdin=child, stdout=child, stderr=child)
    os.close(child)
    reader.join()
    os.close(parent)

    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", b"".join(written)).decode().splitlines()
    assert done.returncode == 0, lines
    assert [line for line in lines if len(line) > 80 and not line.startswith("$ ")] == []
    assert any(line.startswith("→ todo_db_complete_task {") for line in lines)


def test_every_installed_pack_has_a_demonstration() -> None:
    assert set(DEMONSTRATIONS) >= PACKS - {"skills", "tasks"}  # which serve what other packs have


def test_an_unknown_pack_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    done = demo(tmp_path, "nope")

    assert done.returncode == 1
    assert "no pack 'nope' with a demonstration is installed; there are " in done.stderr
