"""Setting up a tree, and the texts that describe its project."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..errors import AlreadyInitialisedError, BadFileError, InvalidYamlError, OpenSpecError
from ..model.text import is_utf8, trim
from ..storage.files import exists, is_folder
from ..storage.plain_yaml import load
from ..storage.roots import config_file, is_initialised
from ..storage.tree import Tree, unreadable
from ..storage.writes import write_whole
from .context import (
    CONFIG,
    CONFIG_WITH_HINTS,
    INSTRUCTIONS,
    PROJECT,
    appended,
    with_context,
    with_language,
    with_line,
    with_section,
    with_tool_block,
)

Target = Literal["project.md", "config"]
"""Where the project's context is written."""

TOOL_FILES: Final = {
    "claude": "CLAUDE.md",
    "codex": "AGENTS.md",
    "cursor": "AGENTS.md",
    "github-copilot": "AGENTS.md",
    "opencode": "AGENTS.md",
    "windsurf": "AGENTS.md",
}
"""Assistants `init` can point at the tree, and the file each of them reads."""


class Created(NamedTuple):
    """What `init` made."""

    path: Path
    files: tuple[str, ...]
    """Relative to the project's folder."""


class ContextUpdate(NamedTuple):
    """What became of project.md."""

    path: Path
    action: Literal["created", "replaced", "appended", "section replaced", "section appended"]


class Setup:
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

    def config_context(self) -> str | None:
        """The configuration's context, where project.md stands beside it."""
        return self._tree.context() if self._text("project.md") else None

    def update_config(self, content: str, *, merge: bool, section: str | None) -> ContextUpdate:
        """Write the context in config.yaml, and leave all else in it as it is."""
        self._tree.check_there()
        if section is not None:
            raise OpenSpecError(
                "section must be left out with target='config': that context has no sections.",
                suggestions=["Give the whole context, or write project.md instead."],
            )
        path = config_file(self._tree.openspec) or self._tree.openspec / "config.yaml"
        data = self._bytes(path)
        if data is not None and not is_utf8(data):
            raise BadFileError(path, "the file must be UTF-8")
        text = CONFIG if data is None else data.decode()
        old = self._tree.config.context or ""
        whole = f"{old.rstrip()}\n\n{content}" if merge and old.strip() else content
        new = with_context(text, whole)
        if not _only_context_differs(text, new, whole):
            raise BadFileError(
                path,
                "the context in it cannot be replaced without touching the rest",
                "Edit the file by hand.",
            )
        write_whole(path, new.encode())
        if data is None:
            return ContextUpdate(path, "created")
        return ContextUpdate(path, "appended" if merge else "replaced")

    def init(self, tools: tuple[str, ...] = ()) -> Created:
        """Make a tree; AlreadyInitialisedError where there is anything of one."""
        if exists(self._tree.openspec) and not is_folder(self._tree.openspec):
            raise BadFileError(self._tree.openspec, "this must be a folder, and is a file")
        if is_initialised(self._tree.openspec):
            raise AlreadyInitialisedError(self._tree.openspec)
        folder = self._tree.root.folder
        wanted = {
            f"{folder}/AGENTS.md": INSTRUCTIONS,
            f"{folder}/project.md": PROJECT,
            f"{folder}/specs/.gitkeep": "",
            f"{folder}/changes/archive/.gitkeep": "",
            f"{folder}/config.yaml": CONFIG,
        }
        made = []
        for name, text in wanted.items():
            path = self._root / name
            if not exists(path):
                write_whole(path, text.encode())
                made.append(name)
        made += self._point_tools(tools)
        return Created(self._tree.openspec, tuple(made))

    def init_current(self, language: str | None = None) -> Created:
        """Make what a tree of the reference tool's current layout lacks; what is there stays.

        `language` is the one to write artifacts in; it goes into a configuration that is made now.
        """
        if exists(self._tree.openspec) and not is_folder(self._tree.openspec):
            raise BadFileError(self._tree.openspec, "this must be a folder, and is a file")
        configured = config_file(self._tree.openspec)
        if language is not None and configured is not None and not self._is_in(language):
            raise OpenSpecError(
                f"--language changes no configuration that is there ({configured}).",
                suggestions=["Name the language in its context."],
            )
        folder = self._tree.root.folder
        made = []
        for name in (f"{folder}/specs", f"{folder}/changes/archive"):
            path = self._root / name
            if not is_folder(path) or not any(path.iterdir()):
                write_whole(path / ".gitkeep", b"")
                made.append(f"{name}/.gitkeep")
        if configured is None:
            text = CONFIG_WITH_HINTS if language is None else with_language(language)
            write_whole(self._root / folder / "config.yaml", text.encode())
            made.append(f"{folder}/config.yaml")
        return Created(self._tree.openspec, tuple(made))

    def _is_in(self, language: str) -> bool:
        """Whether the configuration names this language already, in the words `init` writes."""
        return f"Language: {language}\n" in f"{self._tree.context() or ''}\n"

    def set_config(self, key: str, value: str) -> None:
        """Write one line of the configuration, and leave all else in it as it is."""
        path = config_file(self._tree.openspec) or self._tree.openspec / "config.yaml"
        data = self._bytes(path)
        if data is not None and not is_utf8(data):
            raise BadFileError(path, "the file must be UTF-8")
        write_whole(path, with_line(CONFIG if data is None else data.decode(), key, value).encode())

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
            raise BadFileError(path, "the file is not UTF-8, so it can only be replaced as a whole")
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
                raise BadFileError(
                    path, "the file is not UTF-8; add the pointer to OpenSpec by hand"
                )
            write_whole(path, with_tool_block((old or b"").decode()).encode())
            yield name


def _only_context_differs(before: str, after: str, context: str) -> bool:
    """Whether the configuration says the same as before but for its context, which is this."""
    try:
        old, new = load(before) or {}, load(after)
    except InvalidYamlError:
        return False
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    return new == {**old, "context": new.get("context")} and (
        str(new.get("context")).strip() == context.strip()
    )


def _title(section: str) -> str:
    """A section's title, which may be given as its heading: `## Purpose` is `Purpose`."""
    title = trim(trim(section).lstrip("#"))
    if not title or not title.isprintable():
        raise OpenSpecError(
            "section must be the title of one section, on one line.",
            suggestions=["Give it as it stands in project.md, or leave section out."],
        )
    return title
