"""`mcp-host demo` shows every installed pack at work, and touches nothing of the reader's."""

import subprocess
import sys
from pathlib import Path

import importlib_metadata
import pytest
from mcp_host.stage import GROUP

DEMONSTRATIONS = sorted(point.name for point in importlib_metadata.entry_points(group=GROUP))
PACKS = {point.name for point in importlib_metadata.entry_points(group="mcp_host.packs")}


def demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    return subprocess.run(
        [sys.executable, "-m", "mcp_host", "demo", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder), **home},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("pack", DEMONSTRATIONS)
def test_a_pack_shows_calls_that_succeed_and_one_that_is_refused(pack: str, tmp_path: Path) -> None:
    done = demo(tmp_path, pack)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"── {pack} " in done.stdout
    assert '"success": false' in done.stdout
    assert "mcp-host install CLIENT" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_installed_pack_has_a_demonstration() -> None:
    assert set(DEMONSTRATIONS) >= PACKS


def test_an_unknown_pack_is_named_with_those_that_there_are(tmp_path: Path) -> None:
    done = demo(tmp_path, "nope")

    assert done.returncode == 1
    assert "no pack 'nope' with a demonstration is installed; there are " in done.stderr
