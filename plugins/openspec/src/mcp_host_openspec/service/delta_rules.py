"""The rules for one delta file: C2 to C10."""

from collections.abc import Iterator
from typing import Final

from ..model.delta import Delta
from ..model.findings import Finding
from ..model.requirements import Block, fold
from ..model.spec import SpecDocument
from ..model.text import has_keyword, pattern
from .spec_rules import keyword_advice

_NAMELESS: Final = pattern(r"requirement:?\Z", ignore_case=True)


def findings_in(delta: Delta, path: str) -> Iterator[Finding]:
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


def lost_scenarios(delta: Delta, spec: SpecDocument, path: str) -> Iterator[Finding]:
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
