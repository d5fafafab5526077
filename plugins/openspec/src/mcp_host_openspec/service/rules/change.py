"""The rules a change is validated by: C1 to C21."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import BadFileError, MergeError, OpenSpecError, OutsideTreeError
from ...model.delta import Delta, DeltaDocument
from ...model.findings import Finding
from ...model.spec import SpecDocument
from ...model.text import BOL, S, pattern
from ...storage.files import is_file
from ...storage.metadata import FILE_NAME, Marker
from ...storage.tree import Tree, has_files
from ..cache import Merges
from .delta import Replacement, findings_in, lost_scenarios
from .registry import Flaw, rule
from .tasks import missing_boxes, numbering

_DELTA_HEADING: Final = pattern(
    rf"{BOL}##{S}+(?:ADDED|MODIFIED|REMOVED|RENAMED){S}+Requirements", ignore_case=True
)


class Declaration(NamedTuple):
    """What a change declares with `skip_specs`, beside the files it has."""

    folder: Path
    marker: Marker


class Obstacle(NamedTuple):
    """Why a merge of one delta file would be refused, or could not be tried."""

    path: str
    message: str


@rule("C1", "ERROR", "a delta at the root of specs/, which nothing reads")
def delta_at_root(folder: Path) -> Iterator[Flaw]:
    if is_file(folder / "specs" / "spec.md"):
        yield Flaw(
            "spec.md",
            "specs/spec.md is never applied: a delta stands in specs/<capability>/spec.md.",
        )


@rule("C11", "INFO", "an archive would refuse the delta, and why")
def merge_refused(obstacle: Obstacle) -> Iterator[Flaw]:
    yield Flaw(obstacle.path, obstacle.message)


@rule("C12", "ERROR", "a delta in a file that nothing reads")
def unread_delta(unread: tuple[str, str]) -> Iterator[Flaw]:
    path, home = unread
    yield Flaw(
        path,
        f"specs/{path} holds delta sections but is never applied; move them to specs/{home}.",
    )


@rule("C13", "ERROR", "delta sections without an entry")
def empty_sections(deltas: dict[str, Delta]) -> Iterator[Flaw]:
    for capability, delta in deltas.items():
        if delta.present and not delta.size:
            sections = " and ".join(f"## {operation} Requirements" for operation in delta.present)
            yield Flaw(
                f"{capability}/spec.md",
                f"{sections} hold no '### Requirement: <name>'.",
            )


@rule("C14", "ERROR", "a delta file without a delta section")
def no_section(deltas: dict[str, Delta]) -> Iterator[Flaw]:
    for capability, delta in deltas.items():
        if not delta.present and not delta.size:
            yield Flaw(
                f"{capability}/spec.md",
                "The file has no delta section, such as '## ADDED Requirements'. Notes belong "
                "outside specs/.",
            )


@rule("C15", "ERROR", "`skip_specs` that does not count")
def marker_invalid(declared: Declaration) -> Iterator[Flaw]:
    if declared.marker.problem:
        yield Flaw(
            FILE_NAME,
            f"skip_specs does not count because {FILE_NAME} is not valid: "
            f"{declared.marker.problem}.",
        )


@rule("C16", "ERROR", "`skip_specs` beside files under specs/")
def marker_contradicted(declared: Declaration) -> Iterator[Flaw]:
    if declared.marker.declared and _any_file(declared.folder):
        yield Flaw(
            "file",
            f"{FILE_NAME} says skip_specs, yet there are files under specs/; drop one of them.",
        )


@rule("C17", "ERROR", "no delta at all")
def no_delta(declared: Declaration) -> Iterator[Flaw]:
    if not declared.marker.declared:
        yield Flaw(
            "file",
            "The change has no delta. Write specs/<capability>/spec.md with requirements "
            "under '## ADDED Requirements' and the like, each with a '#### Scenario:'. A "
            f"change that alters no spec says 'skip_specs: true' in its {FILE_NAME}.",
        )


@rule("C18", "INFO", "`skip_specs` holds: no delta is expected")
def marker_holds(declared: Declaration) -> Iterator[Flaw]:
    if declared.marker.declared and not _any_file(declared.folder):
        yield Flaw("file", f"{FILE_NAME} says skip_specs: no deltas are expected.")


@rule("C21", "ERROR", "a folder around changes, no change itself")
def wrapping_folder(wrapping: tuple[str, list[str]]) -> Iterator[Flaw]:
    change, nested = wrapping
    listed = ", ".join(f"changes/{name}/" for name in nested)
    yield Flaw(
        "file",
        f"'{change}' is no change but a folder around {listed}. Changes stand directly under "
        f"changes/: name it '{nested[0].replace('/', '-')}', for example.",
    )


RULES: Final = (
    delta_at_root,
    merge_refused,
    unread_delta,
    empty_sections,
    no_section,
    marker_invalid,
    marker_contradicted,
    no_delta,
    marker_holds,
    missing_boxes,
    numbering,
    wrapping_folder,
)


class ChangeRules:
    """Applies the rules to the changes of one tree."""

    def __init__(self, tree: Tree, merges: Merges) -> None:
        self._tree = tree
        self._merges = merges
        self._cache = merges.cache

    def findings(self, change: str) -> tuple[Finding, ...]:
        """All findings about a change, in the reference tool's order."""
        if nested := self._tree.nested_changes(change):
            return tuple(wrapping_folder((change, nested)))
        folder = self._tree.change_path(change)
        return (*self.delta_findings(folder, against_specs=True), *self._task_findings(folder))

    def delta_findings(self, change: Path, *, against_specs: bool) -> tuple[Finding, ...]:
        """The findings about a change's deltas; those that need the main specs if asked for."""
        found = list(delta_at_root(change))
        documents = self._documents(change)
        for capability, document in documents.items():
            path = f"{capability}/spec.md"
            found += self._of_file(document, path)
            if against_specs:
                found += self._scenario_loss(capability, document)
        if against_specs:
            for obstacle in self._obstacles(change, documents, found):
                found += merge_refused(obstacle)
        unread = self._tree.unread_deltas(change)
        for misplaced in unread:
            found += unread_delta(misplaced)
        deltas = {capability: document.delta for capability, document in documents.items()}
        found += empty_sections(deltas)
        found += no_section(deltas)
        declared = Declaration(change, self._tree.marker_skip_specs(change))
        found += marker_invalid(declared)
        found += marker_contradicted(declared)
        if (
            not unread
            and not any(delta.size for delta in deltas.values())
            and not any(delta_at_root(change))
        ):
            found += no_delta(declared)
            found += marker_holds(declared)
        return tuple(found)

    def has_delta_specs(self, change: Path) -> bool:
        """Whether there is anything for which an archive checks the deltas first."""
        if is_file(change / "specs" / "spec.md") or self._tree.unread_deltas(change):
            return True
        marker = self._tree.marker_skip_specs(change)
        if marker.problem or (marker.declared and _any_file(change)):
            return True
        return any(_DELTA_HEADING.search(d.text) for d in self._documents(change).values())

    def _documents(self, change: Path) -> dict[str, DeltaDocument]:
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
        return self._cache.with_others(
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
        except OutsideTreeError:
            if self._tree.is_linked_out(capability):
                return ()
            raise
        except (OSError, OpenSpecError) as error:
            message = f"The main spec of {capability} cannot be read: {error}"
            return (Finding(lost_scenarios.number, lost_scenarios.level, path, message),)
        return self._cache.with_others(
            document,
            (spec,),
            ("C9", path),
            lambda: tuple(lost_scenarios(Replacement(document.delta, spec, path))),
        )

    def _obstacles(
        self, change: Path, documents: dict[str, DeltaDocument], so_far: list[Finding]
    ) -> Iterator[Obstacle]:
        reported = {finding.path for finding in so_far if finding.level == "ERROR"}
        for capability, document in documents.items():
            path = f"{capability}/spec.md"
            if path in reported or not document.delta.size:
                continue
            try:
                spec = self._spec(capability)
            except (OSError, BadFileError):
                continue
            except OutsideTreeError as error:
                if self._tree.is_linked_out(capability):
                    continue
                yield Obstacle("specs", f"The merge cannot be tried: {error}")
                return
            outcome = self._merges.attempt(document, spec, capability, change.name)
            if isinstance(outcome, MergeError):
                yield Obstacle(path, f"An archive would refuse this: {outcome}")

    def _spec(self, capability: str) -> SpecDocument | None:
        try:
            return self._tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _task_findings(self, change: Path) -> Iterator[Finding]:
        try:
            documents, unreadable = self._tree.task_documents(change)
        except OutsideTreeError:
            return
        if not unreadable and documents and self._tree.tracked_tasks(change):
            yield from missing_boxes(documents)
        if self._tree.numbers_tasks(change):
            yield from numbering(documents)


def _any_file(change: Path) -> bool:
    """Whether the change has files under specs/; what cannot be looked at counts as one."""
    try:
        return has_files(change / "specs")
    except OSError:
        return True
