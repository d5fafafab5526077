"""The files of a new pack.

A template is a folder of files whose names end in `.template`; `%%name%%` in a file or its path
stands for one of the values. `common` is in both kinds.
"""

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from mcp_host import SettingsError

from .names import Names

SUFFIX = ".template"
_VALUE = re.compile(r"%%(\w+)%%")


def rendered(names: Names, author: str, *, full: bool) -> dict[str, str]:
    """Return the files of a new pack: texts by their paths."""
    values = {
        "pack": names.pack,
        "distribution": names.distribution,
        "module": names.module,
        "scheme": names.pack.replace("_", "-"),
        "title": names.pack.replace("_", " ").strip().capitalize(),
        "cls": "".join(word.capitalize() for word in names.pack.split("_")),
        "author": author,
        "author_toml": author.replace("\\", "\\\\").replace('"', '\\"'),
        "year": str(datetime.now(UTC).year),
    }
    found: dict[str, str] = {}
    for kind in ("common", "full" if full else "small"):
        for path, text in _texts(files(__package__) / "templates" / kind):
            found[_filled(path, values)] = _filled(text, values)
    return found


def write(names: Names, author: str, folder: Path, *, full: bool) -> list[str]:
    """Write a new pack into a folder, and return the paths.

    It must be empty or not there, but for what is hidden: `.git` and `.venv` may come before.
    """
    if any(ord(c) < 32 for c in author):
        raise SettingsError("the author must be a name on one line")
    try:
        texts = rendered(names, author, full=full)
        if os.path.lexists(folder):
            _check_place(folder, texts)
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise SettingsError(f"cannot write {error.filename}: {error.strerror}") from None
    return sorted(texts)


def _check_place(folder: Path, paths: Iterable[str]) -> None:
    """Raise `SettingsError` where a folder that is there holds something that is seen or meant."""
    if not folder.is_dir():
        raise SettingsError(f"{folder} exists and is not a folder; choose another with --into")
    seen = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    taken = seen or [path for path in paths if os.path.lexists(folder / path)]
    if taken:
        raise SettingsError(
            f"{folder} exists and is not empty, it has {sorted(taken)[0]}; choose another place "
            "with --into"
        )


def _texts(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _texts(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            found.append((prefix + entry.name.removesuffix(SUFFIX), entry.read_text("utf-8")))
    return found


def _filled(text: str, values: dict[str, str]) -> str:
    return _VALUE.sub(lambda match: values[match[1]], text)
