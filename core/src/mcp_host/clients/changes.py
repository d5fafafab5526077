"""How a client's file changes: planned first and applied after, so that it can be shown.

A change touches one entry of one file, keeps the rest byte for byte, and leaves a copy of the file
as it was.
"""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from tomlkit.exceptions import TOMLKitError

from ..startup.trust import write_atomically
from . import jsonc, yaml
from .client import SERVER_NAME, Client, ClientFileError, Entry, Launch, Remote
from .edits import UnsafeError, edited, entry_of
from .reading import why_off


@dataclass(frozen=True)
class Change:
    """What would become of a client's file; `before` is None where there is none yet.

    `off` is the setting by which the user has switched the entry off, if one has.
    """

    path: Path
    before: str | None
    after: str
    off: str = ""

    @property
    def is_needed(self) -> bool:
        return (self.before or "") != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty when nothing changes."""
        name = str(self.path)
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            "/dev/null" if self.before is None else name,
            name,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_install(
    client: Client,
    path: Path,
    start: Launch | Remote,
    name: str = SERVER_NAME,
    *,
    force: bool = False,
) -> Change:
    """Put the host into the client's file; what else its entry has is kept.

    Raises `ClientFileError` for a file that is damaged, and, unless forced, for an entry of that
    name that starts something else.
    """
    before = _read(path)
    old = _entry_in(client, path, before, name)
    if not (isinstance(start, Remote) and old is not None and _reaches(old) == start.url):
        _refuse_anothers(client, path, old, name, "replaced", force)
    entry = client.entry(start, old, name)
    text = before or ""
    with _telling(client, path, name):
        if old is not None and (others := _of_another_kind(client, old, entry)):
            # An entry cannot both start a host and name one.
            text = edited(client, text, name, None)
            entry = {**{key: old[key] for key in old if key not in others}, **entry}
        text = edited(client, text, name, entry, client.asked(start, old))
    return _allowed(Change(path, before, text, why_off(old)))


def plan_uninstall(
    client: Client, path: Path, name: str = SERVER_NAME, *, force: bool = False
) -> Change:
    """Take the host out of the client's file; raises as `plan_install`."""
    before = _read(path)
    if before is None:
        return Change(path, None, "")
    _refuse_anothers(client, path, _entry_in(client, path, before, name), name, "removed", force)
    with _telling(client, path, name):
        return _allowed(Change(path, before, edited(client, before, name, None)))


def entry_in(client: Client, path: Path, name: str = SERVER_NAME) -> Entry | None:
    """The entry of that name in the client's file; None where there is none.

    Raises `ClientFileError` for a file that is damaged.
    """
    return _entry_in(client, path, _read(path), name)


def _entry_in(client: Client, path: Path, text: str | None, name: str) -> Entry | None:
    with _telling(client, path, name):
        return entry_of(client, text or "", name)


def _allowed(change: Change) -> Change:
    """The change; `ClientFileError` where its file is read-only, which says that another makes it.

    It could be replaced all the same, and by root even be written: its mode is a person's word.
    """
    path = change.path
    if change.before is not None and change.is_needed and not path.stat().st_mode & stat.S_IWUSR:
        raise ClientFileError(
            f"{path} is read-only and left as it is: make it writable, or change it where it comes"
            " from"
        )
    return change


def _refuse_anothers(
    client: Client, path: Path, entry: Entry | None, name: str, done: str, force: bool
) -> None:
    """Raise `ClientFileError` where an entry starts something else than this host."""
    if entry is None or force or _starts_a_host(entry):
        return
    what = _what(entry)
    raise ClientFileError(
        f"{path} has another server called {name} ({what}), which is not {done}: take another name"
        " with --name, or add --force"
    )


def _reaches(entry: Entry) -> str:
    """The address of a server that an entry has; empty where it has none."""
    found = (value for key, value in entry.items() if "url" in key.lower() or key == "uri")
    return str(next(found, ""))


def _what(entry: Entry) -> str:
    """What an entry starts or reaches, without what may be secret in it."""
    found = next((entry[key] for key in ("command", "cmd") if entry.get(key)), _reaches(entry))
    return str(found[0] if isinstance(found, list) else found or "something else")


def _starts_a_host(entry: Entry) -> bool:
    """Whether an entry starts an mcp-host, this one or another installation's."""
    words: list[str] = []
    for key in ("command", "cmd", "args"):
        given = entry.get(key)
        words += map(str, given if isinstance(given, list) else [given] if given else [])
    if not words:
        return not _reaches(entry)
    names = {PurePath(word.replace("\\", "/")).name.removesuffix(".exe") for word in words}
    return bool(names & {"mcp-host", "mcp_host"})


def _of_another_kind(client: Client, old: Entry, entry: Entry) -> set[str]:
    """The keys of an old entry by which it started a host that the new one reaches, or reversed."""
    starts = {client.command, client.arguments or "", client.environment, client.names, "cwd"}
    reaches = {client.url or "", client.headers, client.bearer or ""}
    kinds = (starts, reaches) if client.url in entry else (reaches, starts)
    gone = kinds[0] & old.keys()
    return gone | (old.keys() & {"type"}) if gone else set()


def apply(change: Change, *, copy: bool = True) -> Path | None:
    """Write the file as a whole or not at all; returns the copy of what it was, if there is one.

    There is one copy, `FILE.bak`, and only while the file differs from it; without `copy` none is
    made. Symbolic links are followed; the file keeps its mode and owner. Raises `ClientFileError`
    when the file was changed since the plan was made, or cannot be written.
    """
    path = change.path.resolve()
    if _read(path) != change.before:
        raise ClientFileError(f"{change.path} was changed in the meantime: run the command again")
    try:
        if change.before is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, change.after.encode())
            return None
        kept = _keep_copy(path, change) if copy else None
        status = path.stat()
        write_atomically(path, change.after.encode(), mode=status.st_mode & 0o7777)
        if hasattr(os, "chown") and os.geteuid() == 0:
            os.chown(path, status.st_uid, status.st_gid)
        return kept
    except OSError as error:
        raise ClientFileError(
            f"{change.path} cannot be written: {error.strerror or error}"
        ) from error


def is_under_git(path: Path) -> bool:
    """Whether a file is in a folder that git keeps, where a copy would be a file to commit."""
    return any((folder / ".git").exists() for folder in path.resolve().parents)


def _keep_copy(path: Path, change: Change) -> Path | None:
    """A copy of the file beside it, with its mode; none where the file becomes what the copy is."""
    copy = path.with_name(f"{path.name}.bak")
    if copy.is_file() and copy.read_bytes() == change.after.encode():
        copy.unlink()
        return None
    shutil.copy2(path, copy)
    return copy


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ClientFileError(f"{path} is not UTF-8 text: it is left as it is") from None
    except OSError as error:
        raise ClientFileError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _telling(client: Client, path: Path, name: str) -> Iterator[None]:
    """Raise `ClientFileError` for whatever is wrong with the client's file."""
    try:
        yield
    except (jsonc.BadJson, tomllib.TOMLDecodeError, TOMLKitError, yaml.BadYaml) as error:
        raise ClientFileError(f"{path} is damaged and left as it is: {error}") from error
    except jsonc.NoObject as error:
        raise ClientFileError(
            f"{path} is not what {client.title} reads, and left as it is: {error}"
        ) from error
    except UnsafeError:
        raise ClientFileError(
            f"{path} is laid out in a way that cannot be edited safely, and is left as it is:"
            f" change {name} in {client.servers} by hand"
        ) from None
