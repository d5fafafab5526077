"""What is found in a tree: by item, for all items at once, and in the archive."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..errors import OpenSpecError
from ..model.collation import collation_key
from ..model.findings import Note, Report
from ..model.spec import SpecDocument
from ..model.tasks import Progress
from ..model.text import code_unit_key
from ..storage.tree import Tree
from .all_reports import Kind
from .archives import Archives
from .bases import Bases
from .cache import DocumentCache, StateCache
from .overlaps import Claim, Overlaps
from .rules import files as file_rules
from .rules.change import ChangeRules
from .rules.spec import spec_findings
from .views import files_of


class Validation:
    """Finds what is wrong in a tree, and notes what its reference tool does not look at.

    Reports of changes are kept as long as the state of the change, and those of specs as long as
    their document.
    """

    def __init__(
        self,
        tree: Tree,
        rules: ChangeRules,
        archives: Archives,
        bases: Bases,
        overlaps: Overlaps,
        cache: DocumentCache,
        states: StateCache,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._archives = archives
        self._bases = bases
        self._overlaps = overlaps
        self._cache = cache
        self._states = states

    def change(self, change: str, *, notes: bool = True) -> Report:
        """All findings about one change."""
        report = self._validated(change, self._tree.history.mark(), notes=notes)
        return _with_claims(report, self._overlaps.of(change)) if notes else report

    def _validated(self, change: str, mark: object, *, notes: bool) -> Report:
        what = "report with notes" if notes else "report"
        work_out = partial(self._findings, change, notes=notes)
        return self._states.of(change, what, work_out, mark)

    def _findings(self, change: str, *, notes: bool) -> Report:
        try:
            findings = self._rules.findings(change)
        except (OSError, OpenSpecError) as error:
            return Report(change, "change", tuple(file_rules.unusable(error)))
        return Report(change, "change", findings, tuple(self._notes(change)) if notes else ())

    def spec(self, capability: str) -> Report:
        """All findings about one spec."""
        try:
            spec = self._tree.spec(capability)
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", tuple(file_rules.unusable(error)))
        return self._spec_report(capability, spec)

    def all(self, kind: Kind, *, notes: bool) -> list[Report]:
        """All findings about all changes, all specs or both, by name."""
        reports = []
        if kind in ("all", "change"):
            changes = sorted(self._tree.change_ids(), key=code_unit_key)
            self._states.keep_only(changes)
            mark = self._tree.history.mark()
            shared = self._overlaps.of(None) if notes else {}
            if notes:
                self._bases.prepare(changes)
            for change in changes:
                report = self._validated(change, mark, notes=notes)
                reports.append(_with_claims(report, shared))
        if kind in ("all", "spec"):
            paths, barred = self._tree.find_specs()
            for capability, path in paths.items():
                reports.append(self._spec_at(capability, path))
            for capability, problem in barred.items():
                reports.append(Report(capability, "spec", tuple(file_rules.unusable(problem))))
        return sorted(reports, key=lambda report: collation_key(report.id))

    def archived(self) -> list[Report]:
        """Which archived changes have open tasks."""
        return [self._archived_report(name) for name in self._tree.archived_ids()]

    def _spec_at(self, capability: str, path: Path) -> Report:
        try:
            return self._spec_report(capability, self._tree.spec_at(path))
        except (OSError, OpenSpecError) as error:
            return Report(capability, "spec", tuple(file_rules.unusable(error)))

    def _spec_report(self, capability: str, spec: SpecDocument) -> Report:
        return Report(capability, "spec", self._cache.of(spec, spec_findings))

    def _archived_report(self, name: str) -> Report:
        folder = self._tree.archive / name
        documents, unread = self._tree.task_documents(folder)
        found = [
            finding
            for path in unread
            for finding in file_rules.unread_tasks(
                path.relative_to(self._tree.root.path).as_posix()
                if path.is_relative_to(self._tree.root.path)
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
        folder = self._tree.change_path(change)
        files = files_of(folder)
        if "proposal.md" not in files:
            yield Note("N1", "proposal.md", "The change has no proposal.md.")
        elif (proposal := self._tree.proposal(folder)) is not None:
            if not proposal.why:
                yield Note("N2", "proposal.md", "The proposal has no '## Why'.")
            if not proposal.what_changes:
                yield Note("N3", "proposal.md", "The proposal has no '## What Changes'.")
        if "tasks.md" not in files and not self._tree.tracked_tasks(folder):
            yield Note("N4", "tasks.md", "The change has no tasks.md.")


def _with_claims(report: Report, shared: dict[str, list[Claim]]) -> Report:
    """The report with a note on every requirement that other changes rewrite as well."""
    notes = (
        Note("N6", f"specs/{claim.capability}/spec.md", str(claim))
        for claim in shared.get(report.id, ())
    )
    return report._replace(notes=(*report.notes, *notes))
