"""What was learned of a server before: declared at once, so that no list waits for a server."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import platformdirs

from .entries import Shaped
from .model import Mount

SECRET = ("env", "headers")
"""Keys whose values say nothing about what a server lists."""


class Learned:
    """The file with what one mount's server has listed.

    `spoken` is the version of the protocol that it spoke, empty where that is not known: another
    release of the server may speak others.
    """

    def __init__(self, mount: Mount) -> None:
        public = {key: value for key, value in mount.keys.items() if key not in SECRET}
        names = {key: sorted(mount.keys[key]) for key in SECRET if key in mount.keys}
        what = [version("mcp-host-mount"), mount.pack, mount.folder, mount.prefix, public, names]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        folder = platformdirs.user_cache_path("mcp-host", appauthor=False)
        self._file = folder / "mounts" / f"{digest[:32]}.json"
        self.spoken = self._release = ""

    def read(self) -> Shaped | None:
        """Return what was learned; None where nothing was."""
        try:
            data = json.loads(self._file.read_bytes())
            self.spoken, self._release = str(data["spoken"]), str(data["declared"]["version"])
            return Shaped(data["declared"], data["names"], data["notes"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, shaped: Shaped, spoken: str) -> None:
        """Keep what was learned; a disk that takes nothing only costs the next start its speed."""
        release = shaped.declared["version"]
        is_other = bool(self.spoken) and release != self._release
        data = {**shaped.as_data(), "spoken": "" if is_other else spoken}
        draft = self._file.with_name(f"{token_hex(16)}.new")
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                draft.write_text(json.dumps(data))
                draft.replace(self._file)
            finally:
                draft.unlink(missing_ok=True)


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[list[Any]]:
    """Return what changes lists from what was declared to what is, as the border tells it."""
    made: list[list[Any]] = []
    for kind, what in (("tool", "tools"), ("prompt", "prompts"), ("resource", "resources")):
        key = "uri" if kind == "resource" else "name"
        old = {one[key]: one for one in before.get(what, ())}
        new = {one[key]: one for one in now.get(what, ())}
        made += [["withdrawn", name, None, kind] for name in old if name not in new]
        made += [
            ["offered", name, None, {**one, "kind": kind}]
            for name, one in new.items()
            if one != old.get(name)
        ]
    return made


def folder_of(source: str | None) -> str:
    """Return the folder that relative paths of a settings file start at."""
    return str(Path(source).parent) if source else os.getcwd()  # noqa: PTH109
