"""Setting up a tree, and the texts that describe its project."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..errors import AlreadyInitialised, BadFile, OpenSpecError
from ..model.text import is_utf8, trim
from ..storage.files import exists, is_folder
from ..storage.roots import is_initialised
from ..storage.tree import Tree, unreadable
from ..storage.writing import write_whole
from .context import CONFIG, INSTRUCTIONS, PROJECT, appended, with_section, with_tool_block

TOOL_FILES: Final = {
    "claude": "CLAUDE.md",
    "codex": "AGENTS.md",
    "cursor": "AGENTS.md",
    "github-copilot": "AGENTS.md",
    "opencode": "AGENTS.md",
    "windsurf": "AGENTS.md",
}
"""Assistants `init` can point at the tree, and the file each of them reads."""


@dataclass(frozen=True, slots=True)
class Created:
    """What `init` made."""

    path: Path
    files: tuple[str, ...]
    """Relative to the project's folder."""


@dataclass(frozen=True, slots=True)
class ContextUpdate:
    """What became of project.md."""

    path: Path
    action: Literal["created", "replaced", "appended", "section replaced", "section appended"]


class SettingUp:
    """Makes one tree, and reads and writes what stands beside its specs and changes."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._root = tree.root.path

    def instructions(self) -> str:
        """AGENTS.md, or the same in our words where there is none."""
        return self._text("AGENTS.md") or INSTRUCTIONS

    def project(self) -> str:
        """project.md, else the configuration's context, else an empty template."""
        return self._text("project.md") or self._tree.context() or PROJECT

    def init(self, tools: tuple[str, ...] = ()) -> Created:
        """Make a tree; AlreadyInitialised where there is anything of one."""
        if exists(self._tree.openspec) and not is_folder(self._tree.openspec):
            raise BadFile(self._tree.openspec, "this must be a folder, and is a file")
        if is_initialised(self._root):
            raise AlreadyInitialised(self._tree.openspec)
        wanted = {
            "openspec/AGENTS.md": INSTRUCTIONS,
            "openspec/project.md": PROJECT,
            "openspec/specs/.gitkeep": "",
            "openspec/changes/archive/.gitkeep": "",
            "openspec/config.yaml": CONFIG,
        }
        made = []
        for name, text in wanted.items():
            path = self._root / name
            if not exists(path):
                write_whole(path, text.encode())
                made.append(name)
        made += self._point_tools(tools)
        return Created(self._tree.openspec, tuple(made))

    def update_context(
        self, content: str, *, merge: bool = False, section: str | None = None
    ) -> ContextUpdate:
        """Write project.md: replace it or one of its sections, or with `merge` add to it."""
        self._tree.check_there()
        if not trim(content):
            raise OpenSpecError(
                "content is empty; nothing was changed.",
                suggestions=[
                    "Give the text to write. To drop a section, write project.md without it."
                ],
            )
        section = None if section is None else _title(section)
        path = self._tree.openspec / "project.md"
        old = self._bytes(path)
        if old is not None and not is_utf8(old) and (merge or section):
            raise BadFile(path, "the file is not UTF-8, so it can only be replaced as a whole")
        text = old.decode() if old is not None and (merge or section) else ""
        if section:
            new = with_section(text, section, content, merge=merge)
        elif merge:
            new = appended(text, content)
        else:
            new = content if content.endswith("\n") else f"{content}\n"
        write_whole(path, new.encode("utf-8", "surrogatepass"))
        if old is None:
            return ContextUpdate(path, "created")
        if section:
            return ContextUpdate(path, "section appended" if merge else "section replaced")
        return ContextUpdate(path, "appended" if merge else "replaced")

    def _text(self, name: str) -> str | None:
        data = self._bytes(self._tree.openspec / name)
        return None if data is None else data.decode("utf-8", errors="replace")

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return self._tree.files.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(path, error) from error

    def _point_tools(self, tools: tuple[str, ...]) -> Iterator[str]:
        if unknown := sorted(set(tools) - set(TOOL_FILES)):
            raise OpenSpecError(
                f"tools: {', '.join(unknown)} is not one of {', '.join(TOOL_FILES)}.",
                suggestions=["Name known tools, or leave tools out."],
            )
        for name in dict.fromkeys(TOOL_FILES[tool] for tool in tools):
            path = self._root / name
            old = self._bytes(path)
            if old is not None and not is_utf8(old):
                raise BadFile(path, "the file is not UTF-8; add the pointer to OpenSpec by hand")
            write_whole(path, with_tool_block((old or b"").decode()).encode())
            yield name


def _title(section: str) -> str:
    """A section's title, which may be given as its heading: `## Purpose` is `Purpose`."""
    title = trim(trim(section).lstrip("#"))
    if not title or not title.isprintable():
        raise OpenSpecError(
            "section must be the title of one section, on one line.",
            suggestions=["Give it as it stands in project.md, or leave section out."],
        )
    return title
