"""What a person named: a distribution, a wheel or a folder with the sources of one."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

from ...errors import SettingsError
from ...packs.discovery import GROUP
from .environment import HOST, normal

REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[A-Za-z0-9._, -]*\])?"
    r"\s*(?:(?:===|[<>=!~]=|[<>])\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*"
)
EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


@dataclass(frozen=True)
class Wanted:
    """What the installer is told, and the distribution's name where it is known beforehand."""

    requirement: str
    distribution: str


def wanted(source: str, *, build: bool) -> Wanted:
    """Read what was named; `SettingsError` where it is nothing that may be installed."""
    path = Path(source).expanduser()
    if path.is_dir():
        return _of_folder(path, build)
    if path.is_file():
        return _of_file(path, build)
    if os.sep in source or source.startswith((".", "~")) or source.endswith(".whl"):
        raise SettingsError(f"{path} is not there")
    own = _of_the_host(source)
    if own is not None:
        return own
    found = REQUIREMENT.fullmatch(source)
    if found is None:
        raise SettingsError(
            f"{source!r} must be a distribution's name, with a version if need be "
            "(mcp-host-weather==1.2), a wheel or a folder"
        )
    return Wanted(source, found["name"])


def _of_the_host(name: str) -> Wanted | None:
    """A pack that an extra of the host names: the distribution of the extra, in its bounds."""
    for text in metadata.requires(HOST) or ():
        requirement, _, condition = text.partition(";")
        extra = EXTRA.search(condition)
        distribution = re.split(r"[\[<>=!~ ]", requirement.strip())[0]
        if extra and extra[1] == normal(name) and distribution.startswith(f"{HOST}-"):
            return Wanted(requirement.strip(), distribution)
    return None


def _of_folder(path: Path, build: bool) -> Wanted:
    if not (path / "pyproject.toml").exists() and not (path / "setup.py").exists():
        raise SettingsError(f"{path} must be a wheel, or a folder with a pyproject.toml")
    if not build:
        raise SettingsError(
            f"{path} holds sources, and installing them runs their build: say --build to allow it"
        )
    return Wanted(str(path.resolve()), "")


def _of_file(path: Path, build: bool) -> Wanted:
    if path.suffix != ".whl":
        if not build:
            raise SettingsError(f"{path} must be a wheel; other archives need --build")
        return Wanted(str(path.resolve()), "")
    try:
        with zipfile.ZipFile(path) as wheel:
            names = {name.rpartition("/")[2]: name for name in wheel.namelist()}
            about = message_from_bytes(wheel.read(names["METADATA"]))
            points = wheel.read(names["entry_points.txt"]) if "entry_points.txt" in names else b""
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise SettingsError(f"{path} cannot be read as a wheel: {error}") from None
    if f"[{GROUP}]" not in points.decode("utf-8", "replace"):
        raise SettingsError(f"{path} offers no pack: it has no entry point in {GROUP}")
    return Wanted(str(path.resolve()), str(about["Name"]))
