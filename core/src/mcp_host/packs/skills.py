"""The skills that a pack ships: folders of text for models, found without opening the pack."""

from __future__ import annotations

import re
from pathlib import Path

from ..startup.dataclass import dataclass

FOLDER = "skills"
FILE = "SKILL.md"
MOST = 100
"""How many skills of one pack are looked at."""
LARGEST = 256 * 1024
"""Bytes of a skill's text."""
LONGEST_DESCRIPTION = 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME = 64


@dataclass(frozen=True)
class Skill:
    """One skill: its name, when to use it, and the folder with its `SKILL.md` and other files."""

    name: str
    description: str
    folder: str

    @property
    def text(self) -> str:
        """The whole of its `SKILL.md`."""
        return Path(self.folder, FILE).read_text("utf-8")


@dataclass(frozen=True)
class FoundSkills:
    """What was found of a pack's skills: those that can be read, and what is wrong with others."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()


def find_skills(package: str | None) -> FoundSkills:
    """Find the skills beside a package's own file; none where the pack is a single module."""
    if package is None or Path(package).name != "__init__.py":
        return FoundSkills()
    try:
        folders = sorted(Path(package).with_name(FOLDER).iterdir())[:MOST]
    except OSError:
        return FoundSkills()
    skills, problems = [], []
    for folder in folders:
        if folder.name.startswith((".", "__")) or not folder.is_dir():
            continue
        try:
            skills.append(_read(folder))
        except (OSError, ValueError) as error:
            problems.append(f"the skill {folder.name} is passed over: {error}")
    return FoundSkills(tuple(skills), tuple(problems))


def _read(folder: Path) -> Skill:
    name, file = folder.name, folder / FILE
    if not file.is_file():
        raise ValueError(f"it must have a file {FILE}")
    if file.stat().st_size > LARGEST:
        raise ValueError(f"{FILE} must have at most {LARGEST} bytes")
    about = _front_matter(file.read_text("utf-8"))
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ValueError("its folder's name must be of a-z, 0-9 and single -, up to 64")
    if about.get("name") != name:
        raise ValueError(f"name in {FILE} must be {name}, as its folder is called")
    description = about.get("description", "")
    if not 0 < len(description) <= LONGEST_DESCRIPTION:
        raise ValueError(f"description in {FILE} must have 1 to {LONGEST_DESCRIPTION} characters")
    return Skill(name, description, str(folder))


def _front_matter(text: str) -> dict[str, str]:
    """The texts at the beginning of a file, between two lines of `---`: plain YAML, read plainly.

    A value goes on in the lines that are indented; quotes around it are left out.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        raise ValueError(f"{FILE} must begin with --- and the keys name and description")
    about: dict[str, str] = {}
    key = ""
    for line in lines[1:]:
        if line.rstrip() == "---":
            return {name: _plain(value) for name, value in about.items()}
        name, colon, value = line.partition(":")
        if line[:1].isspace() and key:
            about[key] = f"{about[key]} {line.strip()}"
        elif colon:
            key = name.strip()
            about[key] = value.strip()
    raise ValueError(f"{FILE} must have a second line of --- after its keys")


def _plain(value: str) -> str:
    value = re.sub(r"^[>|][+-]?\s*", "", value).strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
