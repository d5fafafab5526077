"""The rules a change is validated by: C1 to C21."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import BadFile, OpenSpecError, OutsideTree
from ..model.delta import Delta, DeltaDocument
from ..model.findings import Finding
from ..model.requirements import Block, fold
from ..model.spec import SpecDocument
from ..model.tasks import TaskDocument
from ..model.text import BOL, S, has_keyword, pattern
from ..storage.files import is_file
from ..storage.metadata import FILE_NAME
from ..storage.tree import Tree, has_files
from .derived import Merges
from .merging import MergeRefused
from .spec_rules import keyword_advice

_NAMELESS: Final = pattern(r"requirement:?\Z", ignore_case=True)
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
            document, (), ("own", path), lambda: tuple(_of_file(document.delta, path))
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
            lambda: tuple(_lost_scenarios(document.delta, spec, path)),
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
            yield from _missing_boxes(documents)
        if self._tree.numbers_tasks(change):
            yield from _numbering(documents)


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


def _of_file(delta: Delta, path: str) -> Iterator[Finding]:
    """C2 to C8 and C10: what can be said of a delta file by itself."""
    for stray in delta.strays:
        nameless = _NAMELESS.match(stray.heading)
        yield Finding(
            "C2",
            "INFO",
            path,
            f"'### {stray.heading}' under {stray.section} "
            + ("lacks a name" if nameless else "is no '### Requirement: <name>'")
            + " and has no effect.",
            stray.line,
        )
    for unpaired in delta.unpaired:
        other = "TO" if unpaired.side == "FROM" else "FROM"
        yield Finding(
            "C3",
            "ERROR",
            path,
            f'{unpaired.side}: "{unpaired.name}" has no {other}: line; a rename is a FROM: line '
            "with its TO: line below.",
            unpaired.line,
        )
    for orphan in delta.orphans:
        where = f"'## {orphan.section}'" if orphan.section else "no section"
        yield Finding(
            "C4",
            "WARNING",
            path,
            f'Requirement "{orphan.name}" stands in {where}, so it has no effect; move it under '
            "ADDED, MODIFIED, REMOVED or RENAMED Requirements.",
            orphan.line,
        )
    yield from _written_blocks("ADDED", delta.added, path)
    yield from _written_blocks("MODIFIED", delta.modified, path)
    yield from _repeated(delta, path)
    yield from _crossed(delta, path)


def _written_blocks(operation: str, blocks: list[Block], path: str) -> Iterator[Finding]:
    seen = set()
    for block in blocks:
        title = f'{operation} "{block.name}"'
        if block.name in seen:
            yield Finding("C5", "ERROR", path, f"{title} stands twice.")
        seen.add(block.name)
        if not block.text:
            yield Finding("C6", "ERROR", path, f"{title} has no text. {keyword_advice(block.name)}")
        elif not has_keyword(block.text):
            yield Finding(
                "C7",
                "WARNING",
                path,
                f"{title} says neither SHALL nor MUST. {keyword_advice(block.name)}",
            )
        if not block.full_scenarios:
            hint = " A heading without steps does not count." if block.scenario_bodies else ""
            yield Finding(
                "C8", "ERROR", path, f"{title} needs a '#### Scenario:' with steps.{hint}"
            )


def _repeated(delta: Delta, path: str) -> Iterator[Finding]:
    for section, names in (
        ("REMOVED", delta.removed),
        ("RENAMED FROM", [rename.old for rename in delta.renamed]),
        ("RENAMED TO", [rename.new for rename in delta.renamed]),
    ):
        seen = set()
        for name in names:
            if name in seen:
                yield Finding("C5", "ERROR", path, f'{section} "{name}" stands twice.')
            seen.add(name)


def _crossed(delta: Delta, path: str) -> Iterator[Finding]:
    """C10: the same requirement in two sections that exclude each other."""
    added = dict.fromkeys(block.name for block in delta.added)
    modified = dict.fromkeys(block.name for block in delta.modified)
    removed = dict.fromkeys(delta.removed)

    def crossed(name: str, sections: str) -> Finding:
        return Finding("C10", "ERROR", path, f'"{name}" stands in both {sections}.')

    for name in modified:
        if name in removed:
            yield crossed(name, "MODIFIED and REMOVED")
        if name in added:
            yield crossed(name, "MODIFIED and ADDED")
    for name in added:
        if name in removed:
            yield crossed(name, "ADDED and REMOVED")
    folded = {fold(name) for name in removed}
    for rename in delta.renamed:
        if rename.old in modified:
            yield Finding(
                "C10",
                "ERROR",
                path,
                f'MODIFIED names "{rename.old}" by its old name; use "{rename.new}".',
            )
        if rename.new in added:
            yield crossed(rename.new, "RENAMED TO and ADDED")
        if fold(rename.old) in folded:
            yield crossed(rename.old, "RENAMED and REMOVED")


def _lost_scenarios(delta: Delta, spec: SpecDocument, path: str) -> Iterator[Finding]:
    """C9: MODIFIED blocks without all scenarios that the main spec has."""
    sources = {rename.new: rename.old for rename in delta.renamed}
    renamed_away = {rename.old for rename in delta.renamed}
    for block in delta.modified:
        current = _current_block(block.name, spec, sources)
        if block.name in renamed_away or current is None:
            continue
        if lost := current.scenarios_missing_from(block):
            names = ", ".join(f'"{name}"' for name in lost)
            yield Finding(
                "C9",
                "ERROR",
                path,
                f'MODIFIED "{block.name}" lacks scenarios the main spec has: {names}. '
                f"It has {len(block.scenario_names)}, the main spec {len(current.scenario_names)}. "
                "The block replaces the whole requirement: copy them into it.",
            )


def _current_block(name: str, spec: SpecDocument, sources: dict[str, str]) -> Block | None:
    """The block a MODIFIED one replaces, followed back through renames."""
    seen: set[str] = set()
    key: str | None = name
    while key is not None and key not in seen:
        if key in spec.blocks:
            return spec.blocks[key]
        seen.add(key)
        key = sources.get(key)
    return None


def _any_file(change: Path) -> bool:
    """Whether the change has files under specs/; what cannot be looked at counts as one."""
    try:
        return has_files(change / "specs")
    except OSError:
        return True


def _missing_boxes(documents: dict[str, TaskDocument]) -> Iterator[Finding]:
    if any(document.tasks for document in documents.values()):
        return
    for path, document in documents.items():
        if document.first_list_item is not None:
            yield Finding(
                "C19",
                "WARNING",
                path,
                "There is a list but no task: a task has a box, '- [ ] 1.1 Description'.",
                document.first_list_item,
            )


def _numbering(documents: dict[str, TaskDocument]) -> Iterator[Finding]:
    first: dict[str, tuple[str, int]] = {}
    for path, document in documents.items():
        for task in document.numbered:
            if task.misplaced:
                yield Finding(
                    "C20",
                    "WARNING",
                    path,
                    f"Task {task.id} stands under group {task.group}; move or renumber it.",
                    task.line,
                )
            if task.id in first:
                where, line = first[task.id]
                yield Finding(
                    "C20",
                    "WARNING",
                    path,
                    f"Task {task.id} was given before, on line {line} of {where}.",
                    task.line,
                )
            else:
                first[task.id] = path, task.line
