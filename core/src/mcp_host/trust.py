"""Which settings file is read: a `./mcp-host.toml` only once its owner said that it may be.

A cloned repository must not start commands or see secrets by the mere presence of a file. What is
trusted is a path together with the hash of its content, recorded in the user's own folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from .errors import SettingsError

FILE_NAME = "mcp-host.toml"
VARIABLE = "MCP_HOST_CONFIG"
NO_PACKS = "MCP_HOST_NO_PACKS"


@dataclass(frozen=True)
class Choice:
    """Which settings file is used, if any, and what a person should know about the choice."""

    path: Path | None
    notice: str | None = None


def choose(
    named: Path | None, environment: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> Choice:
    """By `--config`, `$MCP_HOST_CONFIG`, a trusted `./mcp-host.toml`, the user's own file."""
    env = os.environ if environment is None else environment
    if named is not None:
        return Choice(named.expanduser().absolute())
    if env.get(VARIABLE):
        return Choice(Path(env[VARIABLE]).expanduser().absolute())
    here = (folder or working_folder()) / FILE_NAME
    notice = None
    if here.is_file():
        if is_trusted(here):
            return Choice(here)
        notice = (
            f"{here} is not read: it is not trusted, or changed since it was. Look at it, then "
            f"run: mcp-host trust {here}"
        )
    users = user_file()
    return Choice(users if users.is_file() else None, notice)


def is_safe_mode() -> bool:
    """Whether the environment says that no pack is to be loaded, whatever the file enables."""
    return os.environ.get(NO_PACKS) == "1"


def working_folder() -> Path:
    """The working directory; ends the process with one line where it is there no more."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise SystemExit(
            "error: the working directory is not there any more; start this in another"
        ) from None


def user_file() -> Path:
    """The settings file in the user's configuration folder."""
    return platformdirs.user_config_path("mcp-host") / FILE_NAME


def is_trusted(path: Path) -> bool:
    """Whether the file's present content was trusted at this path."""
    digest = _digest(path)
    return digest is not None and _read().get(_place(path)) == digest


def trust(path: Path) -> None:
    """Record the file's path and content as trusted; `SettingsError` where it cannot be read."""
    digest = _digest(path)
    if digest is None:
        raise SettingsError(f"{path}: cannot be read")
    _write({**_read(), _place(path): digest})


def _place(path: Path) -> str:
    """Where the file stands.

    A link to a trusted file is not followed: what is relative in the file would start at the
    folder of the link, which may be a stranger's.
    """
    return str(path.parent.resolve() / path.name)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _record() -> Path:
    return platformdirs.user_config_path("mcp-host") / "trusted.json"


def _read() -> dict[str, str]:
    try:
        data = json.loads(_record().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _write(trusted: Mapping[str, str]) -> None:
    record = _record()
    record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(record, json.dumps(trusted, indent=2).encode())


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file's content as a whole, or leave it as it is."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
