"""What decides where the files of programs are: the system, the home folder, the variables."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NAMED = re.compile(r"\{([A-Za-z_]+)(?::([^}]*))?\}")


@dataclass(frozen=True)
class Machine:
    """A machine, this one unless told otherwise.

    Paths are written with `~` for the home folder and these names: `{programs}`, where programs
    with a window keep their settings; `{local}`, Windows' folder for what stays on a machine;
    `{xdg}`, `~/.config` or what `XDG_CONFIG_HOME` says; `{VARIABLE:~/folder}`, a folder that a
    variable can move.
    """

    system: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def path(self, written: str) -> Path:
        """The path that is written so; a `*` in it stays."""
        named = NAMED.match(written)
        if named is None:
            return self._of_home(written)
        rest = written[named.end() :].lstrip("/")
        folder = self._folder(named[1], named[2])
        return folder / rest if rest else folder

    def found(self, written: str) -> list[Path]:
        """The paths that are written so; of a `*`, those whose folders are there, in order."""
        path = self.path(written)
        parts = path.parts
        star = next((number for number, part in enumerate(parts) if "*" in part), None)
        if star is None:
            return [path]
        above, rest = Path(*parts[:star]), parts[star + 1 :]
        return [folder.joinpath(*rest) for folder in sorted(above.glob(parts[star]))]

    def has_program(self, name: str) -> bool:
        """Whether a program of that name is on the PATH."""
        return shutil.which(name, path=self.environment.get("PATH", "")) is not None

    def _of_home(self, written: str) -> Path:
        if written == "~":
            return self.home
        return self.home / written[2:] if written.startswith("~/") else Path(written)

    def _folder(self, name: str, otherwise: str | None) -> Path:
        if name == "programs":
            return self._programs()
        if name == "xdg":
            return self._moved("XDG_CONFIG_HOME", "~/.config")
        if name == "local":
            return self._moved("LOCALAPPDATA", "~/AppData/Local")
        return self._moved(name, otherwise or "~")

    def _programs(self) -> Path:
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self._moved("APPDATA", "~/AppData/Roaming")
        return self._moved("XDG_CONFIG_HOME", "~/.config")

    def _moved(self, variable: str, otherwise: str) -> Path:
        named = self.environment.get(variable)
        return self._of_home(named) if named else self._of_home(otherwise)
