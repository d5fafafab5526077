"""The rules a change is validated by: C1 to C21."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import BadFile, OpenSpecError, OutsideTree
from ..model.delta import DeltaDocument
from ..model.findings import Finding
from ..model.spec import SpecDocument
from ..model.text import BOL, S, pattern
from ..storage.files import is_file
from ..storage.metadata import FILE_NAME
from ..storage.tree import Tree, has_files
from .delta_rules import findings_in, lost_scenarios
from .derived import Merges
from .merging import MergeRefused
from .task_rules import missing_boxes, numbering

_DELTA_HEADING: Final = pattern(
    rf"{BOL}##{S}+(?:ADDED|MODIFIED|REMOVED|RENAMED){S}+Requirements", ignore_case=True
)


class ChangeRules:
    """Applies the rules to the changes of one tree."""

    def __init__(self, tree: Tree, merges: Merges) -> None:
        self._tree = tree
        self._merges = merges
        self._derived = merges.derived

    def findings(self, change: str) -> tuple[Finding, ...]:
        """All findings about a change, in the reference tool's order."""
        if nested := self._tree.nested_changes(change):
            return (_wrapping(change, nested),)
        folder = self._tree.change_path(change)
        return (*self.delta_findings(folder, against_specs=True), *self._task_findings(folder))

    def delta_findings(self, change: Path, *, against_specs: bool) -> tuple[Finding, ...]:
        """The findings about a change's deltas; those that need the main specs if asked for."""
        found = list(_root_spec(change))
        documents = self._deltas(change)
        for capability, document in documents.items():
            path = f"{capability}/spec.md"
            found += self._of_file(document, path)
            if against_specs:
                found += self._scenario_loss(capability, document)
        if against_specs:
            found += self._archive_blockers(change, documents, found)
        unread = self._tree.unread_deltas(change)
        found += [_unread(path, home) for path, home in unread]
        found += _empty_sections(documents)
        found += self._marker_findings(change)
        if not any(document.delta.size for document in documents.values()) and not unread:
            found += self._no_deltas(change)
        return tuple(found)

    def has_delta_specs(self, change: Path) -> bool:
        """Whether there is anything for which an archive checks the deltas first."""
        if is_file(change / "specs" / "spec.md") or self._tree.unread_deltas(change):
            return True
        marker = self._tree.marker_skip_specs(change)
        if marker.problem or (marker.declared and _any_file(change)):
            return True
        return any(_DELTA_HEADING.search(d.text) for d in self._deltas(change).values())

    def _deltas(self, change: Path) -> dict[str, DeltaDocument]:
        """The delta files that can be read; a file where the folder should be counts as none."""
        documents = {}
        try:
            paths = self._tree.delta_paths(change)
        except NotADirectoryError:
            return {}
        for capability, path in paths.items():
            try:
                documents[capability] = self._tree.delta_at(path)
            except OSError:
                continue
        return documents

    def _of_file(self, document: DeltaDocument, path: str) -> tuple[Finding, ...]:
        return self._derived.with_others(
            document, (), ("own", path), lambda: tuple(findings_in(document.delta, path))
        )

    def _scenario_loss(self, capability: str, document: DeltaDocument) -> tuple[Finding, ...]:
        if not document.delta.modified:
            return ()
        path = f"{capability}/spec.md"
        try:
            spec = self._tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OutsideTree:
            if self._tree.is_linked_out(capability):
                return ()
            raise
        except (OSError, OpenSpecError) as error:
            return (
                Finding(
                    "C9", "ERROR", path, f"The main spec of {capability} cannot be read: {error}"
                ),
            )
        return self._derived.with_others(
            document,
            (spec,),
            ("C9", path),
            lambda: tuple(lost_scenarios(document.delta, spec, path)),
        )

    def _archive_blockers(
        self, change: Path, documents: dict[str, DeltaDocument], so_far: list[Finding]
    ) -> Iterator[Finding]:
        reported = {finding.path for finding in so_far if finding.level == "ERROR"}
        for capability, document in documents.items():
            path = f"{capability}/spec.md"
            if path in reported or not document.delta.size:
                continue
            try:
                spec = self._spec(capability)
            except (OSError, BadFile):
                continue
            except OutsideTree as error:
                if self._tree.is_linked_out(capability):
                    continue
                yield Finding("C11", "INFO", "specs", f"The merge cannot be tried: {error}")
                return
            outcome = self._merges.attempt(document, spec, capability, change.name)
            if isinstance(outcome, MergeRefused):
                yield Finding("C11", "INFO", path, f"An archive would refuse this: {outcome}")

    def _spec(self, capability: str) -> SpecDocument | None:
        try:
            return self._tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _marker_findings(self, change: Path) -> Iterator[Finding]:
        marker = self._tree.marker_skip_specs(change)
        if marker.problem:
            yield Finding(
                "C15",
                "ERROR",
                FILE_NAME,
                f"skip_specs does not count because {FILE_NAME} is not valid: {marker.problem}.",
            )
        if marker.declared and _any_file(change):
            yield Finding(
                "C16",
                "ERROR",
                "file",
                f"{FILE_NAME} says skip_specs, yet there are files under specs/; drop one of them.",
            )

    def _no_deltas(self, change: Path) -> Iterator[Finding]:
        if is_file(change / "specs" / "spec.md"):
            return
        if not self._tree.marker_skip_specs(change).declared:
            yield Finding(
                "C17",
                "ERROR",
                "file",
                "The change has no delta. Write specs/<capability>/spec.md with requirements "
                "under '## ADDED Requirements' and the like, each with a '#### Scenario:'. A "
                f"change that alters no spec says 'skip_specs: true' in its {FILE_NAME}.",
            )
        elif not _any_file(change):
            yield Finding(
                "C18", "INFO", "file", f"{FILE_NAME} says skip_specs: no deltas are expected."
            )

    def _task_findings(self, change: Path) -> Iterator[Finding]:
        try:
            documents, unreadable = self._tree.task_documents(change)
        except OutsideTree:
            return
        if not unreadable and documents and self._tree.tracked_tasks(change):
            yield from missing_boxes(documents)
        if self._tree.numbers_tasks(change):
            yield from numbering(documents)


def _wrapping(change: str, nested: list[str]) -> Finding:
    listed = ", ".join(f"changes/{name}/" for name in nested)
    return Finding(
        "C21",
        "ERROR",
        "file",
        f"'{change}' is no change but a folder around {listed}. Changes stand directly under "
        f"changes/: name it '{nested[0].replace('/', '-')}', for example.",
    )


def _root_spec(change: Path) -> Iterator[Finding]:
    if is_file(change / "specs" / "spec.md"):
        yield Finding(
            "C1",
            "ERROR",
            "spec.md",
            "specs/spec.md is never applied: a delta stands in specs/<capability>/spec.md.",
        )


def _unread(path: str, home: str) -> Finding:
    return Finding(
        "C12",
        "ERROR",
        path,
        f"specs/{path} holds delta sections but is never applied; move them to specs/{home}.",
    )


def _empty_sections(documents: dict[str, DeltaDocument]) -> Iterator[Finding]:
    empty = {name: d.delta for name, d in documents.items() if not d.delta.size}
    for capability, delta in empty.items():
        if delta.present:
            sections = " and ".join(f"## {operation} Requirements" for operation in delta.present)
            yield Finding(
                "C13",
                "ERROR",
                f"{capability}/spec.md",
                f"{sections} hold no '### Requirement: <name>'.",
            )
    for capability, delta in empty.items():
        if not delta.present:
            yield Finding(
                "C14",
                "ERROR",
                f"{capability}/spec.md",
                "The file has no delta section, such as '## ADDED Requirements'. Notes belong "
                "outside specs/.",
            )


def _any_file(change: Path) -> bool:
    """Whether the change has files under specs/; what cannot be looked at counts as one."""
    try:
        return has_files(change / "specs")
    except OSError:
        return True
