"""Where the lock file of a settings file is: looked for at every start, and read at few."""

from __future__ import annotations

from pathlib import Path


def lock_file(source: Path) -> Path:
    """Return the lock file of a settings file: `mcp-host.lock` beside `mcp-host.toml`."""
    name = source.name if source.suffix == ".lock" else source.stem
    return source.with_name(f"{name}.lock")
