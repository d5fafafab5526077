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
    draft.replace(_place(change.path))


def kept() -> list[Path]:
    """Return the clients' files of which an original is kept."""
    found = [json.loads(file.read_text("utf-8"))["path"] for file in _folder().glob("*.json")]
    return sorted(map(Path, found))


def undo(path: Path) -> Change:
    """Give a client's file back what it was, and return what that has changed.

    Raises `SettingsError` where nothing is kept of it, or where it has changed since.
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


def _read(path: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(_place(path).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return found


def _place(path: Path) -> Path:
    word = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
    return _folder() / f"{word}.json"


def _folder() -> Path:
    return user_data_path("mcp-host", appauthor=False) / "adopted"
