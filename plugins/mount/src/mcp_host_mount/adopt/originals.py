"""What clients' files were before `adopt --replace`, kept where only the user can read it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from mcp_host import Change, SettingsError, apply_change
from platformdirs import user_data_path


def keep(change: Change) -> None:
    """Keep what a client's file was, unless an older original is kept already."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = _read(change.path)
    before = change.before if known is None or known["after"] != change.before else known["before"]
    data = {"path": str(change.path), "before": before, "after": change.after}
    draft = _place(change.path).with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(data, file)
        file.flush()
        os.fsync(file.fileno())  # the client's file is changed next, and this is what it was
    draft.replace(_place(change.path))


def kept() -> list[Path]:
    """Return the clients' files of which an original is kept.

    Raises `SettingsError` where what is kept cannot be read.
    """
    return sorted(Path(str(_original(file)["path"])) for file in _folder().glob("*.json"))


def undo(path: Path) -> Change:
    """Give a client's file back what it was, and return what that has changed.

    Raises `SettingsError` where nothing is kept of it, where that cannot be read, or where the file
    has changed since.
    """
    known = _read(path)
    if known is None:
        raise SettingsError(f"{path}: `mcp-host adopt --replace` has changed nothing there")
    now = path.read_bytes().decode() if path.is_file() else None
    if now == known["before"]:
        _place(path).unlink()
        return Change(path, now, known["before"] or "")
    if now != known["after"]:
        raise SettingsError(
            f"{path} has changed since, and is left as it is; what it was is kept in {_place(path)}"
        )
    change = Change(path, now, known["before"] or "")
    apply_change(change)
    _place(path).unlink()
    return change


def _read(path: Path) -> dict[str, str | None] | None:
    try:
        return _original(_place(path))
    except FileNotFoundError:
        return None


def _original(file: Path) -> dict[str, str | None]:
    try:
        found = json.loads(file.read_bytes())
        return {name: found[name] for name in ("path", "before", "after")}
    except (ValueError, LookupError, TypeError):
        raise SettingsError(
            f"{file} is damaged: it holds what a client's file was before `adopt --replace`. "
            "Take out of it what you can, and then delete it"
        ) from None


def _place(path: Path) -> Path:
    word = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
    return _folder() / f"{word}.json"


def _folder() -> Path:
    return user_data_path("mcp-host", appauthor=False) / "adopted"
