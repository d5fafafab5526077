"""Nothing is imported from the folder in which a command happens to be run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CURIOUS = """
import os
with open(os.environ["MARK"], "a") as mark: mark.write(__name__ + "\\n")
"""


@pytest.mark.parametrize(
    "words",
    [
        ("mcp_host", "packs"),
        ("mcp_host", "serve"),
        ("tasky_mcp_server", "--version"),
        ("mcp_host_todo_db", "--version"),
        ("cortex_mcp.server", "--version"),
    ],
)
def test_python_m_imports_nothing_from_the_working_folder(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    mark, folder = tmp_path / "mark", tmp_path / "cloned"
    info = folder / "curious-1.0.dist-info"
    info.mkdir(parents=True)
    for name in ("argparse", "pydantic", "typer", "curious", "mcp", "asyncio"):
        (folder / f"{name}.py").write_text(CURIOUS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: curious\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mcp_host.packs]\ncurious = curious\n")
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "MARK": str(mark)}

    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "curious" not in done.stdout
    assert not mark.exists(), mark.read_text()
