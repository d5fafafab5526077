"""Archiving a change: what it would do, and doing it."""

import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Final

from ..errors import Changed, NotFound, Refused, TasksIncomplete, Withdrawn
from ..model.findings import has_errors
from ..model.names import check_change_id
from ..storage.metadata import FILE_NAME
from ..storage.transaction import Archive, Write
from ..storage.tree import Tree
from ..storage.writing import digest_of
from .archive_plan import WRITING, Options, Plan
from .change_rules import ChangeRules
from .derived import Merges
from .losses import Loss
from .spec_plans import SpecPlans

_DATED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-")


class Archiving:
    """Plans and carries out the archives of one tree."""

    def __init__(
        self,
        tree: Tree,
        rules: ChangeRules,
        merges: Merges,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._merges = merges
        self._today = today

    def plan(self, change: str, options: Options) -> Plan:
        """Work out an archive; Refused (or another error) where it would not go ahead."""
        source = self._source(change)
        if options.validate:
            self._check_valid(change, source)
        progress = self._tree.progress(source)
        if progress.remaining and not options.force:
            raise TasksIncomplete(
                "archive_tasks_incomplete",
                f"{progress.remaining} of {progress.total} tasks of '{change}' are not done.",
                suggestions=["Finish them, or archive with force (command: --yes)."],
            )
        target = self._target(change)
        plan = Plan(change, source, target, (), None, (), (), progress, {})
        if not options.update_specs:
            return plan
        return SpecPlans(self._tree, self._merges, change, source, options).complete(plan)

    def losses(self, change: str) -> tuple[Loss, ...]:
        """What an archive of the change would lose, as far as can be said without a merge."""
        source = self._tree.change_path(change)
        return SpecPlans(self._tree, self._merges, change, source, Options()).losses()

    def carry_out(self, change: str, options: Options, wanted: Callable[[], bool]) -> Plan:
        """Archive a change. Either all of it is done or nothing is.

        `wanted` is asked last before anything is written: Withdrawn where it says no.
        """
        plan = self.plan(change, options)
        archive = Archive(self._tree.root.path)

        def writes() -> list[Write]:
            # Under the lock now: whatever was edited since the plan was made stops the archive.
            self._target(change)
            if options.update_specs:
                self._check_same_inputs(plan)
            if not wanted():
                raise Withdrawn(f"The archive of '{change}' was called off; nothing was changed.")
            return [
                Write(spec.path, spec.old, spec.new)
                for spec in plan.specs
                if spec.outcome in WRITING
            ]

        archive.run(plan.source, plan.target, writes)
        return plan

    def _source(self, change: str) -> Path:
        self._tree.check_there()
        for allowed, managed in (
            (self._tree.root.path, self._tree.specs),
            (self._tree.root.path, self._tree.changes),
            (self._tree.changes, self._tree.archive),
        ):
            if not managed.resolve().is_relative_to(allowed.resolve()):
                raise Refused(
                    "archive_path_outside_root", f"{managed} leads outside the OpenSpec root."
                )
        check_change_id(change)
        source = self._tree.change_path(change)
        if source.is_symlink():
            raise Refused(
                "archive_change_symlink",
                f"The change '{change}' is a symbolic link.",
                suggestions=["Replace it by the real folder."],
            )
        if not source.is_dir():
            active = self._tree.change_ids(hidden=True)
            raise NotFound("Change", change, active)
        if nested := self._tree.nested_changes(change):
            raise Refused(
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
            raise Refused(
                "archive_validation_failed",
                f"'{change}' is not valid: {errors[0].message}",
                suggestions=[f"Fix what validating '{change}' shows."],
                findings=[{"rule": e.rule, "path": e.path, "message": e.message} for e in errors],
            )

    def _check_same_inputs(self, plan: Plan) -> None:
        """Raise Changed where the change's own files are not those the plan was made from."""
        present = {*self._tree.delta_paths(plan.source).values(), plan.source / FILE_NAME}
        for path in sorted(present | set(plan.read)):
            if digest_of(path) != plan.read.get(path):
                raise Changed(
                    f"{path} was edited while the archive was under way; nothing was changed.",
                    suggestions=["Look at it again, then repeat the archive."],
                    path=str(path),
                )

    def _target(self, change: str) -> Path:
        name = change if _DATED.match(change) else f"{self._today().isoformat()}-{change}"
        target = self._tree.archive / name
        if os.path.lexists(target):
            raise Refused(
                "archive_target_exists",
                f"The archive has '{name}' already.",
                suggestions=["Rename the change, or the archived one."],
            )
        return target
