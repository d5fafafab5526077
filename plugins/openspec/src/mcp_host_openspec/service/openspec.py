"""Everything one can do with an OpenSpec tree.

What works on it is imported at the first need: the first call of a session waits for this module,
and may be answered from what was kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import (
    AmbiguousError,
    BadFileError,
    NotFoundError,
    OutsideTreeError,
)
from ..model.collation import collation_key
from ..model.findings import ItemType, Report
from ..model.names import check_capability, check_change_id, nearest
from ..model.spec import SpecDocument
from ..model.text import code_unit_key
from ..storage.files import Files, is_folder
from ..storage.kept import Kept
from ..storage.roots import Root
from ..storage.schemas import Schema
from ..storage.transaction import Archive
from ..storage.tree import Tree, unreadable
from .all_reports import AllReports, Kind
from .kept_reports import KeptReports

if TYPE_CHECKING:
    from .archive_plan import Options, Plan
    from .overlaps import Claim
    from .parts import Parts
    from .rebases import Rebased
    from .record_keeper import Undone
    from .setup import ContextUpdate, Created, Target
    from .views import ChangeRow, ChangeView, SpecRow


class OpenSpec:
    """One project's OpenSpec tree: reading, validating, archiving, setting up.

    Safe to use from several threads. Whatever was read is kept until its file changes; what was
    worked out from several files too, unless the tree is looked at `once`. `kept` is where reports
    on the whole tree lie for other processes.

    Invariants: every part reads the one `tree`, and none is exchanged. Each method that changes the
    tree holds `_writing`, but for `recover`, which nothing else may run beside.
    """

    def __init__(
        self,
        root: Root,
        *,
        max_file_bytes: int = 16 * 1024 * 1024,
        user_schemas: Path | None = None,
        today: Callable[[], date] = date.today,
        once: bool = False,
        kept: Kept | None = None,
    ) -> None:
        self.root: Final = root
        self.tree: Final = Tree(root, Files(max_file_bytes), user_schemas)
        self._user_schemas = user_schemas
        self._today = today
        self._kept = kept
        self._once = once
        self._all_reports = AllReports(
            self.tree, None if kept is None else KeptReports(self.tree, kept), once=once
        )
        self._assembling = threading.Lock()
        self._writing = threading.Lock()
        self._assembled: Parts | None = None

    def like(self, root: Root) -> OpenSpec:
        """Another tree with the same limits."""
        return OpenSpec(
            root,
            max_file_bytes=self.tree.files.max_bytes,
            user_schemas=self._user_schemas,
            today=self._today,
            kept=self._kept,
        )

    @property
    def _parts(self) -> Parts:
        """What answers; the first question of a session may be answered without."""
        with self._assembling:
            if self._assembled is None:
                from .parts import Parts

                self._assembled = Parts(self.tree, self._today, once=self._once)
            return self._assembled

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
        rows = [self._parts.listing.change(change) for change in self.tree.change_ids(hidden=True)]
        if recent_first:
            return sorted(rows, key=lambda row: row.modified, reverse=True)
        return sorted(rows, key=lambda row: collation_key(row.id))

    def list_specs(self) -> list[SpecRow]:
        """The main specs with how many requirements each has, by name."""
        self.tree.check_there()
        paths, barred = self.tree.find_specs()
        rows = [self._parts.listing.spec(capability, path) for capability, path in paths.items()]
        from .views import SpecRow  # the first question of a session is seldom this one

        rows += [SpecRow(capability, 0, "", problem) for capability, problem in barred.items()]
        return sorted(rows, key=lambda row: collation_key(row.id))

    def archived(self) -> list[str]:
        """The archived changes, newest first; those without a date last."""
        dated = [name for name in self.tree.archived_ids() if name[:1].isdigit()]
        others = [name for name in self.tree.archived_ids() if not name[:1].isdigit()]
        newest_first = sorted(dated, key=lambda name: name[:10], reverse=True)
        return newest_first + others

    def change(self, change: str, *, diffs: bool = False) -> ChangeView:
        """Everything about a change; NotFoundError where there is none."""
        from .views import view_change  # as above

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

    def instructions(self) -> str:
        """AGENTS.md, or the same in our words where there is none."""
        return self._parts.setup.instructions()

    def project(self) -> str:
        """project.md, else the configuration's context, else an empty template."""
        return self._parts.setup.project()

    def config_context(self) -> str | None:
        """The configuration's context, where project.md stands beside it."""
        return self._parts.setup.config_context()

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
        return self._parts.validation.change(change, notes=notes)

    def validate_spec(self, capability: str) -> Report:
        """All findings about one spec."""
        return self._parts.validation.spec(capability)

    def validate_all(self, kind: Kind = "all", *, notes: bool = True) -> list[Report]:
        """All findings about all changes, all specs or both, by name.

        They are worked out once for a state of the tree.
        """
        return self._all_reports.of(
            kind, notes=notes, work_out=lambda: self._parts.validation.all(kind, notes=notes)
        )

    def validate_archived(self) -> list[Report]:
        """Which archived changes have open tasks."""
        return self._parts.validation.archived()

    def plan_archive(self, change: str, options: Options) -> Plan:
        """What archiving a change would do."""
        return self._parts.archives.plan(change, options)

    def archive(
        self, change: str, options: Options, *, wanted: Callable[[], bool] = lambda: True
    ) -> Plan:
        """Archive a change: its specs merged and its folder moved, or nothing at all.

        `wanted` is asked last before anything is written: WithdrawnError where it says no.
        """
        with self._writing:
            plan = self._parts.archives.carry_out(change, options, wanted)
        self.tree.files.forget_below(plan.source)
        return plan

    def unarchive(self, name: str) -> Undone:
        """Take an archive back: the specs as they were, and the change active again.

        `name` is that of the archived folder, or the change's id, which means the newest.
        RefusedError where a spec was edited since, or nothing recorded what the archive did.
        """
        with self._writing:
            return self._parts.archives.undo(name)

    def rebase(self, change: str, *, mine: bool = False) -> Rebased:
        """Rewrite a change's MODIFIED requirements onto the specs of today.

        What conflicts stays as it is and is named; with `mine`, the change's text is from now on
        taken to be written against the specs of today.
        """
        self.check_change(change)
        with self._writing:
            return self._parts.rebases.rebase(change, mine=mine)

    def overlaps(self, change: str | None = None) -> dict[str, list[Claim]]:
        """By change, the requirements that other active changes rewrite as well."""
        return self._parts.overlaps.of(change)

    def init(self, tools: tuple[str, ...] = ()) -> Created:
        """Make a tree; AlreadyInitialisedError where there is anything of one."""
        with self._writing:
            return self._parts.setup.init(tools)

    def init_current(self, language: str | None = None) -> Created:
        """Make a tree of the reference tool's current layout, or what one lacks."""
        with self._writing:
            return self._parts.setup.init_current(language)

    def set_config(self, key: str, value: str) -> None:
        """Write one line of config.yaml; the rest of it stays as it is."""
        with self._writing:
            self._parts.setup.set_config(key, value)

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
                return self._parts.setup.update_config(content, merge=merge, section=section)
            return self._parts.setup.update_context(content, merge=merge, section=section)
