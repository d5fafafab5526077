"""Archiving a change: what it would do, and doing it."""

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final, Literal

from ..errors import (
    Changed,
    NotFound,
    OpenSpecError,
    Refused,
    TasksIncomplete,
    Withdrawn,
)
from ..model.delta import DeltaDocument
from ..model.findings import has_errors
from ..model.names import check_change_id
from ..model.spec import SpecDocument
from ..model.tasks import Progress
from ..model.text import pattern, trim
from ..storage.files import exists, is_file
from ..storage.history import content_when_written
from ..storage.metadata import FILE_NAME
from ..storage.transaction import Archive, Write
from ..storage.tree import Tree, unreadable
from ..storage.writing import digest_of
from .change_rules import ChangeRules
from .derived import Merges
from .losses import ACCEPTABLE, Loss, delta_losses, merge_losses
from .merging import Counts, Merged, MergeRefused, rebuilt_spec
from .retiring import unaccounted
from .spec_rules import hidden_findings

Outcome = Literal["create", "update", "unchanged", "retire", "skip"]
_DATED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-")


@dataclass(frozen=True, slots=True)
class Options:
    """How an archive is to go about it."""

    update_specs: bool = True
    force: bool = False
    """Archive although tasks are open."""
    validate: bool = True
    accept: frozenset[str] = frozenset()
    """Losses to accept, by number."""


@dataclass(frozen=True, slots=True)
class SpecPlan:
    """What becomes of one main spec."""

    capability: str
    path: Path
    outcome: Outcome
    counts: Counts
    old: bytes | None
    new: bytes | None

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where nothing changes."""
        if self.outcome in ("unchanged", "skip"):
            return ""
        name = f"openspec/specs/{self.capability}/spec.md"
        return "".join(
            difflib.unified_diff(
                _diff_lines(self.old), _diff_lines(self.new), f"a/{name}", f"b/{name}"
            )
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """All that an archive would do; nothing has been written."""

    change: str
    source: Path
    target: Path
    specs: tuple[SpecPlan, ...]
    totals: Counts | None
    """None where specs are not updated or the change has none."""
    warnings: tuple[str, ...]
    losses: tuple[Loss, ...]
    progress: Progress
    read: dict[Path, str | None]
    """The change's files the plan was made from, by content."""

    @property
    def specs_updated(self) -> bool:
        """Whether any main spec changes."""
        return any(spec.outcome in ("create", "update", "retire") for spec in self.specs)


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
        return _PlannedSpecs(self._tree, self._merges, change, source, options).complete(plan)

    def losses(self, change: str) -> tuple[Loss, ...]:
        """What an archive of the change would lose, as far as can be said without a merge."""
        source = self._tree.change_path(change)
        return _PlannedSpecs(self._tree, self._merges, change, source, Options()).losses()

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
                if spec.outcome in ("create", "update", "retire")
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


class _PlannedSpecs:
    """Works out what becomes of the specs that one change touches."""

    def __init__(
        self, tree: Tree, merges: Merges, change: str, source: Path, options: Options
    ) -> None:
        self._tree = tree
        self._merges = merges
        self._change = change
        self._source = source
        self._options = options
        self._retire = tree.marker_retire(source).declared
        self._losses: list[Loss] = []
        self._warnings: list[str] = []
        self._read: dict[Path, str | None] = {}

    def complete(self, plan: Plan) -> Plan:
        """The plan with its specs; Refused where one cannot or must not be written."""
        metadata = self._source / FILE_NAME
        self._read[metadata] = digest_of(metadata)
        specs = []
        merges: list[tuple[str, Merged, SpecDocument | None]] = []
        for capability, document, current in self._inputs():
            merged = self._merge(capability, document, current)
            merges.append((capability, merged, current))
            self._note_losses(capability, document, merged, current)
            specs.append(self._spec_plan(capability, merged, current))
            self._warnings += merged.warnings
            self._warnings += self._overwritten(capability, document, current)
            self._warnings += self._references(document)
        self._note_missing_deltas()
        for capability, merged, current in merges:
            self._check_rebuilt(capability, merged, current, specs)
        self._check_losses()
        _check_distinct(specs)
        return replace(
            plan,
            specs=tuple(specs),
            totals=sum((spec.counts for spec in specs), Counts()) if specs else None,
            warnings=(*self._warnings, *map(_loss_warning, self._shown_losses())),
            losses=tuple(self._losses),
            read=self._read,
        )

    def losses(self) -> tuple[Loss, ...]:
        """The losses alone, of whatever can be merged."""
        try:
            inputs = list(self._inputs())
        except (OSError, OpenSpecError):
            return ()
        for capability, document, current in inputs:
            try:
                merged = self._merge(capability, document, current)
            except Refused:
                merged = None
            self._note_losses(capability, document, merged, current)
        self._note_missing_deltas()
        return tuple(self._losses)

    def _inputs(self) -> Iterator[tuple[str, DeltaDocument, SpecDocument | None]]:
        try:
            paths = self._tree.delta_paths(self._source)
        except NotADirectoryError as error:
            raise Refused("archive_error", f"{self._source / 'specs'} must be a folder.") from error
        for capability, path in paths.items():
            try:
                document = self._tree.delta_at(path)
            except OSError as error:
                raise unreadable(path, error) from error
            self._read[path] = document.digest
            yield capability, document, self._current(capability)

    def _current(self, capability: str) -> SpecDocument | None:
        try:
            return self._tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(self._tree.spec_path(capability), error) from error

    def _merge(
        self, capability: str, document: DeltaDocument, current: SpecDocument | None
    ) -> Merged:
        merged = self._merges.attempt(
            document, current, capability, self._change, self._options.accept
        )
        if isinstance(merged, MergeRefused):
            raise Refused(
                "archive_spec_update_failed",
                f"{merged}. Nothing was changed.",
                suggestions=["Fix the change's delta and archive again."],
            )
        return merged

    def _note_losses(
        self,
        capability: str,
        document: DeltaDocument,
        merged: Merged | None,
        current: SpecDocument | None,
    ) -> None:
        path = f"specs/{capability}/spec.md"
        self._losses += self._merges.derived.with_others(
            document, (), ("losses", path), lambda: tuple(delta_losses(document, path))
        )
        if merged is None:
            return
        self._losses += merge_losses(merged, current, path)
        if not self._options.validate and not merged.blocks and merged.counts.total:
            self._losses.append(
                Loss("L10", path, f"The spec of {capability} would be left without requirements.")
            )

    def _note_missing_deltas(self) -> None:
        flat = self._flat_deltas()
        if not self._options.validate:
            self._losses += [
                Loss(
                    "L10",
                    f"specs/{name}",
                    "The file is in a place nothing reads; it would not be merged.",
                )
                for name in flat
            ]
        self._losses += [
            Loss(
                "L7",
                path.relative_to(self._source).as_posix(),
                "Folders whose name begins with a dot are not read; this would not be merged.",
            )
            for path in self._tree.hidden_deltas(self._source)
        ]
        if not flat and not self._any_delta() and not self._skips_specs():
            self._losses.append(
                Loss(
                    "L7",
                    "specs/",
                    "The change has no delta, so no spec would learn of it. Write one, or declare "
                    "skip_specs in its .openspec.yaml.",
                )
            )

    def _flat_deltas(self) -> list[str]:
        flat = [name for name, _ in self._tree.unread_deltas(self._source)]
        return ["spec.md", *flat] if is_file(self._source / "specs" / "spec.md") else flat

    def _any_delta(self) -> bool:
        try:
            return bool(self._tree.delta_paths(self._source))
        except NotADirectoryError:
            return False

    def _skips_specs(self) -> bool:
        return self._tree.marker_skip_specs(self._source).declared

    def _check_losses(self) -> None:
        open_losses = [
            loss
            for loss in self._losses
            if loss.refuses and loss.number not in self._options.accept
        ]
        if not open_losses:
            return
        numbers = sorted({loss.number for loss in open_losses})
        raise Refused(
            "archive_would_lose_text",
            f"Archiving '{self._change}' would lose text: "
            + "; ".join(f"{loss.number} {loss.path}: {loss.message}" for loss in open_losses),
            suggestions=[
                f"Fix the change, or accept the loss with accept: {numbers} "
                f"(command: {' '.join(f'--accept {number}' for number in numbers)})."
            ],
            losses=[loss.as_dict() for loss in open_losses],
        )

    def _shown_losses(self) -> list[Loss]:
        """What is warned of: what warns by itself and what was accepted."""
        return [loss for loss in self._losses if loss.number not in ("L5", "L6")]

    def _spec_plan(self, capability: str, merged: Merged, current: SpecDocument | None) -> SpecPlan:
        outcome = self._outcome(merged, current)
        new = merged.written_over(current).encode("utf-8", "surrogatepass")
        path = self._tree.spec_path(capability)
        counts = merged.counts if outcome != "skip" else Counts()
        if outcome == "retire":
            self._warnings.append(
                f"{capability}: retired; its last requirement goes and the spec file with it"
            )
        return SpecPlan(
            capability,
            path.resolve() if exists(path) else path,
            outcome,
            counts,
            None if current is None else current.data,
            None if outcome == "retire" else new,
        )

    def _outcome(self, merged: Merged, current: SpecDocument | None) -> Outcome:
        if self._retire and self._options.validate and _is_emptied(merged):
            if current is None:
                return "skip"
            if merged.counts.removed:
                return "retire"
        if not merged.counts.total:
            return "unchanged"
        return "create" if current is None else "update"

    def _check_rebuilt(
        self,
        capability: str,
        merged: Merged,
        current: SpecDocument | None,
        specs: list[SpecPlan],
    ) -> None:
        """Refuse a spec that would have errors it does not have now."""
        outcome = next(spec.outcome for spec in specs if spec.capability == capability)
        if not self._options.validate or outcome in ("retire", "skip"):
            return
        before = Counter(_errors(current)) if current is not None else Counter[tuple[str, str]]()
        fresh = Counter(_errors(rebuilt_spec(merged))) - before
        if not fresh:
            return
        rule, message = next(iter(fresh))
        raise Refused(
            "archive_spec_validation_failed",
            f"The spec of {capability} would not be valid ({rule}): {message} Nothing was changed.",
            suggestions=[_retirement_hint(capability, merged) or "Fix the change's delta."],
        )

    def _overwritten(
        self, capability: str, document: DeltaDocument, current: SpecDocument | None
    ) -> Iterator[str]:
        """L5: requirements that were edited after the delta that replaces them was written."""
        if current is None or not document.delta.modified:
            return
        delta_path = self._source / "specs" / capability / "spec.md"
        data = content_when_written(delta_path, self._tree.spec_path(capability))
        if data is None:
            return
        then = SpecDocument(data)
        for block in document.delta.modified:
            old, now = then.blocks.get(block.name), current.blocks.get(block.name)
            if old is None or now is None or trim(old.raw) == trim(now.raw):
                continue
            lost = [
                line
                for line in now.raw.split("\n")
                if trim(line) and line not in old.raw.split("\n") and line not in block.raw
            ]
            warning = (
                f'L5 {capability}: requirement "{block.name}" was edited after this delta was '
                "written; the delta replaces that edit"
            )
            loss_path = f"specs/{capability}/spec.md"
            self._losses.append(Loss("L5", loss_path, warning, block.line, tuple(map(trim, lost))))
            yield warning

    def _references(self, document: DeltaDocument) -> Iterator[str]:
        """Other places in the specs that name a requirement by the name it loses."""
        for rename in document.delta.renamed:
            word = pattern(rf"(?<!\w){re.escape(rename.old)}(?!\w)")
            heading = pattern(rf"###[ \t]*Requirement:[ \t]*{re.escape(rename.old)}[ \t#]*\Z")
            for capability, path in self._tree.spec_paths().items():
                text = self._tree.spec_at(path).text
                if rename.old not in text:
                    continue
                for number, line in enumerate(text.splitlines(), 1):
                    if word.search(line) and not heading.match(line):
                        yield (
                            f'specs/{capability}/spec.md:{number} still says "{rename.old}", '
                            f'which is renamed to "{rename.new}"'
                        )


def _is_emptied(merged: Merged) -> bool:
    """Whether a spec has no requirement left, nothing else of worth, and no other error."""
    errors = [rule for rule, _ in _errors(rebuilt_spec(merged))]
    return not merged.blocks and errors == ["S3"] and not unaccounted(merged.parts)


def _retirement_hint(capability: str, merged: Merged) -> str | None:
    if merged.blocks or not merged.counts.removed:
        return None
    if lines := unaccounted(merged.parts):
        shown = "; ".join(line[:120] for line in lines[:3])
        return (
            f"The last requirement of {capability} goes, yet the spec holds more than that: "
            f"{shown}. Move it into the Purpose, or delete the spec by hand."
        )
    return (
        f"The last requirement of {capability} goes. To retire the spec, say "
        "'retire_capabilities: true' beside 'schema:' in the change's .openspec.yaml."
    )


def _errors(spec: SpecDocument) -> list[tuple[str, str]]:
    """The errors of a spec in a form that does not depend on their place."""
    return [(f.rule, f.message) for f in hidden_findings(spec) if f.level == "ERROR"]


def _check_distinct(specs: list[SpecPlan]) -> None:
    owners: dict[Path, str] = {}
    for spec in specs:
        real = spec.path.resolve()
        if real in owners:
            raise Refused(
                "archive_error",
                f"'{owners[real]}' and '{spec.capability}' are the same file, {real}.",
                suggestions=["Put both deltas into one, or drop the symbolic link."],
            )
        owners[real] = spec.capability


def check_accepted(numbers: Collection[str]) -> frozenset[str]:
    """The losses to accept, or an error naming those that can be."""
    if unknown := sorted(set(numbers) - set(ACCEPTABLE)):
        raise OpenSpecError(
            f"accept: {', '.join(unknown)} is not one of {', '.join(ACCEPTABLE)}.",
            suggestions=["Name the losses as the refusal does."],
        )
    return frozenset(numbers)


def _loss_warning(loss: Loss) -> str:
    place = f"{loss.path}:{loss.line}" if loss.line else loss.path
    return f"{loss.number} {place}: {loss.message}"


def _diff_lines(data: bytes | None) -> list[str]:
    if data is None:
        return []
    lines = data.decode("utf-8", errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines
