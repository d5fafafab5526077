"""Where assistants look for skills and commands in a project, and what of them is there."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ..errors import OutsideTreeError
from ..model.assistants import SKILLS, Assistant
from ..storage.files import exists

_MARKER: Final = ".openspec-target"


class AssistantPaths:
    """The files of assistants in one project, or for some of them in the user's home."""

    def __init__(self, project: Path, home: Path) -> None:
        self._project = project
        self._home = home

    def marked(self, folder: str) -> str | None:
        """Whose a shared folder is, as the small file in it says."""
        marker = self._below(folder) / "skills" / _MARKER
        data = bytes_of(marker)
        return data.decode("utf-8", "replace").strip() or None if data else None

    def inferred(self, folder: str) -> str | None:
        """Whose skills a shared folder holds, by how they call each other."""
        generic = False
        for name in SKILLS.values():
            data = bytes_of(self._below(folder) / "skills" / name / "SKILL.md") or b""
            if b"$openspec-" in data:
                return "codex"
            generic = generic or bool(data)
        return "agents" if generic else None

    def skills_of(self, one: Assistant, names: Iterable[str]) -> list[str]:
        """The workflows of these that an assistant has as skills."""
        return [name for name in names if exists(self.skill(one, name))]

    def commands_of(self, one: Assistant, names: Iterable[str]) -> list[str]:
        """The workflows of these that an assistant has as commands."""
        if one.commands is None:
            return []
        return [name for name in names if exists(self.command(one, name))]

    def skill(self, one: Assistant, name: str) -> Path:
        """The file of a skill."""
        return self.skills(one) / SKILLS[name] / "SKILL.md"

    def command(self, one: Assistant, name: str) -> Path:
        """The file of a command."""
        assert one.commands is not None
        return self._project / one.commands.path.format(id=name)

    def marker(self, one: Assistant) -> Path:
        """The small file that says whose a shared folder is."""
        return self.skills(one) / _MARKER

    def skills(self, one: Assistant) -> Path:
        """The folder of skills."""
        return self._below(one.folder) / "skills"

    def _below(self, folder: str) -> Path:
        if folder.startswith("~/"):
            return self._home / folder.removeprefix("~/")
        return self._project / folder

    def check_inside(self, path: Path, one: Assistant) -> None:
        """Refuse to write through a link that leads out of the project."""
        base = self._home if one.is_global else self._project
        if not path.resolve().is_relative_to(base.resolve()):
            raise OutsideTreeError(path)


def bytes_of(path: Path) -> bytes | None:
    """What is in a file; None where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None
