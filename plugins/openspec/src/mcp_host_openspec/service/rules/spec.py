"""The rules a main spec is validated by: S1 to S14."""

import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from ...model.findings import Finding
from ...model.requirements import Block
from ...model.spec import Requirement, SpecDocument, StructureFault
from ...model.text import (
    fence_mask,
    has_keyword,
    length,
    pattern,
    trim,
    unfenced,
    unify_line_ends,
)
from .registry import Flaw, rule

PLACEHOLDER_BEGIN: Final = "TBD - created by archiving change "
PLACEHOLDER_END: Final = ". Update Purpose after archive."
SHORTEST_PURPOSE: Final = 50
_LONGEST_REQUIREMENT: Final = 500

_MARKER: Final = pattern(
    r"(TBD|TODO)([ \t]*(?:\Z|\n|[:\-\u2013\u2014.,;()\[\]{}]))?", ignore_case=True
)
_PURPOSE: Final = pattern(r" {0,3}##(?!#)[ \t]+Purpose[ \t]*\Z", ignore_case=True)
_TOP_HEADING: Final = pattern(r" {0,3}#{1,2}(?!#)[ \t]+")


class Numbered(NamedTuple):
    """A requirement as listing reads it, with its place among the others."""

    place: int
    requirement: Requirement


class NumberedBlock(NamedTuple):
    """A requirement as merging reads it, with its place among the others."""

    place: int
    block: Block


def spec_findings(spec: SpecDocument) -> tuple[Finding, ...]:
    """All findings about a main spec, in the reference tool's order."""
    if missing := tuple(_missing_sections(spec)):
        return missing[:1]
    return (
        *_requirement_errors(spec),
        *_structure_findings(spec),
        *purpose_placeholder(spec),
        *purpose_too_short(spec),
        *(
            finding
            for numbered in _requirements(spec)
            for apply in (requirement_too_long, scenario_form)
            for finding in apply(numbered)
        ),
        *_block_findings(spec),
    )


def hidden_findings(spec: SpecDocument) -> tuple[Finding, ...]:
    """All errors of a main spec, those included that a missing section hides."""
    return (
        *_missing_sections(spec),
        *_requirement_errors(spec),
        *_structure_findings(spec),
        *(found for found in _block_findings(spec) if found.level == "ERROR"),
    )


def _missing_sections(spec: SpecDocument) -> Iterator[Finding]:
    yield from purpose_missing(spec)
    yield from requirements_missing(spec)


def _requirement_errors(spec: SpecDocument) -> Iterator[Finding]:
    yield from no_requirement(spec)
    for numbered in _requirements(spec):
        yield from nameless_requirement(numbered)
        yield from no_scenario(numbered)


def _structure_findings(spec: SpecDocument) -> Iterator[Finding]:
    for fault in spec.faults:
        yield from _OF_FAULT[fault.kind](fault)


def _block_findings(spec: SpecDocument) -> Iterator[Finding]:
    for index, block in enumerate(spec.parts.blocks):
        numbered = NumberedBlock(index, block)
        yield from no_text(numbered)
        yield from no_keyword(numbered)


def _requirements(spec: SpecDocument) -> Iterator[Numbered]:
    for index, requirement in enumerate(spec.requirements):
        yield Numbered(index, requirement)


@rule("S1", "ERROR", "no `## Purpose` with text")
def purpose_missing(spec: SpecDocument) -> Iterator[Flaw]:
    if not spec.purpose:
        yield Flaw("file", "The spec needs a '## Purpose' section with text in it.")


@rule("S2", "ERROR", "no `## Requirements`")
def requirements_missing(spec: SpecDocument) -> Iterator[Flaw]:
    if not spec.has_requirements_section:
        yield Flaw(
            "file",
            "The spec needs a '## Requirements' section holding '### Requirement: <name>' blocks.",
        )


@rule("S3", "ERROR", "no requirement at all")
def no_requirement(spec: SpecDocument) -> Iterator[Flaw]:
    if not spec.requirements and spec.has_requirements_section:
        yield Flaw(
            "requirements",
            "The Requirements section needs at least one '### Requirement: <name>'.",
        )


@rule("S4", "ERROR", "a requirement without a scenario that has steps")
def no_scenario(numbered: Numbered) -> Iterator[Flaw]:
    if not numbered.requirement.scenarios:
        yield Flaw(
            f"requirements.{numbered.place}.scenarios",
            f"{_quoted(numbered.requirement.name)} needs at least one scenario with steps below "
            "it.",
        )


@rule("S5", "ERROR", "a delta heading in a main spec")
def delta_heading(fault: StructureFault) -> Iterator[Flaw]:
    yield Flaw(
        "file",
        f"{fault.heading!r} is a delta heading; it belongs in a change's "
        "specs/<capability>/spec.md. Here it cuts the Requirements section short.",
        fault.line,
    )


@rule("S6", "ERROR", "a requirement outside `## Requirements`")
def requirement_outside(fault: StructureFault) -> Iterator[Flaw]:
    yield Flaw(
        "file",
        f"{fault.heading!r} stands outside the '## Requirements' section, so nothing reads it. "
        "Move it into that section.",
        fault.line,
    )


@rule("S7", "ERROR", "a requirement's name given twice")
def duplicate_name(fault: StructureFault) -> Iterator[Flaw]:
    yield Flaw(
        "file",
        f"{fault.heading!r} repeats the name given on line {fault.first_line}. Names must be "
        "unique, or a merge changes one and loses the other.",
        fault.line,
    )


@rule("S8", "WARNING", "the purpose is still a placeholder")
def purpose_placeholder(spec: SpecDocument) -> Iterator[Flaw]:
    prose = trim("\n".join(unfenced(spec.purpose)))
    leading = _begins_with_marker(prose)
    if leading or _placeholder_at(prose) is not None:
        yield Flaw(
            "overview",
            "The purpose is still a placeholder; say in the main spec what the capability is for.",
            _placeholder_line(spec.text, leading=leading),
        )


@rule("S9", "WARNING", f"the purpose has fewer than {SHORTEST_PURPOSE} characters")
def purpose_too_short(spec: SpecDocument) -> Iterator[Flaw]:
    if length(spec.purpose) < SHORTEST_PURPOSE and not any(purpose_placeholder.check(spec)):
        yield Flaw(
            "overview",
            f"The purpose has fewer than {SHORTEST_PURPOSE} characters; say more.",
        )


@rule("S10", "INFO", f"a requirement of more than {_LONGEST_REQUIREMENT} characters")
def requirement_too_long(numbered: Numbered) -> Iterator[Flaw]:
    if length(numbered.requirement.text) > _LONGEST_REQUIREMENT:
        yield Flaw(
            f"requirements[{numbered.place}]",
            f"{_quoted(numbered.requirement.name)} has more than {_LONGEST_REQUIREMENT} "
            "characters; consider two requirements.",
        )


@rule("S11", "WARNING", "with S4: how a scenario is written")
def scenario_form(numbered: Numbered) -> Iterator[Flaw]:
    if not numbered.requirement.scenarios:
        yield Flaw(
            f"requirements[{numbered.place}].scenarios",
            "A scenario is a level-four heading with steps: '#### Scenario: <name>', then "
            "'- **WHEN** …' and '- **THEN** …'.",
        )


@rule("S12", "ERROR", "a requirement without text")
def no_text(numbered: NumberedBlock) -> Iterator[Flaw]:
    block = numbered.block
    if not block.text:
        yield Flaw(
            f"requirements[{numbered.place}]",
            f"{_quoted(block.name)} has no text. {keyword_advice(block.name)}",
        )


@rule("S13", "WARNING", "a requirement without SHALL or MUST")
def no_keyword(numbered: NumberedBlock) -> Iterator[Flaw]:
    block = numbered.block
    if block.text and not has_keyword(block.text):
        yield Flaw(
            f"requirements[{numbered.place}]",
            f"{_quoted(block.name)} says neither SHALL nor MUST. {keyword_advice(block.name)}",
        )


@rule("S14", "ERROR", "a requirement's heading without name and text")
def nameless_requirement(numbered: Numbered) -> Iterator[Flaw]:
    if not numbered.requirement.text:
        yield Flaw(
            f"requirements.{numbered.place}.text",
            "A heading without a name and without text is no requirement; name it.",
        )


RULES: Final = (
    purpose_missing,
    requirements_missing,
    no_requirement,
    no_scenario,
    delta_heading,
    requirement_outside,
    duplicate_name,
    purpose_placeholder,
    purpose_too_short,
    requirement_too_long,
    scenario_form,
    no_text,
    no_keyword,
    nameless_requirement,
)

_OF_FAULT: Final = {
    "delta heading": delta_heading,
    "outside requirements": requirement_outside,
    "duplicate": duplicate_name,
}


def keyword_advice(name: str) -> str:
    """What to do where the sentence with SHALL or MUST is missing."""
    if has_keyword(name):
        return "The keyword in the heading does not count: put the sentence on the line below it."
    return "State the rule with SHALL or MUST on the line below the heading."


def _quoted(name: str) -> str:
    return f'Requirement "{name}"'


def _begins_with_marker(prose: str) -> bool:
    found = _MARKER.match(prose)
    if found is None:
        return False
    after = prose[found.end(1) : found.end(1) + 1]
    if after and (after == "_" or unicodedata.category(after)[0] in "LNM"):
        return False
    return found[1] in ("TBD", "TODO") or found[2] is not None


def _placeholder_at(text: str) -> int | None:
    """Where the sentence begins that an archive writes as the purpose of a new spec."""
    end = text.find(PLACEHOLDER_END)
    while end != -1:
        begin = text.rfind(PLACEHOLDER_BEGIN, 0, end + len(PLACEHOLDER_BEGIN))
        if begin != -1:
            return begin
        end = text.find(PLACEHOLDER_END, end + 1)
    return None


def _placeholder_line(text: str, *, leading: bool) -> int | None:
    lines = unify_line_ends(text).split("\n")
    mask = fence_mask(lines)
    heading = next(
        (i for i, line in enumerate(lines) if not mask[i] and _PURPOSE.match(line)), None
    )
    if heading is None:
        return None
    end = next(
        (i for i in range(heading + 1, len(lines)) if not mask[i] and _TOP_HEADING.match(lines[i])),
        len(lines),
    )
    numbers = [i for i in range(heading + 1, end) if not mask[i]]
    if leading:
        return next((i + 1 for i in numbers if trim(lines[i])), None)
    purpose = "\n".join(lines[i] for i in numbers)
    begin = _placeholder_at(purpose)
    return None if begin is None else numbers[purpose.count("\n", 0, begin)] + 1
