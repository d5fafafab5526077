"""The skills and slash commands that assistants find in a project."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import OpenSpecError
from ..model.assistants import ASSISTANTS, SKILLS, Assistant, Delivery, sharing
from ..storage.files import exists, is_folder
from ..storage.writes import disk_errors, write_whole
from .assistant_paths import AssistantPaths, bytes_of
from .skill_texts import command, skill


class Choice(NamedTuple):
    """Which workflows assistants get, and as what."""

    workflows: tuple[str, ...]
    delivery: Delivery


class Installed(NamedTuple):
    """What of us is in a project."""

    workflows: tuple[str, ...]
    delivery: Delivery


@dataclass(slots=True)
class Written:
    """What became of one assistant's files."""

    assistant: Assistant
    files: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    error: str | None = None


class AssistantFiles:
    """Finds, writes and refreshes the files of assistants in one project.

    A folder for skills that several assistants read (`.agents`) is written for one of them, which a
    small file beside the skills names.
    """

    def __init__(self, project: Path, home: Path) -> None:
        self._project = project
        self._paths = AssistantPaths(project, home)

    def present(self) -> tuple[Assistant, ...]:
        """The assistants that the project shows signs of."""
        found = [one for one in ASSISTANTS.values() if self._shows(one)]
        return tuple(one for one in found if self._has_own_sign(one) or self._is_owner(one, found))

    def set_up(self) -> tuple[Assistant, ...]:
        """The assistants that have files of ours."""
        found = [
            one
            for one in ASSISTANTS.values()
            if self._paths.skills_of(one, SKILLS) or self._paths.commands_of(one, SKILLS)
            or self._paths.marked(one.folder) == one.id
        ]  # fmt: skip
        return tuple(
            one
            for one in found
            if self._paths.commands_of(one, SKILLS) or self._is_owner(one, found)
        )

    def installed(self, assistants: Iterable[Assistant]) -> Installed | None:
        """The workflows that assistants of the project have; None where they have none."""
        skills: set[str] = set()
        commands: set[str] = set()
        for one in assistants:
            skills.update(self._paths.skills_of(one, SKILLS))
            commands.update(self._paths.commands_of(one, SKILLS))
        workflows = tuple(name for name in SKILLS if name in skills | commands)
        if not workflows:
            return None
        delivery: Delivery = "both" if commands else "skills"
        return Installed(workflows, delivery if skills else "commands")

    def write(
        self, assistants: Sequence[Assistant], choice: Choice, *, tidy: bool = False
    ) -> list[Written]:
        """Write the files of each assistant; `tidy`: remove those of workflows not chosen.

        Where a folder that several share is another one's already, that one's are written too.
        """
        assistants = [*assistants, *self._other_owners(assistants, choice)]
        owners = self._owners(assistants)
        done = []
        for one in assistants:
            written = Written(one)
            done.append(written)
            try:
                self._write_one(one, choice, written, is_owner=one in owners, tidy=tidy)
            except OpenSpecError as error:
                written.error = str(error)
        return done

    def is_current(self, assistant: Assistant, choice: Choice, among: Sequence[Assistant]) -> bool:
        """Whether an assistant has exactly what would be written for it."""
        is_owner = assistant in self._owners(among)
        wanted = self._wanted(assistant, choice, is_owner=is_owner)
        if any(bytes_of(path) != data for path, data in wanted.items()):
            return False
        return not self._unwanted(assistant, choice, is_owner=is_owner, tidy=True)

    def _owners(self, assistants: Sequence[Assistant]) -> set[Assistant]:
        """Those of the assistants for which the folders of skills are written."""
        return {self._owner(one.folder, assistants) for one in assistants}

    def _other_owners(self, assistants: Sequence[Assistant], choice: Choice) -> Iterator[Assistant]:
        """The assistants that shared folders belong to, and that are not among those given."""
        for folder in dict.fromkeys(one.folder for one in assistants):
            group = [one for one in assistants if one.folder == folder]
            known = ASSISTANTS.get(self._paths.marked(folder) or self._paths.inferred(folder) or "")
            if known is None or known.folder != folder or known in group:
                continue
            wanting = [one for one in group if one.gets_skills(choice.delivery)]
            if wanting and all(one.id != "codex" for one in group):
                yield known

    def _owner(self, folder: str, among: Sequence[Assistant]) -> Assistant:
        group = sorted((one for one in among if one.folder == folder), key=_position)
        if len(group) == 1:
            return group[0]
        group = [one for one in group if one.commands is None] or group
        for name in (self._paths.marked(folder), self._paths.inferred(folder), "codex"):
            for one in group:
                if one.id == name:
                    return one
        return group[0]

    def _write_one(
        self, one: Assistant, choice: Choice, written: Written, *, is_owner: bool, tidy: bool
    ) -> None:
        for path, data in self._wanted(one, choice, is_owner=is_owner).items():
            self._paths.check_inside(path, one)
            write_whole(path, data)
            written.files.append(path)
        if is_owner and len(sharing(one.folder)) > 1:
            write_whole(self._paths.marker(one), f"{one.id}\n".encode())
        for path in self._unwanted(one, choice, is_owner=is_owner, tidy=tidy):
            self._paths.check_inside(path, one)
            with disk_errors(path):
                path.unlink()
                if path.name == "SKILL.md" and not any(path.parent.iterdir()):
                    path.parent.rmdir()
            written.removed.append(path)

    def _wanted(self, one: Assistant, choice: Choice, *, is_owner: bool) -> dict[Path, bytes]:
        """What one assistant shall have, by path."""
        chosen, delivery = choice.workflows, choice.delivery
        wanted = {}
        if is_owner and one.gets_skills(delivery):
            for name in chosen:
                wanted[self._paths.skill(one, name)] = skill(name, one, delivery, chosen).encode()
        if one.commands is not None and one.gets_commands(delivery):
            for name in chosen:
                text = command(name, one.commands, chosen)
                wanted[self._paths.command(one, name)] = text.encode()
        return wanted

    def _unwanted(
        self, one: Assistant, choice: Choice, *, is_owner: bool, tidy: bool
    ) -> list[Path]:
        """Files of ours that one assistant shall not have."""
        others = [name for name in SKILLS if name not in choice.workflows]
        skills: Collection[str] = others if tidy else ()
        commands: Collection[str] = others if tidy else ()
        if not one.gets_skills(choice.delivery) and not one.is_global:
            skills = SKILLS
        if not one.gets_commands(choice.delivery):
            commands = SKILLS
        there = [self._paths.command(one, name) for name in self._paths.commands_of(one, commands)]
        if is_owner:
            there += [self._paths.skill(one, name) for name in self._paths.skills_of(one, skills)]
        return there

    def _shows(self, one: Assistant) -> bool:
        if one.is_global:
            return bool(self._paths.skills_of(one, SKILLS))
        if one.signs:
            return any(exists(self._project / sign) for sign in one.signs)
        return is_folder(self._project / one.folder)

    def _has_own_sign(self, one: Assistant) -> bool:
        return any(
            not sign.endswith("/skills") and exists(self._project / sign) for sign in one.signs
        )

    def _is_owner(self, one: Assistant, found: Sequence[Assistant]) -> bool:
        """Whether the folder of skills is this assistant's among those found."""
        group = [other for other in found if other.folder == one.folder]
        if len(group) == 1:
            return True
        known = self._paths.marked(one.folder) or self._paths.inferred(one.folder) or "agents"
        names = [other.id for other in group]
        return one.id == (known if known in names else "agents" if "agents" in names else names[0])


def _position(one: Assistant) -> int:
    return list(ASSISTANTS).index(one.id)
