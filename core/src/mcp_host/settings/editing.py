"""Edits of a person's settings file, which keep its comments and order, and its trust."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import tomlkit
from tomlkit import TOMLDocument

from ..errors import SettingsError
from ..startup import folders
from ..startup.trust import FILE_NAME, absolute, choose, is_trusted, write_atomically
from .loading import Settings, loads, read, trust_bytes

SECRETS = "secrets"


class SettingsFile:
    """A settings file that may not be there yet; `path` is absolute."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def chosen(cls, config: Path | None = None) -> Self:
        """The file that commands work on; where there is none, the one that `init` would write.

        `SettingsError` for a `./mcp-host.toml` that is not trusted.
        """
        if config is not None:
            return cls(Path(absolute(os.path.expanduser(config))))  # noqa: PTH111 - as startup does
        choice = choose(None)
        if choice.notice:
            raise SettingsError(choice.notice)
        return cls(choice.path or Path(absolute(FILE_NAME)))

    @property
    def packs(self) -> dict[str, dict[str, Any]]:
        """The tables of packs as they are written; none where the file is not there."""
        if not self.path.exists():
            return {}
        written = tomlkit.parse(read(self.path).decode()).unwrap().get("packs", {})
        return {name: dict(table) for name, table in written.items()}

    def add_packs(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Write tables of packs that are not there yet; all of them, or none.

        `SettingsError` where the file could not be used then.
        """

        def add(document: TOMLDocument) -> None:
            packs = document.setdefault("packs", tomlkit.table(is_super_table=True))
            for name, table in tables.items():
                if name in packs:
                    raise SettingsError(f"packs.{name}: is there already")
                packs[name] = _written(table)

        self.edit(add)

    def edit(self, change: Callable[[TOMLDocument], None]) -> Settings:
        """Change the file's data, and return what it says then; what was trusted stays so.

        A file that is new is trusted, as one that `init` has written.
        """
        is_new = not self.path.exists()
        before = b"" if is_new else read(self.path)
        if not is_new:
            loads(before, self.path)
        document = tomlkit.parse(before.decode())
        change(document)
        after = tomlkit.dumps(document).encode()
        settings = loads(after, self.path)
        trusted = is_new or is_trusted(self.path, before)
        file = self.path.resolve()  # a link to it stays one
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, after, 0o644 if is_new else file.stat().st_mode & 0o777)
        if trusted:
            trust_bytes(self.path, after)
        return settings

    def secret_file(self, name: str, value: str) -> Path:
        """Return the file in which `keep_secret` would keep a secret; nothing is written."""
        folder = Path(folders.config()) / SECRETS
        number = 1
        while True:
            path = folder / (name if number == 1 else f"{name}-{number}")
            if not path.exists() or path.read_bytes() == value.encode():
                return path
            number += 1

    def keep_secret(self, name: str, value: str) -> Path:
        """Keep a secret in a file of the user's configuration folder that only they may read.

        The same secret under the same name is the same file; another one gets a file of its own.
        """
        path = self.secret_file(name, value)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.chmod(0o700)
        if path.exists():
            path.chmod(0o600)
        else:
            write_atomically(path, value.encode(), 0o600)
        return path


def _written(table: Mapping[str, Any]) -> Any:
    """A table whose own tables stand in one line each."""
    written = tomlkit.table()
    for key, value in table.items():
        written[key] = _inline(value)
    return written


def _inline(value: Any) -> Any:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, item in value.items():
            inline[key] = _inline(item)
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(_inline(item))
        return array
    return value
