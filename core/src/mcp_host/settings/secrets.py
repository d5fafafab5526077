"""Values that come from the environment or from files: read once, and masked wherever shown."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import SettingsError
from ..startup.dataclass import dataclass
from .keys import Keys, dotted

MASK = "********"
NO_DEFAULT = "and there is no default"
"""What the message of a variable that is not set ends in."""
SHORTEST_MASKED = 4
"""A secret shorter than this stands in every other word: texts with it masked would say nothing."""

SURELY_SECRET = 8
LONG_LINE = 16
"""Characters of a secret's line that is masked where it stands alone."""
SENT_BACK = frozenset(
    ("name", "uri", "uriTemplate", "mimeType", "type", "enum", "const", "required", "pattern")
)
"""Keys of what clients are shown whose values they send back, or go by."""


@dataclass(frozen=True, eq=False)
class Secrets:
    """What came from the environment or from files: values to mask, and where they stood."""

    keys: frozenset[Keys] = frozenset()
    values: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __or__(self, other: Secrets) -> Secrets:
        return Secrets(
            self.keys | other.keys,
            self.values | other.values,
            self.variables | other.variables,
            self.files | other.files,
        )

    def learn(self, other: Secrets) -> None:
        """Mask what `other` has as well, wherever this is used already."""
        if other.values - self.values:
            self.__dict__.pop("_written", None)
        for name in ("keys", "values", "variables", "files"):
            object.__setattr__(self, name, getattr(self, name) | getattr(other, name))

    def redact(self, text: str) -> str:
        """The text with every secret value masked, also as JSON, `repr` or a URL writes it."""
        for written in self._written:
            text = text.replace(written, MASK)
        return text

    def redact_each(self, texts: Sequence[str]) -> Sequence[str]:
        """As `redact`, of several texts: where none has a secret, in the time that one takes."""
        together = "\n".join(texts)
        if self.redact(together) == together:
            return texts
        return [self.redact(text) for text in texts]

    def redact_data(self, data: Any) -> Any:
        """Plain data with every secret value in its strings masked."""
        if not self.values:
            return data
        if isinstance(data, str):
            return self.redact(data)
        if isinstance(data, dict):
            return {key: self.redact_data(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self.redact_data(item) for item in data]
        return data

    def mask_places(self, data: Any) -> None:
        """Mask every place of plain data that holds a secret, whatever its value is now."""
        for keys in self.keys:
            place = data
            try:
                for key in keys[:-1]:
                    place = place[key]
                _ = place[keys[-1]]
            except (KeyError, IndexError, TypeError):
                continue
            if isinstance(place, dict | list):
                place[keys[-1]] = MASK  # type: ignore[index]  # str for a dict, int for a list

    def redact_shown(self, data: Any) -> Any:
        """What clients are shown of a pack, with every secret in its texts masked.

        What they must send back as it is stays: names, URIs and the values of a schema.
        """
        if not self.values:
            return data
        if isinstance(data, Mapping):
            return {
                key: item if key in SENT_BACK else self.redact_shown(item)
                for key, item in data.items()
            }
        if isinstance(data, list):
            return [self.redact_shown(item) for item in data]
        return self.redact(data) if isinstance(data, str) else data

    def is_in(self, data: Any) -> bool:
        """Whether plain data holds a secret that is long enough to be none by chance."""
        text = json.dumps(data, ensure_ascii=False)
        return any(value in text for value in self._written if len(value) >= SURELY_SECRET)

    @cached_property
    def _written(self) -> list[str]:
        """The values in every way that they are written, long ones first.

        Also the lines of a longer one, which may be shown one by one.
        """
        lines = {
            line for value in self.values for line in value.splitlines() if len(line) >= LONG_LINE
        }
        values = {value for value in self.values if len(value) >= SHORTEST_MASKED} | lines
        ways = {w for v in values for w in (v, json.dumps(v)[1:-1], repr(v)[1:-1], quote(v, ""))}
        return sorted(ways, key=len, reverse=True)


class SecretText(str):
    """A text from the environment or a file: the one place where "8000" may stand for a number."""

    __slots__ = ()


class SecretReader:
    """Puts their values for `{ env = "X" }` and `{ file = "…" }`, and remembers which."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.secrets = Secrets()
        self.warnings: list[str] = []
        self._folder = folder
        self._environment = environment

    def resolve(self, value: Any, keys: Keys, text: type[str] = SecretText) -> Any:
        """The value with its secrets read; `text` is the type that they get."""
        if isinstance(value, Mapping):
            if isinstance(value.get("env"), str) and set(value) <= {"env", "default"}:
                found = self._from_environment(value, keys)
                return text(found) if isinstance(found, str) else found
            if set(value) == {"file"} and isinstance(value["file"], str) and not _is_pack(keys):
                return text(self._from_file(value["file"], keys))
            return {key: self.resolve(item, (*keys, key), text) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item, (*keys, i), text) for i, item in enumerate(value)]
        return value

    def _from_environment(self, value: Mapping[str, Any], keys: Keys) -> Any:
        variable = value["env"]
        if not variable:
            raise SettingsError(f"{dotted(keys)}: env must name a variable")
        if isinstance(value.get("default"), list | Mapping):
            raise SettingsError(f"{dotted(keys)}: default must be a string, a number or a boolean")
        if variable in self._environment:
            return self._keep(self._environment[variable], keys, variable)
        if "default" in value:
            self.secrets |= Secrets(keys=frozenset({keys}), variables=frozenset({variable}))
            return value["default"]
        raise SettingsError(
            f"{dotted(keys)}: the environment variable {variable} is not set, {NO_DEFAULT}"
        )

    def _from_file(self, name: str, keys: Keys) -> str:
        try:
            path = self._folder / Path(name).expanduser()
        except RuntimeError as error:  # "~nobody/x"
            raise SettingsError(f"{dotted(keys)}: {error}") from None
        self.secrets |= Secrets(files=frozenset({str(path)}))
        try:
            with path.open(encoding="utf-8") as file:
                if may_be_read_by_others(path, os.fstat(file.fileno()).st_mode):
                    said = f"{dotted(keys)}: others may read {path}; mend it with: chmod 600 {path}"
                    self.warnings.append(said)
                return self._keep(file.read().strip(), keys)
        except UnicodeDecodeError:
            raise SettingsError(f"{dotted(keys)}: {path} must be UTF-8 text") from None
        except (OSError, ValueError) as error:  # a ValueError: NUL in the name
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"{dotted(keys)}: cannot read {path}: {reason}") from None

    def _keep(self, value: str, keys: Keys, variable: str | None = None) -> str:
        self.secrets |= Secrets(
            frozenset({keys}),
            frozenset({value}) if value else frozenset(),
            frozenset({variable}) if variable else frozenset(),
        )
        return value


def cure(problem: str, source: Path | None) -> str:
    """What to do about settings that cannot be used."""
    where = f" in {source}" if source else ""
    if problem.endswith(NO_DEFAULT):
        return f"set it where the client starts the host, or give it a default{where}"
    return f"correct it{where}"


def _is_pack(keys: Keys) -> bool:
    """Whether a table is one of [packs.X], whose `file` is the pack's own."""
    return len(keys) == 2 and keys[0] == "packs"


def may_be_read_by_others(path: Path, mode: int) -> bool:
    """Whether a file of this mode can be read by somebody but its owner and the administrator.

    A folder on the way to it that they may not enter keeps them out as well.
    """
    if os.name == "nt":  # the mode says nothing there
        return False
    readers = {who for who in (0o010, 0o001) if mode & who << 2}
    for folder in path.absolute().parents if readers else ():
        open_to = folder.stat().st_mode
        readers = {who for who in readers if open_to & who}
    return bool(readers)
