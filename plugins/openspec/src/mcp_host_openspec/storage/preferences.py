"""A person's own settings for all projects, in the `config.json` of the reference tool."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import BadFileError
from .writes import write_whole

DEFAULTS: Final[Mapping[str, Any]] = {"featureFlags": {}, "profile": "core", "delivery": "both"}


class Preferences:
    """The settings in one file; what is not in it has its default.

    A file that cannot be read counts as empty when it is asked, and is never written over but by
    `reset`.
    """

    def __init__(self, variables: Mapping[str, str], home: Path) -> None:
        base = variables.get("XDG_CONFIG_HOME")
        self.path: Final = (Path(base) if base else home / ".config") / "openspec" / "config.json"

    def explicit(self) -> dict[str, Any]:
        """What the file says; nothing where there is none or it is no JSON object."""
        return self._read() or {}

    def all(self) -> dict[str, Any]:
        """The settings with their defaults."""
        said = self.explicit()
        flags = said.get("featureFlags")
        merged = {**DEFAULTS, **said}
        merged["featureFlags"] = dict(flags) if isinstance(flags, dict) else {}
        return merged

    @property
    def is_readable(self) -> bool:
        """Whether what is there can be read, or nothing is there."""
        return self._read() is not None

    def save(self, settings: Mapping[str, Any]) -> None:
        """Write the settings; BadFileError where that would lose what cannot be read."""
        if not self.is_readable:
            raise BadFileError(
                self.path,
                "the file is no JSON object, so it was left as it is",
                "Mend it with: openspec config edit, or start anew with: openspec config reset "
                "--all",
            )
        self.reset(settings)

    def reset(self, settings: Mapping[str, Any] = DEFAULTS) -> None:
        """Write the settings, whatever is there."""
        text = json.dumps(dict(settings), ensure_ascii=False, indent=2)
        write_whole(self.path, f"{text}\n".encode())

    def _read(self) -> dict[str, Any] | None:
        """What the file says, {} where there is none, None where it cannot be read."""
        try:
            read = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return None
        return read if isinstance(read, dict) else None
