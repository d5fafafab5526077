"""What a change or a spec holds, in the shape the reference tool shows it, and more."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import IncompleteError, OpenSpecError
from ..model.delta import DeltaDocument, Operation
from ..model.outline import Outline
from ..model.proposal import Proposal
from ..model.requirements import Block, fold
from ..model.spec import Requirement, SpecDocument, as_requirement
from ..model.tasks import Progress
from ..model.text import NOT_S, S, pattern, trim
from ..storage.files import is_file
from ..storage.tree import Tree

_REQUIREMENT: Final = pattern(rf"Requirement:{S}*{NOT_S}", ignore_case=True)
_HASHES: Final = pattern(rf"###{S}*")
_VERBS: Final = {"ADDED": "Add", "MODIFIED": "Modify", "REMOVED": "Remove"}
_CONTEXT_LINES: Final = 4


class DeltaEntry(NamedTuple):
    """One operation of a change."""

    capability: str
    operation: Operation
    description: str
    name: str = ""
    requirement: Requirement | None = None
    rename: tuple[str, str] | None = None
    diff: str | None = None
    """For MODIFIED, when asked for: the block against the main spec's."""
    warning: str | None = None


class ChangeView(NamedTuple):
    """A change with all its texts."""

    id: str
    title: str
    files: tuple[str, ...]
    proposal: str | None
    tasks: str | None
    design: str | None
    spec_deltas: dict[str, str]
    """The delta files' texts by capability."""
    deltas: tuple[DeltaEntry, ...]
    progress: Progress
    incomplete: str | None
    """Why the reference tool would not show it: no proposal, or a section missing in it."""
    problems: tuple[OpenSpecError, ...] = ()
    """Why one of its texts cannot be read; it is then missing here."""


class ChangeRow(NamedTuple):
    """A change as a list shows it."""

    id: str
    progress: Progress
    modified: datetime
    nested: tuple[str, ...]
    """Changes wrapped in this folder, which is then no change itself."""
    files: tuple[str, ...]
    problem: OpenSpecError | None = None
    """Why the change cannot be looked at; its progress and what it wraps are then unknown."""


class SpecRow(NamedTuple):
    """A spec as a list shows it."""

    id: str
    requirements: int
    summary: str
    """First line of the purpose; empty where there is none."""
    problem: OpenSpecError | None = None
    """Why the spec cannot be read; it then counts no requirements."""


def view_change(tree: Tree, change: str, *, diffs: bool = False) -> ChangeView:
    """Everything about a change."""
    folder = tree.change_path(change)
    proposal = tree.proposal(folder)
    problems: list[OpenSpecError] = []

    def text(name: str) -> str | None:
        try:
            return tree.text(folder, name)
        except OpenSpecError as error:
            problems.append(error.with_traceback(None))
            return None

    documents = {
        capability: tree.delta_at(path) for capability, path in tree.delta_paths(folder).items()
    }
    return ChangeView(
        change,
        proposal.title(change) if proposal else change,
        files_of(folder),
        proposal.text if proposal else None,
        text("tasks.md"),
        text("design.md"),
        {capability: document.text for capability, document in documents.items()},
        tuple(_entries(tree, documents, proposal, diffs=diffs)),
        tree.progress(folder),
        _incomplete(change, proposal),
        tuple(problems),
    )


def files_of(folder: Path) -> tuple[str, ...]:
    """Which of the three texts of a change are there."""
    return tuple(
        name for name in ("proposal.md", "tasks.md", "design.md") if is_file(folder / name)
    )


def row_of_spec(capability: str, spec: SpecDocument) -> SpecRow:
    """A spec as a list shows it; one that lacks a section counts no requirements."""
    readable = bool(spec.purpose) and spec.has_requirements_section
    return SpecRow(
        capability,
        spec.requirement_count if readable else 0,
        spec.purpose.split("\n", 1)[0][:200],
    )


def _incomplete(change: str, proposal: Proposal | None) -> str | None:
    if proposal is None:
        return f'Change "{change}" has no proposal.md yet.'
    try:
        proposal.check_complete()
    except IncompleteError as missing:
        return str(missing)
    return None


def _entries(
    tree: Tree, documents: dict[str, DeltaDocument], proposal: Proposal | None, *, diffs: bool
) -> Iterator[DeltaEntry]:
    if not any(document.delta.present for document in documents.values()):
        for hint in proposal.hints if proposal else ():
            yield DeltaEntry(hint.capability, hint.operation, hint.text)
        return
    for capability, document in documents.items():
        yield from _written(tree, capability, document, "ADDED", document.delta.added)
        yield from _written(
            tree, capability, document, "MODIFIED", document.delta.modified, diffs=diffs
        )
        yield from _written(tree, capability, document, "REMOVED", _removed(document))
        for rename in document.delta.renamed:
            yield DeltaEntry(
                capability,
                "RENAMED",
                f'Rename requirement from "{rename.old}" to "{rename.new}"',
                rename.new,
                rename=(rename.old, rename.new),
            )


def _written(
    tree: Tree,
    capability: str,
    document: DeltaDocument,
    operation: Operation,
    blocks: list[Block],
    *,
    diffs: bool = False,
) -> Iterator[DeltaEntry]:
    for block in blocks:
        requirement = _as_requirement(block)
        if requirement is None:
            continue
        diff, warning = _against_main(tree, capability, document, block) if diffs else (None, None)
        yield DeltaEntry(
            capability,
            operation,
            f"{_VERBS[operation]} requirement: {requirement.text}",
            block.name,
            requirement,
            None,
            diff,
            warning,
        )


def _as_requirement(block: Block) -> Requirement | None:
    title = trim(_HASHES.sub("", block.heading, count=1))
    sections = Outline("\n".join([f"### {title}", *block.body])).sections
    if not sections or not _REQUIREMENT.match(sections[0].title):
        return None
    return as_requirement(sections[0])


def _removed(document: DeltaDocument) -> list[Block]:
    """The removals in order: with their text where they are headings, else by name alone."""
    written = list(document.delta.removed_blocks)
    blocks = []
    for name in document.delta.removed:
        found = next((block for block in written if block.name == name), None)
        if found is not None:
            written.remove(found)
        blocks.append(found or Block(name, f"### Requirement: {name}"))
    return blocks


def _against_main(
    tree: Tree, capability: str, document: DeltaDocument, block: Block
) -> tuple[str | None, str | None]:
    """A MODIFIED block as a diff against the main spec, or why there is none."""
    try:
        spec = tree.spec(capability)
    except FileNotFoundError:
        return None, f"There is no main spec of {capability} to compare with."
    name = next((r.old for r in document.delta.renamed if fold(r.new) == fold(block.name)), None)
    wanted = name or block.name
    blocks = spec.parts.blocks
    exact = next((b for b in blocks if b.name == wanted), None)
    main = exact or next((b for b in blocks if fold(b.name) == fold(wanted)), None)
    if main is None:
        return None, f'The main spec of {capability} has no requirement "{wanted}".'
    warning = None
    if exact is None:
        warning = f'The main spec spells it "{main.name}"; an archive needs the exact name.'
    import difflib  # only here, for --diff

    lines = difflib.unified_diff(
        main.raw.split("\n"), block.raw.split("\n"), n=_CONTEXT_LINES, lineterm=""
    )
    return "\n".join(list(lines)[2:]), warning
