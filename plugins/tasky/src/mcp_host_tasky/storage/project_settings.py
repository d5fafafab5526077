"""The settings of a project, layered: the person's own, the project's, and the environment's.

They stand in `~/.tasky/config.toml`, then the project's `.tasky/config.toml`, then variables
`TASKY_<SECTION>__<KEY>`.
"""

import contextlib
import difflib
import tomllib
from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import InvalidError
from ..model import Status

PLANNING = ("close_parents", "refuse_blocked")
_SECTIONS = ("logging", "task_defaults", "storage", "project", "planning")


def layered(*layers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Lay tables over each other, key by key within the sections that Tasky knows."""
    merged: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    for layer in layers:
        for section in _SECTIONS:
            found = layer.get(section, {})
            if not isinstance(found, Mapping):
                raise _refused(f"[{section}] in config.toml is not a table.")
            merged[section].update(found)
    return merged


def variables(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what the environment says, as tables."""
    tables: dict[str, dict[str, Any]] = {}
    for section in ("logging", "task_defaults", "storage", "planning"):
        prefix = f"TASKY_{section.upper()}__"
        own = [name for name in environment if name.startswith(prefix)]
        found = {name[len(prefix) :].lower(): environment[name] for name in own}
        tables[section] = found
    return tables


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a settings file; none where it is not there."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # a home of /dev/null holds no settings
        return {}
    except OSError as error:
        raise _refused(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        if b"\n>>>>>>> " in path.read_bytes():
            told = f"{path} holds both sides of a merge."
            raise _refused(
                told, "Keep one of them, and take out the marks <<<<<<< and >>>>>>>."
            ) from error
        raise _refused(f"{path} cannot be read: {error}.") from error


def default_priority(value: object) -> int:
    """Return the priority of new tasks."""
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if not 1 <= number <= 5:
        raise _refused(f"task_defaults.priority is {value!r}.", "Use 1 to 5; 5 is the highest.")
    return number


def default_status(value: object) -> Status:
    """Return the status of new tasks."""
    try:
        return Status(str(value))
    except ValueError:
        told = f"task_defaults.status is {value!r}."
        raise _refused(told, f"Use one of: {', '.join(Status)}.") from None


def refuse_unknown_planning(table: Mapping[str, Any]) -> None:
    """Raise for a key that `[planning]` does not have: who misspells it takes it for being on."""
    for name in table:
        if name not in PLANNING:
            near = difflib.get_close_matches(name, PLANNING, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(PLANNING)}."
            raise _refused(f"planning.{name} is not a setting.", hint)


def is_on(table: Mapping[str, Any], name: str) -> bool:
    """Return whether a key of `[planning]` is on; off where it is not there."""
    value = table.get(name, False)
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if not isinstance(value, bool):
        raise _refused(f"planning.{name} is {value!r}.", "Use true or false.")
    return value


def time_zone(name: str) -> tzinfo:
    """Return a time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        told = f"{name!r} is not a time zone."
        raise _refused(told, "Use an IANA name, as Europe/Berlin or UTC.") from None


def local_zone(environment: Mapping[str, str]) -> str:
    """Return this machine's zone by its IANA name, or UTC where it has none."""
    said = environment.get("TZ", "").lstrip(":")
    parts = Path("/etc/localtime").resolve().parts
    linked = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    for name in (said, linked):
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            if name and not Path(name).is_absolute():
                key = ZoneInfo(name).key
                return "UTC" if key == "Etc/UTC" else key
    return "UTC"


def _refused(message: str, *suggestions: str) -> InvalidError:
    return InvalidError(message, reason="bad_settings", suggestions=suggestions)
