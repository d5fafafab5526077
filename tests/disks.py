"""Disks for the tests: small ones that can be filled."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own at a folder; the test is skipped where none can be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("no disk can be mounted here")
    except FileNotFoundError:
        pytest.skip("there is no mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave no byte of a disk free; `filler` is what takes them."""
    try:
        with (disk / "filler").open("ab", buffering=0) as filler:
            while True:
                filler.write(b"x" * 512)
    except OSError:
        pass
