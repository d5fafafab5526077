"""Small files that are replaced whole: whoever reads one sees the old or the new."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w


def write_toml(path: Path, tables: Mapping[str, Any]) -> None:
    """Write a settings file, which others may read."""
    _replace(path, tomli_w.dumps(tables), 0o644)


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read."""
    _replace(path, text, 0o600)


def _replace(path: Path, text: str, mode: int) -> None:
    temporary = path.with_name(path.name + ".tmp")
    # Opened with its mode, not changed to it later: there is no moment when others may read it.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            temporary.chmod(mode)  # one that was left behind may have had another
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)  # on a full disk it would take the room of others
        error.filename = str(path)  # a write to an open file does not say which
        raise
