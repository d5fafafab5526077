"""Archives a change: what it would do, and doing it."""

import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Final

from ..errors import (
    BadFileError,
    ChangedError,
    LockedError,
    NotFoundError,
    RefusedError,
    TasksIncompleteError,
    WithdrawnError,
)
from ..model.findings import has_errors
from ..model.names import check_change_id
from ..storage.lock import is_held
from ..storage.metadata import FILE_NAME
from ..storage.transaction import Archive, Write
from ..storage.tree import Tree
from ..storage.writes import digest_of
from .archive_plan import WRITING, Options, Plan
from .bases import Bases
from .cache import Merges
from .losses import Loss
from .record_keeper import RecordKeeper, Undone
from .rules.change import ChangeRules
from .spec_plans import SpecPlans

_DATE: Final = len("2026-01-31-")
_DATED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-")


class Archives:
    """Plans and carries out the archives of one tree."""

    def __init__(
        self,
        tree: Tree,
        rules: ChangeRules,
        merges: Merges,
        bases: Bases,
        keeper: RecordKeeper,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._merges = merges
        self._bases = bases
        self._keeper = keeper
        self._today = today

    def plan(self, change: str, options: Options) -> Plan:
        """Work out an archive; RefusedError (or another error) where it would not go ahead."""
        source = self._source(change)
        if options.validate:
            self._check_valid(change, source)
        progress = self._tree.progress(source)
        if progress.remaining and not options.force:
            raise TasksIncompleteError(
                "archive_tasks_incomplete",
                f"{progress.remaining} of {progress.total} tasks of '{change}' are not done.",
                suggestions=["Finish them, or archive with force (command: --yes)."],
            )
        target = self._target(change)
        plan = Plan(change, source, target, (), None, (), (), progress, {})
        if not options.update_specs:
            return plan
        return self._plans(change, source, options).complete(plan)

    def losses(self, change: str) -> tuple[Loss, ...]:
        """What an archive of the change would lose, as far as can be said without a merge."""
        source = self._tree.change_path(change)
        return self._plans(change, source, Options()).losses()

    def carry_out(self, change: str, options: Options, wanted: Callable[[], bool]) -> Plan:
        """Archive a change. Either all of it is done or nothing is.

        `wanted` is asked last before anything is written: WithdrawnError where it says no.
        """
        try:
            plan = self.plan(change, options)
        except (OSError, BadFileError):
            self._check_undisturbed(change)
            raise
        archive = Archive(self._tree.root)

        def writes() -> list[Write]:
            # Under the lock now: whatever was edited since the plan was made stops the archive.
            self._source(change)
            self._target(change)
            if options.update_specs:
                self._check_same_inputs(plan)
            if not wanted():
                raise WithdrawnError(
                    f"The archive of '{change}' was called off; nothing was changed."
                )
            return [
                *(
                    Write(spec.path, spec.old, spec.new)
                    for spec in plan.specs
                    if spec.outcome in WRITING
                ),
                *self._keeper.of_archive(plan),
            ]

        archive.run(plan.source, plan.target, writes)
        return plan

    def _check_undisturbed(self, change: str) -> None:
        """Raise what another archive is the reason of: the change is gone, or it is at work."""
        self._source(change)
        if is_held(self._tree.archive):
            raise LockedError(
                f"Another archive is running, and '{change}' cannot be read meanwhile.",
                suggestions=["Wait for it, then look at the change again."],
            )

    def undo(self, name: str) -> Undone:
        """Take an archive back: its specs as they were before, and the change active again."""
        self._tree.check_there()
        archived, record = self._keeper.find(name)
        source, target = self._tree.archive / archived, self._tree.change_path(record.change)
        if os.path.lexists(target):
            raise RefusedError(
                "unarchive_target_exists",
                f"There is an active change '{record.change}' already.",
                suggestions=["Rename it, or archive it first."],
            )
        writes = self._keeper.of_undoing(archived, record)
        Archive(self._tree.root).run(source, target, lambda: writes)
        return Undone(record.change, archived, tuple(spec.capability for spec in record.specs))

    def _plans(self, change: str, source: Path, options: Options) -> SpecPlans:
        return SpecPlans(self._tree, self._merges, self._bases, change, source, options)

    def _source(self, change: str) -> Path:
        self._tree.check_there()
        for allowed, managed in (
            (self._tree.root.path, self._tree.specs),
            (self._tree.root.path, self._tree.changes),
            (self._tree.changes, self._tree.archive),
        ):
            if not managed.resolve().is_relative_to(allowed.resolve()):
                raise RefusedError(
                    "archive_path_outside_root", f"{managed} leads outside the OpenSpec root."
                )
        check_change_id(change)
        source = self._tree.change_path(change)
        if source.is_symlink():
            raise RefusedError(
                "archive_change_symlink",
                f"The change '{change}' is a symbolic link.",
                suggestions=["Replace it by the real folder."],
            )
        if not source.is_dir():
            missing = NotFoundError("Change", change, self._tree.change_ids(hidden=True))
            if done := [name for name in self._tree.archived_ids() if name[_DATE:] == change]:
                missing.suggestions.insert(0, f"It was archived as {max(done)}.")
            raise missing
        if nested := self._tree.nested_changes(change):
            raise RefusedError(
                "archive_change_is_namespace_folder",
                f"'{change}' is no change but a folder around changes: {', '.join(nested)}.",
                suggestions=["Move each of them directly under changes/."],
            )
        return source

    def _check_valid(self, change: str, source: Path) -> None:
        if not self._rules.has_delta_specs(source):
            return
        found = self._rules.delta_findings(source, against_specs=False)
        if has_errors(found):
            errors = [finding for finding in found if finding.level == "ERROR"]
            raise RefusedError(
                "archive_validation_failed",
                f"'{change}' is not valid: {errors[0].message}",
                suggestions=[f"Fix what validating '{change}' shows."],
                findings=[{"rule": e.rule, "path": e.path, "message": e.message} for e in errors],
            )

    def _check_same_inputs(self, plan: Plan) -> None:
        """Raise ChangedError where the change's own files are not those the plan was made from."""
        present = {*self._tree.delta_paths(plan.source).values(), plan.source / FILE_NAME}
        for path in sorted(present | set(plan.read)):
            if digest_of(path) != plan.read.get(path):
                raise ChangedError(
                    f"{path} was edited while the archive was under way; nothing was changed.",
                    suggestions=["Look at it again, then repeat the archive."],
                    path=str(path),
                )

    def _target(self, change: str) -> Path:
        name = change if _DATED.match(change) else f"{self._today().isoformat()}-{change}"
        target = self._tree.archive / name
        if os.path.lexists(target):
            raise RefusedError(
                "archive_target_exists",
                f"The archive has '{name}' already.",
                suggestions=["Rename the change, or the archived one."],
            )
        return target
