"""The rules for one delta file: C2 to C10."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...model.delta import Delta
from ...model.findings import Finding
from ...model.requirements import Block, fold
from ...model.spec import SpecDocument
from ...model.text import has_keyword, pattern
from .registry import Flaw, rule
from .spec import keyword_advice

_NAMELESS: Final = pattern(r"requirement:?\Z", ignore_case=True)


class DeltaFile(NamedTuple):
    """The operations of a delta file, and its path relative to the change's specs/."""

    delta: Delta
    path: str


class Entry(NamedTuple):
    """A name under one operation of a delta file."""

    title: str
    """The operation and the quoted name."""
    path: str
    repeated: bool
    """Whether the operation has this name above already."""


class WrittenBlock(NamedTuple):
    """A requirement written out under ADDED or MODIFIED."""

    title: str
    block: Block
    path: str


class Replacement(NamedTuple):
    """A delta file and the main spec whose requirements it replaces."""

    delta: Delta
    spec: SpecDocument
    path: str


def findings_in(delta: Delta, path: str) -> Iterator[Finding]:
    """What can be said of a delta file by itself, in the reference tool's order."""
    file = DeltaFile(delta, path)
    yield from stray_heading(file)
    yield from half_rename(file)
    yield from orphaned_requirement(file)
    yield from _block_findings("ADDED", delta.added, path)
    yield from _block_findings("MODIFIED", delta.modified, path)
    yield from _repetitions("REMOVED", delta.removed, path)
    yield from _repetitions("RENAMED FROM", [rename.old for rename in delta.renamed], path)
    yield from _repetitions("RENAMED TO", [rename.new for rename in delta.renamed], path)
    yield from crossed_sections(file)


def _block_findings(operation: str, blocks: list[Block], path: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for block in blocks:
        title = f'{operation} "{block.name}"'
        written = WrittenBlock(title, block, path)
        yield from repeated_name(Entry(title, path, block.name in seen))
        yield from no_text(written)
        yield from no_keyword(written)
        yield from no_scenario(written)
        seen.add(block.name)


def _repetitions(operation: str, names: list[str], path: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in names:
        yield from repeated_name(Entry(f'{operation} "{name}"', path, name in seen))
        seen.add(name)


@rule("C2", "INFO", "a heading under ADDED or MODIFIED that has no effect")
def stray_heading(file: DeltaFile) -> Iterator[Flaw]:
    for stray in file.delta.strays:
        nameless = _NAMELESS.match(stray.heading)
        yield Flaw(
            file.path,
            f"'### {stray.heading}' under {stray.section} "
            + ("lacks a name" if nameless else "is no '### Requirement: <name>'")
            + " and has no effect.",
            stray.line,
        )


@rule("C3", "ERROR", "half a rename")
def half_rename(file: DeltaFile) -> Iterator[Flaw]:
    for unpaired in file.delta.unpaired:
        other = "TO" if unpaired.side == "FROM" else "FROM"
        yield Flaw(
            file.path,
            f'{unpaired.side}: "{unpaired.name}" has no {other}: line; a rename is a FROM: line '
            "with its TO: line below.",
            unpaired.line,
        )


@rule("C4", "WARNING", "a requirement in no delta section, without effect")
def orphaned_requirement(file: DeltaFile) -> Iterator[Flaw]:
    for orphan in file.delta.orphans:
        where = f"'## {orphan.section}'" if orphan.section else "no section"
        yield Flaw(
            file.path,
            f'Requirement "{orphan.name}" stands in {where}, so it has no effect; move it under '
            "ADDED, MODIFIED, REMOVED or RENAMED Requirements.",
            orphan.line,
        )


@rule("C5", "ERROR", "a name twice under one operation")
def repeated_name(entry: Entry) -> Iterator[Flaw]:
    if entry.repeated:
        yield Flaw(entry.path, f"{entry.title} stands twice.")


@rule("C6", "ERROR", "a written requirement without text")
def no_text(written: WrittenBlock) -> Iterator[Flaw]:
    block = written.block
    if not block.text:
        advice = keyword_advice(block.name)
        yield Flaw(written.path, f"{written.title} has no text. {advice}")


@rule("C7", "WARNING", "a written requirement without SHALL or MUST")
def no_keyword(written: WrittenBlock) -> Iterator[Flaw]:
    block = written.block
    if block.text and not has_keyword(block.text):
        advice = keyword_advice(block.name)
        yield Flaw(written.path, f"{written.title} says neither SHALL nor MUST. {advice}")


@rule("C8", "ERROR", "a written requirement without a scenario that has steps")
def no_scenario(written: WrittenBlock) -> Iterator[Flaw]:
    block = written.block
    if not block.full_scenarios:
        hint = " A heading without steps does not count." if block.scenario_bodies else ""
        yield Flaw(written.path, f"{written.title} needs a '#### Scenario:' with steps.{hint}")


@rule("C9", "ERROR", "MODIFIED lacks scenarios that the main spec has")
def lost_scenarios(replacement: Replacement) -> Iterator[Flaw]:
    delta, spec = replacement.delta, replacement.spec
    sources = {rename.new: rename.old for rename in delta.renamed}
    renamed_away = {rename.old for rename in delta.renamed}
    for block in delta.modified:
        current = _current_block(block.name, spec, sources)
        if block.name in renamed_away or current is None:
            continue
        if lost := current.scenarios_missing_from(block):
            names = ", ".join(f'"{name}"' for name in lost)
            yield Flaw(
                replacement.path,
                f'MODIFIED "{block.name}" lacks scenarios the main spec has: {names}. '
                f"It has {len(block.scenario_names)}, the main spec {len(current.scenario_names)}. "
                "The block replaces the whole requirement: copy them into it.",
            )


@rule("C10", "ERROR", "a requirement in two sections that exclude each other")
def crossed_sections(file: DeltaFile) -> Iterator[Flaw]:
    delta, path = file.delta, file.path
    added = dict.fromkeys(block.name for block in delta.added)
    modified = dict.fromkeys(block.name for block in delta.modified)
    removed = dict.fromkeys(delta.removed)

    def crossed(name: str, sections: str) -> Flaw:
        return Flaw(path, f'"{name}" stands in both {sections}.')

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
            yield Flaw(path, f'MODIFIED names "{rename.old}" by its old name; use "{rename.new}".')
        if rename.new in added:
            yield crossed(rename.new, "RENAMED TO and ADDED")
        if fold(rename.old) in folded:
            yield crossed(rename.old, "RENAMED and REMOVED")


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


RULES: Final = (
    stray_heading,
    half_rename,
    orphaned_requirement,
    repeated_name,
    no_text,
    no_keyword,
    no_scenario,
    lost_scenarios,
    crossed_sections,
)
