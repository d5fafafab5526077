"""Which settings file is read: a `./mcp-host.toml` only once its owner said that it may be.

A cloned repository must not start commands or see secrets by the mere presence of a file. What is
trusted is a path together with the hash of its content and of the files that it runs, recorded in
the user's own folder.
"""

from __future__ import annotations

import os

from . import folders, trusted_files
from .digests import sha256
from .json_text import loads
from .records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike
    from pathlib import Path
    from typing import Any

FILE_NAME = "mcp-host.toml"
VARIABLE = "MCP_HOST_CONFIG"
NO_PACKS = "MCP_HOST_NO_PACKS"


class ChosenFile(Record):
    """Which settings file is used, if any, and what a person should know about the choice.

    `digest` is that of the bytes which were trusted: whoever parses the file must find the same,
    since it may have been replaced in the meantime. None where the file needs no trust.
    """

    file: str | None
    notice: str | None = None
    digest: str | None = None

    @property
    def path(self) -> Path | None:
        """The file as a path."""
        from pathlib import Path

        return Path(self.file) if self.file is not None else None


def choose(
    named: str | PathLike[str] | None,
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
) -> ChosenFile:
    """By `--config`, `$MCP_HOST_CONFIG`, a trusted `./mcp-host.toml`, the user's own file."""
    env = os.environ if environment is None else environment
    given = named if named is not None else env.get(VARIABLE) or None
    if given is not None:
        return ChosenFile(named_file(given))
    here = os.path.join(folder or working_folder(), FILE_NAME)
    notice = None
    if os.path.isfile(here):
        record: Any = _read().get(_place(here))
        wrong = _what_is_wrong(here, record)
        if not wrong:
            return ChosenFile(here, digest=record["settings"])
        notice = f"{here} is not read: {wrong}. Look at it, then run: mcp-host trust {here}"
    users = _users_file()
    return ChosenFile(users if os.path.isfile(users) else None, notice)


def again(choice: ChosenFile) -> ChosenFile:
    """Look once more at a file that was chosen: whether what it says now may be read.

    It has a notice and no file where it may not.
    """
    if choice.file is None or choice.digest is None:
        return choice
    record: Any = _read().get(_place(choice.file))
    wrong = _what_is_wrong(choice.file, record)
    if wrong:
        look = f"Look at it, then run: mcp-host trust {choice.file}"
        return ChosenFile(None, f"{choice.file} is not read: {wrong}. {look}")
    return ChosenFile(choice.file, digest=record["settings"])


def record_file() -> str:
    """The file in which is recorded what was trusted."""
    return _record()


def is_safe_mode() -> bool:
    """Whether the environment says that no pack is to be loaded, whatever the file enables."""
    return os.environ.get(NO_PACKS) == "1"


def named_file(path: str | PathLike[str]) -> str:
    """A settings file as a person names it, where `~` is the home folder; its absolute path."""
    return absolute(os.path.expanduser(path))


def absolute(path: str | PathLike[str]) -> str:
    """The path from the root, as pathlib would write it."""
    whole = os.fspath(path)
    if not os.path.isabs(whole):
        whole = os.path.join(working_folder(), whole)
    if os.sep != "/":
        return os.path.normpath(whole)
    return "/" + "/".join(part for part in whole.split("/") if part not in ("", "."))


def working_folder() -> str:
    """The working directory; ends the process with one line where it is there no more."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise SystemExit(
            "error: the working directory is not there any more; start this in another"
        ) from None


def user_file() -> Path:
    """The settings file in the user's configuration folder."""
    from pathlib import Path

    return Path(_users_file())


def trust(path: Path, data: bytes, runs: Iterable[str], names: Iterable[str]) -> None:
    """Record these bytes as the trusted content of a file, and its files as they are now.

    `runs` and `names` are as in `trusted_files`.
    """
    record = {"settings": digest(data), **trusted_files.states(runs, names)}
    _write({**_read(), _place(path): record})


def forget(path: Path) -> bool:
    """Take back that a file is trusted; False where it was not."""
    record = _read()
    if record.pop(_place(path), None) is None:
        return False
    _write(record)
    return True


def _users_file() -> str:
    return os.path.join(folders.config(), FILE_NAME)


def is_trusted(path: str | PathLike[str], data: bytes | None = None) -> bool:
    """Whether the file's content, read already or read now, was trusted here, and what it runs."""
    return not _what_is_wrong(path, _read().get(_place(path)), data)


def trusted_code(path: Path) -> list[str]:
    """The files that were recorded with a trusted settings file, and are there."""
    record = _read().get(_place(path), {})
    return [file for kind in ("runs", "names") for file, there in record[kind].items() if there]


def _what_is_wrong(path: str | PathLike[str], record: Any, data: bytes | None = None) -> str:
    """Why a file must not be read, by what was recorded of it; empty where it may."""
    if not isinstance(record, dict):
        return "it is not trusted, or changed since it was"
    try:
        if data is None:
            with open(path, "rb") as file:
                data = file.read()
        if record["settings"] != digest(data):
            return "it is not trusted, or changed since it was"
        changed = trusted_files.changed(record)
    except (OSError, KeyError, TypeError, AttributeError):
        return "it is not trusted, or changed since it was"
    return f"{changed[0]}, which it names, changed since it was trusted" if changed else ""


def _place(path: str | PathLike[str]) -> str:
    """Where the file stands.

    A link to a trusted file is not followed: what is relative in the file would start at the
    folder of the link, which may be a stranger's.
    """
    folder, name = os.path.split(absolute(path))
    return os.path.join(os.path.realpath(folder), name)


def digest(data: bytes) -> str:
    """The digest of a settings file's content."""
    return sha256(data).hexdigest()


def _record() -> str:
    return os.path.join(folders.config(), "trusted.json")


def _read() -> dict[str, Any]:
    try:
        with open(_record(), encoding="utf-8") as file:
            data = loads(file.read())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _write(trusted: Mapping[str, Any]) -> None:
    import json  # whose indentation is for people
    from pathlib import Path

    record = Path(_record())
    record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(record, json.dumps(trusted, indent=2).encode())


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file's content as a whole, or leave it as it is."""
    import tempfile
    from pathlib import Path

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
