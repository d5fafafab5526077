"""Everything one can do with an OpenSpec tree."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..errors import (
    AmbiguousError,
    BadFileError,
    NotFoundError,
    OpenSpecError,
    OutsideTreeError,
)
from ..model.collation import collation_key
from ..model.findings import ItemType, Note, Report
from ..model.names import check_capability, check_change_id, nearest
from ..model.spec import SpecDocument
from ..model.tasks import Progress
from ..model.text import code_unit_key
from ..storage.files import Files, is_folder
from ..storage.records import Records
from ..storage.roots import Root
from ..storage.schemas import Schema
from ..storage.state import State
from ..storage.transaction import Archive
from ..storage.tree import Tree, unreadable
from .archive_plan import Options, Plan
from .archives import Archives
from .bases import Bases
from .cache import DocumentCache, Merges, StateCache
from .overlaps import Claim, Overlaps
from .rebases import Rebased, Rebases
from .record_keeper import RecordKeeper, Undone
from .rules import files as file_rules
from .rules.change import ChangeRules
from .rules.spec import spec_findings
from .setup import ContextUpdate, Created, Setup, Target
from .views import ChangeRow, ChangeView, SpecRow, files_of, row_of_spec, view_change

Kind = Literal["change", "spec", "all"]


class OpenSpec:
    """One project's OpenSpec tree: reading, validating, archiving, setting up.

    Safe to use from several threads. Whatever was read is kept until its file changes; what was
    worked out from several files too, unless the tree is looked at `once`.
    """

    def __init__(
        self,
        root: Root,
        *,
        max_file_bytes: int = 16 * 1024 * 1024,
        user_schemas: Path | None = None,
        today: Callable[[], date] = date.today,
        once: bool = False,
    ) -> None:
        self.root: Final = root
        self.tree: Final = Tree(root, Files(max_file_bytes), user_schemas)
        self._user_schemas = user_schemas
        self._today = today
        self._cache = DocumentCache()
        self._once = once
        self._states = StateCache(_unknown if once else self.tree.state)
        merges = Merges(self._cache)
        self._rules = ChangeRules(self.tree, merges)
        records = Records(self.tree.openspec, self.tree.files)
        bases = self._bases = Bases(self.tree, records, self.tree.history)
        self._keeper = RecordKeeper(self.tree, records, bases)
        self._archives = Archives(self.tree, self._rules, merges, bases, self._keeper, today)
        self._rebases = Rebases(self.tree, records, merges, bases)
        self._overlaps = Overlaps(self.tree)
        self._setup = Setup(self.tree)
        self._all_reports: dict[tuple[Kind, bool], tuple[State, tuple[Report, ...]]] = {}
        self._writing = threading.Lock()

    def like(self, root: Root) -> "OpenSpec":
        """Another tree with the same limits."""
        return OpenSpec(
            root,
            max_file_bytes=self.tree.files.max_bytes,
            user_schemas=self._user_schemas,
            today=self._today,
        )

    @property
    def is_there(self) -> bool:
        """Whether the project has a tree."""
        return is_folder(self.tree.openspec)

    def recover(self) -> bool:
        """Finish or undo an archive that was cut short; say whether there was one."""
        archive = Archive(self.root)
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
        paths, barred = self.tree.find_specs()
        return sorted([*paths, *barred], key=code_unit_key)

    def list_changes(self, *, recent_first: bool = True) -> list[ChangeRow]:
        """The active changes with their progress, newest first or by name."""
        self.tree.check_there()
        rows = [self._row(change) for change in self.tree.change_ids(hidden=True)]
        if recent_first:
            return sorted(rows, key=lambda row: row.modified, reverse=True)
        return sorted(rows, key=lambda row: collation_key(row.id))

    def list_specs(self) -> list[SpecRow]:
        """The main specs with how many requirements each has, by name."""
        self.tree.check_there()
        paths, barred = self.tree.find_specs()
        rows = [self._spec_row(capability, path) for capability, path in paths.items()]
        rows += [SpecRow(capability, 0, "", problem) for capability, problem in barred.items()]
        return sorted(rows, key=lambda row: collation_key(row.id))

    def archived(self) -> list[str]:
        """The archived changes, newest first; those without a date last."""
        dated = [name for name in self.tree.archived_ids() if name[:1].isdigit()]
        others = [name for name in self.tree.archived_ids() if not name[:1].isdigit()]
        newest_first = sorted(dated, key=lambda name: name[:10], reverse=True)
        return newest_first + others

    # ----- single items

    def change(self, change: str, *, diffs: bool = False) -> ChangeView:
        """Everything about a change; NotFoundError where there is none."""
        self.check_change(change)
        try:
            return view_change(self.tree, change, diffs=diffs)
        except OSError as error:
            raise unreadable(self.tree.change_path(change), error) from error

    def spec(self, capability: str) -> SpecDocument:
        """A main spec; NotFoundError where there is none."""
        check_capability(capability)
        self.tree.check_there()
        try:
            return self.tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(
                "Spec", capability, nearest(capability, self.capabilities())
            ) from None
        except OSError as error:
            raise unreadable(self.tree.spec_path(capability), error) from error

    def check_all_specs(self) -> None:
        """Raise why one may not look at a main spec, where there is such."""
        self.tree.check_there()
        for problem in self.tree.find_specs()[1].values():
            raise problem

    def check_change(self, change: str) -> None:
        """Raise InvalidNameError or NotFoundError unless this names an active change."""
        check_change_id(change)
        self.tree.check_there()
        path = self.tree.change_path(change)
        if path.is_symlink() or not is_folder(path):
            raise NotFoundError("Change", change, nearest(change, self.change_ids()))

    def change_text(self, change: str, name: str) -> str | None:
        """One of a change's texts, proposal.md, tasks.md or design.md; None where it lacks it."""
        self.check_change(change)
        return self.tree.text(self.tree.change_path(change), name)

    def own_schema(self, change: str | None = None) -> Schema | None:
        """The project's own schema that a change, or without one a new change, follows.

        None where that is the built-in one.
        """
        return self.tree.own_schema(None if change is None else self.tree.change_path(change))

    def title(self, change: str) -> str:
        """The title of a change: its proposal's, else its id."""
        proposal = self.tree.proposal(self.tree.change_path(change))
        return proposal.title(change) if proposal else change

    def kind_of(self, name: str) -> ItemType:
        """Whether a name is a change or a spec.

        AmbiguousError where it is both, NotFoundError where it is neither.
        """
        self.tree.check_there()
        changes, specs = self.change_ids(), self.capabilities()
        if name in changes and name in specs:
            raise AmbiguousError(name)
        if name in changes:
            return "change"
        if name in specs:
            return "spec"
        raise NotFoundError("Item", name, nearest(name, [*changes, *specs]))

    # ----- texts

    def instructions(self) -> str:
        """AGENTS.md, or the same in our words where there is none."""
        return self._setup.instructions()

    def project(self) -> str:
        """project.md, else the configuration's context, else an empty template."""
        return self._setup.project()

    def config_context(self) -> str | None:
        """The configuration's context, where project.md stands beside it."""
        return self._setup.config_context()

    # ----- validation

    def validate(self, name: str, kind: ItemType) -> Report:
        """All findings about one item; NotFoundError where there is none."""
        if kind == "change":
            self.check_change(name)
            return self.validate_change(name)
        self.tree.check_there()
        with suppress(BadFileError, OutsideTreeError):  # those are findings
            self.spec(name)
        return self.validate_spec(name)

    def validate_change(self, change: str, *, notes: bool = True) -> Report:
        """All findings about one change."""
        report = self._validated(change, self.tree.history.mark(), notes=notes)
        return _with_claims(report, self.overlaps(change)) if notes else report

    def _validated(self, change: str, mark: object, *, notes: bool) -> Report:
        what = "report with notes" if notes else "report"
        work_out = partial(self._validate_change, change, notes=notes)
        return self._states.of(change, what, work_out, mark)

    def _validate_change(self, change: str, *, notes: bool) -> Report:
        try:
            findings = self._rules.findings(change)
        except (OSError, OpenSpecError) as error:
            return Report(change, "change", tuple(file_rules.unusable(error)))
        return Report(change, "change", findings, tuple(self._notes(change)) if notes else ())

    def validate_spec(self, capability: str) -> Report:
        """All findings about one spec."""
        try:
            spec = self.tree.spec(capability)
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", tuple(file_rules.unusable(error)))
        return self._spec_report(capability, spec)

    def validate_all(self, kind: Kind = "all", *, notes: bool = True) -> list[Report]:
        """All findings about all changes, all specs or both, by name.

        They are worked out once for a state of the tree.
        """
        self.tree.check_there()
        state, key = None if self._once else self.tree.whole_state(), (kind, notes)
        known = self._all_reports.get(key)
        if state is not None and known is not None and known[0] == state:
            return list(known[1])
        reports = self._validate_all(kind, notes=notes)
        if state is not None and self.tree.whole_state() == state:  # not edited meanwhile
            self._all_reports[key] = (state, tuple(reports))
        return reports

    def _validate_all(self, kind: Kind, *, notes: bool) -> list[Report]:
        reports = []
        if kind in ("all", "change"):
            changes = sorted(self.change_ids(), key=code_unit_key)
            self._states.keep_only(changes)
            mark = self.tree.history.mark()
            shared = self.overlaps() if notes else {}
            if notes:
                self._bases.prepare(changes)
            for change in changes:
                report = self._validated(change, mark, notes=notes)
                reports.append(_with_claims(report, shared))
        if kind in ("all", "spec"):
            paths, barred = self.tree.find_specs()
            for capability, path in paths.items():
                reports.append(self._validate_spec_at(capability, path))
            for capability, problem in barred.items():
                reports.append(Report(capability, "spec", tuple(file_rules.unusable(problem))))
        return sorted(reports, key=lambda report: collation_key(report.id))

    def validate_archived(self) -> list[Report]:
        """Which archived changes have open tasks."""
        return [self._archived_report(name) for name in self.tree.archived_ids()]

    # ----- writing

    def plan_archive(self, change: str, options: Options) -> Plan:
        """What archiving a change would do."""
        return self._archives.plan(change, options)

    def archive(
        self, change: str, options: Options, *, wanted: Callable[[], bool] = lambda: True
    ) -> Plan:
        """Archive a change: its specs merged and its folder moved, or nothing at all.

        `wanted` is asked last before anything is written: WithdrawnError where it says no.
        """
        with self._writing:
            plan = self._archives.carry_out(change, options, wanted)
        self.tree.files.forget_below(plan.source)
        return plan

    def unarchive(self, name: str) -> Undone:
        """Take an archive back: the specs as they were, and the change active again.

        `name` is that of the archived folder, or the change's id, which means the newest.
        RefusedError where a spec was edited since, or nothing recorded what the archive did.
        """
        with self._writing:
            return self._archives.undo(name)

    def rebase(self, change: str, *, mine: bool = False) -> Rebased:
        """Rewrite a change's MODIFIED requirements onto the specs of today.

        What conflicts stays as it is and is named; with `mine`, the change's text is from now on
        taken to be written against the specs of today.
        """
        self.check_change(change)
        with self._writing:
            return self._rebases.rebase(change, mine=mine)

    def overlaps(self, change: str | None = None) -> dict[str, list[Claim]]:
        """By change, the requirements that other active changes rewrite as well."""
        return self._overlaps.of(change)

    def init(self, tools: tuple[str, ...] = ()) -> Created:
        """Make a tree; AlreadyInitialisedError where there is anything of one."""
        with self._writing:
            return self._setup.init(tools)

    def init_current(self, language: str | None = None) -> Created:
        """Make a tree of the reference tool's current layout, or what one lacks."""
        with self._writing:
            return self._setup.init_current(language)

    def set_config(self, key: str, value: str) -> None:
        """Write one line of config.yaml; the rest of it stays as it is."""
        with self._writing:
            self._setup.set_config(key, value)

    def update_context(
        self,
        content: str,
        *,
        merge: bool = False,
        section: str | None = None,
        target: Target = "project.md",
    ) -> ContextUpdate:
        """Write project.md: replace it or one of its sections, or with `merge` add to it.

        With the target `config`, write the context in config.yaml instead, which has no sections.
        """
        with self._writing:
            if target == "config":
                return self._setup.update_config(content, merge=merge, section=section)
            return self._setup.update_context(content, merge=merge, section=section)

    # ----- the rest is how

    def _row(self, change: str) -> ChangeRow:
        folder = self.tree.change_path(change)
        try:
            return self._states.of(change, "row", partial(self._readable_row, change, folder))
        except OSError as error:
            problem: OpenSpecError = unreadable(folder, error)
        except OpenSpecError as error:
            problem = error.with_traceback(None)
        return ChangeRow(
            change, Progress(), self.tree.written(folder), (), files_of(folder), problem
        )

    def _readable_row(self, change: str, folder: Path) -> ChangeRow:
        return ChangeRow(
            change,
            self.tree.progress(folder),
            self.tree.modified(folder),
            tuple(self.tree.nested_changes(change)),
            files_of(folder),
        )

    def _spec_row(self, capability: str, path: Path) -> SpecRow:
        try:
            return self._cache.with_others(
                document := self.tree.spec_at(path),
                (),
                ("row", capability),
                lambda: row_of_spec(capability, document),
            )
        except OSError as error:
            return SpecRow(capability, 0, "", unreadable(path, error))
        except OpenSpecError as error:
            return SpecRow(capability, 0, "", error.with_traceback(None))

    def _validate_spec_at(self, capability: str, path: Path) -> Report:
        try:
            return self._spec_report(capability, self.tree.spec_at(path))
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", tuple(file_rules.unusable(error)))

    def _spec_report(self, capability: str, spec: SpecDocument) -> Report:
        return Report(capability, "spec", self._cache.of(spec, spec_findings))

    def _archived_report(self, name: str) -> Report:
        folder = self.tree.archive / name
        documents, unread = self.tree.task_documents(folder)
        found = [
            finding
            for path in unread
            for finding in file_rules.unread_tasks(
                path.relative_to(self.root.path).as_posix()
                if path.is_relative_to(self.root.path)
                else path.name
            )
        ]
        done = sum((document.progress for document in documents.values()), Progress())
        found += file_rules.open_tasks(done)
        return Report(name, "change", tuple(found))

    def _notes(self, change: str) -> Iterator[Note]:
        """What the reference tool does not look at: missing texts, and what an archive loses."""
        try:
            yield from self._notes_on_texts(change)
        except OpenSpecError as error:
            yield Note("N5", "file", str(error))
        for loss in self._archives.losses(change):
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


def _unknown(_: str) -> None:
    """The state of a change where nobody will ask again."""


def _with_claims(report: Report, shared: dict[str, list[Claim]]) -> Report:
    """The report with a note on every requirement that other changes rewrite as well."""
    notes = (
        Note("N6", f"specs/{claim.capability}/spec.md", str(claim))
        for claim in shared.get(report.id, ())
    )
    return report._replace(notes=(*report.notes, *notes))
