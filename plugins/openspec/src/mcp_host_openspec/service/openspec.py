"""Everything one can do with an OpenSpec tree."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..errors import AlreadyInitialised, Ambiguous, BadFile, NotFound, OpenSpecError
from ..model.collation import collation_key
from ..model.findings import Finding, ItemType, Note, Report
from ..model.names import check_capability, check_change_id, nearest
from ..model.spec import SpecDocument
from ..model.text import code_unit_key, is_utf8
from ..storage.files import Files, exists, is_folder
from ..storage.roots import Root, is_initialised
from ..storage.transaction import Archive
from ..storage.tree import Tree, unreadable
from ..storage.writing import write_whole
from .archiving import Archiving, Options, Plan
from .change_rules import ChangeRules
from .context import CONFIG, INSTRUCTIONS, PROJECT, appended, with_section, with_tool_block
from .derived import ByState, Derived, Merges
from .showing import ChangeRow, ChangeView, SpecRow, files_of, row_of_spec, view_change
from .spec_rules import spec_findings

Kind = Literal["change", "spec", "all"]

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


class OpenSpec:
    """One project's OpenSpec tree: reading, validating, archiving, setting up.

    Safe to use from several threads. Whatever was read is kept until its file changes.
    """

    def __init__(
        self,
        root: Root,
        *,
        max_file_bytes: int = 16 * 1024 * 1024,
        user_schemas: Path | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.root: Final = root
        self.tree: Final = Tree(root, Files(max_file_bytes), user_schemas)
        self._derived = Derived()
        self._by_state = ByState(self.tree.state)
        merges = Merges(self._derived)
        self._rules = ChangeRules(self.tree, merges)
        self._archiving = Archiving(self.tree, self._rules, merges, today)
        self._writing = threading.Lock()

    @property
    def is_there(self) -> bool:
        """Whether the project has a tree."""
        return is_folder(self.tree.openspec)

    def recover(self) -> bool:
        """Finish or undo an archive that was cut short; say whether there was one."""
        archive = Archive(self.root.path)
        if not archive.interrupted:
            return False
        archive.recover()
        return True

    # ----- lists

    def change_ids(self) -> list[str]:
        """The active changes."""
        return self.tree.change_ids()

    def capabilities(self) -> list[str]:
        """The capabilities that have a spec."""
        return list(self._spec_paths())

    def list_changes(self, *, recent_first: bool = True) -> list[ChangeRow]:
        """The active changes with their progress, newest first or by name."""
        self.tree.check_there()
        rows = [
            self._by_state.of(change, "row", partial(self._row, change))
            for change in self.tree.change_ids(hidden=True)
        ]
        if recent_first:
            return sorted(rows, key=lambda row: row.modified, reverse=True)
        return sorted(rows, key=lambda row: collation_key(row.id))

    def list_specs(self) -> list[SpecRow]:
        """The main specs with how many requirements each has, by name."""
        self.tree.check_there()
        rows = [self._spec_row(capability, p) for capability, p in self._spec_paths().items()]
        return sorted(rows, key=lambda row: collation_key(row.id))

    def archived(self) -> list[str]:
        """The archived changes, newest first; those without a date last."""
        dated = [name for name in self.tree.archived_ids() if name[:1].isdigit()]
        others = [name for name in self.tree.archived_ids() if not name[:1].isdigit()]
        newest_first = sorted(dated, key=lambda name: name[:10], reverse=True)
        return newest_first + others

    # ----- single items

    def change(self, change: str, *, diffs: bool = False) -> ChangeView:
        """Everything about a change; NotFound where there is none."""
        self.check_change(change)
        try:
            return view_change(self.tree, change, diffs=diffs)
        except OSError as error:
            raise unreadable(self.tree.change_path(change), error) from error

    def spec(self, capability: str) -> SpecDocument:
        """A main spec; NotFound where there is none."""
        check_capability(capability)
        self.tree.check_there()
        try:
            return self.tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound("Spec", capability, nearest(capability, self.capabilities())) from None
        except OSError as error:
            raise unreadable(self.tree.spec_path(capability), error) from error

    def check_change(self, change: str) -> None:
        """Raise InvalidName or NotFound unless this names an active change."""
        check_change_id(change)
        self.tree.check_there()
        path = self.tree.change_path(change)
        if path.is_symlink() or not is_folder(path):
            raise NotFound("Change", change, nearest(change, self.change_ids()))

    def change_text(self, change: str, name: str) -> str | None:
        """One of a change's texts, proposal.md, tasks.md or design.md; None where it lacks it."""
        self.check_change(change)
        return self.tree.text(self.tree.change_path(change), name)

    def title(self, change: str) -> str:
        """The title of a change: its proposal's, else its id."""
        proposal = self.tree.proposal(self.tree.change_path(change))
        return proposal.title(change) if proposal else change

    def kind_of(self, name: str) -> ItemType:
        """Whether a name is a change or a spec; Ambiguous for both, NotFound for neither."""
        self.tree.check_there()
        changes, specs = self.change_ids(), self.capabilities()
        if name in changes and name in specs:
            raise Ambiguous(name)
        if name in changes:
            return "change"
        if name in specs:
            return "spec"
        raise NotFound("Item", name, nearest(name, [*changes, *specs]))

    # ----- texts

    def instructions(self) -> str:
        """AGENTS.md, or the same in our words where there is none."""
        return self._text("AGENTS.md") or INSTRUCTIONS

    def project(self) -> str:
        """project.md, else the configuration's context, else an empty template."""
        return self._text("project.md") or self.tree.context() or PROJECT

    # ----- validation

    def validate(self, name: str, kind: ItemType) -> Report:
        """All findings about one item; NotFound where there is none."""
        if kind == "change":
            self.check_change(name)
            return self.validate_change(name)
        self.spec(name)
        return self.validate_spec(name)

    def validate_change(self, change: str, *, notes: bool = True) -> Report:
        """All findings about one change."""
        what = "report with notes" if notes else "report"
        return self._by_state.of(change, what, lambda: self._validate_change(change, notes=notes))

    def _validate_change(self, change: str, *, notes: bool) -> Report:
        try:
            findings = self._rules.findings(change)
        except (OSError, OpenSpecError) as error:
            return Report(change, "change", (_unusable(error),))
        return Report(change, "change", findings, tuple(self._notes(change)) if notes else ())

    def validate_spec(self, capability: str) -> Report:
        """All findings about one spec."""
        try:
            spec = self.tree.spec(capability)
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", (_unusable(error),))
        return self._spec_report(capability, spec)

    def validate_all(self, kind: Kind = "all", *, notes: bool = True) -> list[Report]:
        """All findings about all changes, all specs or both, by name."""
        self.tree.check_there()
        reports = []
        if kind in ("all", "change"):
            changes = sorted(self.change_ids(), key=code_unit_key)
            self._by_state.keep_only(changes)
            for change in changes:
                reports.append(self.validate_change(change, notes=notes))
        if kind in ("all", "spec"):
            for capability, path in self._spec_paths().items():
                reports.append(self._validate_spec_at(capability, path))
        return sorted(reports, key=lambda report: collation_key(report.id))

    def validate_archived(self) -> list[Report]:
        """Which archived changes have open tasks."""
        return [self._archived_report(name) for name in self.tree.archived_ids()]

    # ----- writing

    def plan_archive(self, change: str, options: Options) -> Plan:
        """What archiving a change would do."""
        return self._archiving.plan(change, options)

    def archive(
        self, change: str, options: Options, *, wanted: Callable[[], bool] = lambda: True
    ) -> Plan:
        """Archive a change: its specs merged and its folder moved, or nothing at all.

        `wanted` is asked last before anything is written: Withdrawn where it says no.
        """
        with self._writing:
            plan = self._archiving.carry_out(change, options, wanted)
        self.tree.files.forget()
        return plan

    def init(self, tools: tuple[str, ...] = ()) -> Created:
        """Make a tree; AlreadyInitialised where there is anything of one."""
        if exists(self.tree.openspec) and not is_folder(self.tree.openspec):
            raise BadFile(self.tree.openspec, "this must be a folder, and is a file")
        if is_initialised(self.root.path):
            raise AlreadyInitialised(self.tree.openspec)
        wanted = {
            "openspec/AGENTS.md": INSTRUCTIONS,
            "openspec/project.md": PROJECT,
            "openspec/specs/.gitkeep": "",
            "openspec/changes/archive/.gitkeep": "",
            "openspec/config.yaml": CONFIG,
        }
        made = []
        with self._writing:
            for name, text in wanted.items():
                path = self.root.path / name
                if not exists(path):
                    write_whole(path, text.encode())
                    made.append(name)
            made += self._point_tools(tools)
        return Created(self.tree.openspec, tuple(made))

    def update_context(
        self, content: str, *, merge: bool = False, section: str | None = None
    ) -> ContextUpdate:
        """Write project.md: replace it or one of its sections, or with `merge` add to it."""
        self.tree.check_there()
        path = self.tree.openspec / "project.md"
        with self._writing:
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

    # ----- the rest is how

    def _spec_paths(self) -> dict[str, Path]:
        try:
            return self.tree.spec_paths()
        except NotADirectoryError as error:
            raise BadFile(self.tree.specs, "this must be a folder, and is a file") from error
        except OSError as error:
            raise unreadable(self.tree.specs, error) from error

    def _row(self, change: str) -> ChangeRow:
        folder = self.tree.change_path(change)
        return ChangeRow(
            change,
            self.tree.progress(folder),
            self.tree.modified(folder),
            tuple(self.tree.nested_changes(change)),
            files_of(folder),
        )

    def _spec_row(self, capability: str, path: Path) -> SpecRow:
        try:
            return self._derived.with_others(
                document := self.tree.spec_at(path),
                (),
                ("row", capability),
                lambda: row_of_spec(capability, document),
            )
        except (OSError, OpenSpecError):
            return SpecRow(capability, 0, "")

    def _validate_spec_at(self, capability: str, path: Path) -> Report:
        try:
            return self._spec_report(capability, self.tree.spec_at(path))
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", (_unusable(error),))

    def _spec_report(self, capability: str, spec: SpecDocument) -> Report:
        return Report(capability, "spec", self._derived.of(spec, spec_findings))

    def _archived_report(self, name: str) -> Report:
        folder = self.tree.archive / name
        documents, unread = self.tree.task_documents(folder)
        found = [
            Finding(
                "A2",
                "ERROR",
                path.relative_to(self.root.path).as_posix()
                if path.is_relative_to(self.root.path)
                else path.name,
                "The task file cannot be read.",
            )
            for path in unread
        ]
        total = sum(document.progress.total for document in documents.values())
        completed = sum(document.progress.completed for document in documents.values())
        if completed < total:
            found.append(
                Finding(
                    "A1",
                    "ERROR",
                    "tasks.md",
                    f"{total - completed} of {total} tasks are not done, though it is archived.",
                )
            )
        return Report(name, "change", tuple(found))

    def _notes(self, change: str) -> Iterator[Note]:
        """What the reference tool does not look at: missing texts, and what an archive loses."""
        try:
            yield from self._notes_on_texts(change)
        except OpenSpecError as error:
            yield Note("N5", "file", str(error))
        for loss in self._archiving.losses(change):
            yield loss.as_note()

    def _notes_on_texts(self, change: str) -> Iterator[Note]:
        folder = self.tree.change_path(change)
        files = files_of(folder)
        if "proposal.md" not in files:
            yield Note("N1", "proposal.md", "The change has no proposal.md.")
        elif (proposal := self.tree.proposal(folder)) is not None:
            if not proposal.why:
                yield Note("N2", "proposal.md", "The proposal has no '## Why'.")
            if not proposal.what_changes:
                yield Note("N3", "proposal.md", "The proposal has no '## What Changes'.")
        if "tasks.md" not in files and not self.tree.tracked_tasks(folder):
            yield Note("N4", "tasks.md", "The change has no tasks.md.")

    def _text(self, name: str) -> str | None:
        data = self._bytes(self.tree.openspec / name)
        return None if data is None else data.decode("utf-8", errors="replace")

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return self.tree.files.read(path)
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
            path = self.root.path / name
            old = self._bytes(path)
            if old is not None and not is_utf8(old):
                raise BadFile(path, "the file is not UTF-8; add the pointer to OpenSpec by hand")
            write_whole(path, with_tool_block((old or b"").decode()).encode())
            yield name


def _unusable(error: Exception) -> Finding:
    return Finding("F0", "ERROR", "file", str(error))
