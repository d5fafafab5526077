"""Which local files settings run or read as code: what a person trusts with the settings."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .keys import Keys

RUNS = frozenset(
    (
        *("args", "argv", "arguments", "bin", "binary", "command", "commands", "entry", "exec"),
        *("executable", "file", "hook", "hooks", "interpreter", "module", "program", "python"),
        *("run", "script", "scripts", "server"),
    )
)
"""Words of keys whose values are run, whatever they look like."""
LONGEST = 1024


class CodeFiles(NamedTuple):
    """Files by their absolute paths: `runs` are run; `names` are code if they look like it.

    Also what is not there yet stands here: it would be run once it is.
    """

    runs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def code_files(text: bytes, folder: Path) -> CodeFiles:
    """The files that a settings file names; `folder` is where relative paths start.

    Files of secrets are none of them. Neither are those outside the folder that only the
    machine's administrator can change.
    """
    import tomllib  # late, as in `loading`

    try:
        data = tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return CodeFiles()  # such settings run nothing
    folders = [folder]
    host = data.get("host")
    root = host.get("root") if isinstance(host, dict) else None
    if isinstance(root, str):
        folders.append(folder / _expanded(root))
    runs: dict[str, None] = {}
    names: dict[str, None] = {}
    for keys, value in _texts(data, ()):
        found = runs if _is_run(keys) else names
        for word in _words(value):
            for start in folders:
                path = os.path.normpath(start / _expanded(word))
                if not _is_administrators(path, folder):
                    found[path] = None
    return CodeFiles(tuple(runs), tuple(path for path in names if path not in runs))


def _texts(value: Any, keys: Keys) -> Iterator[tuple[Keys, str]]:
    """Every string of the settings with its place, but for files of secrets."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*keys, number))
    elif isinstance(value, Mapping) and not _is_secret_file(value, keys):
        for key, item in value.items():
            yield from _texts(item, (*keys, key))


def _is_secret_file(value: Mapping[str, Any], keys: Keys) -> bool:
    """Whether a table is the place of a secret; a pack's own tables may have a key `file`."""
    is_packs_table = keys[:1] == ("packs",) and (len(keys) == 2 or keys[2:] == ("settings",))
    return set(value) == {"file"} and not is_packs_table


def _is_run(keys: Keys) -> bool:
    """Whether a key, or that of a table around it, says that its value is run."""
    inner = keys[2:] if keys[:1] == ("packs",) else keys
    words = {word for key in inner for word in re.split(r"[^a-z]+", str(key).lower())}
    if inner[:1] == ("settings",):
        words.discard("file")  # what a pack keeps in a file is data, unless it looks like code
    return bool(words & RUNS)


def _words(text: str) -> set[str]:
    """What in a text may be the name of a file: the whole, its words, what stands after `=`."""
    if len(text) > LONGEST or "\0" in text:
        return set()
    try:
        words = {text, *shlex.split(text)}
    except ValueError:
        words = {text, *text.split()}
    return {part for word in words for part in (word, word.partition("=")[2]) if part}


def _is_administrators(path: str, folder: Path) -> bool:
    """Whether a file outside the folder is one that nobody but the administrator can change."""
    if Path(path).is_relative_to(folder):
        return False
    try:
        about = Path(path).stat()
    except OSError:
        return False
    return about.st_uid == 0 and not about.st_mode & 0o022


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # "~nobody/x"
        return Path(name)
