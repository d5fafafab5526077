"""The rules a main spec is validated by: S1 to S14."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from ..model.findings import Finding
from ..model.requirements import Block
from ..model.spec import SpecDocument, StructureFault
from ..model.text import (
    fence_mask,
    has_keyword,
    length,
    pattern,
    trim,
    unfenced,
    unify_line_ends,
)

PLACEHOLDER_BEGIN: Final = "TBD - created by archiving change "
PLACEHOLDER_END: Final = ". Update Purpose after archive."
SHORTEST_PURPOSE: Final = 50
_LONGEST_REQUIREMENT: Final = 500

_MARKER: Final = pattern(
    r"(TBD|TODO)([ \t]*(?:\Z|\n|[:\-\u2013\u2014.,;()\[\]{}]))?", ignore_case=True
)
_PURPOSE: Final = pattern(r" {0,3}##(?!#)[ \t]+Purpose[ \t]*\Z", ignore_case=True)
_TOP_HEADING: Final = pattern(r" {0,3}#{1,2}(?!#)[ \t]+")

_FAULTS: Final = {
    "delta heading": (
        "S5",
        "{heading!r} is a delta heading; it belongs in a change's specs/<capability>/spec.md. "
        "Here it cuts the Requirements section short.",
    ),
    "outside requirements": (
        "S6",
        "{heading!r} stands outside the '## Requirements' section, so nothing reads it. "
        "Move it into that section.",
    ),
    "duplicate": (
        "S7",
        "{heading!r} repeats the name given on line {first_line}. Names must be unique, "
        "or a merge changes one and loses the other.",
    ),
}


def spec_findings(spec: SpecDocument) -> tuple[Finding, ...]:
    """All findings about a main spec, in the reference tool's order."""
    if missing := tuple(_missing_sections(spec)):
        return missing[:1]
    return (
        *_requirement_errors(spec),
        *(_structure_fault(fault) for fault in spec.faults),
        *_purpose_findings(spec),
        *_requirement_findings(spec),
        *_keyword_findings(spec.parts.blocks),
    )


def hidden_findings(spec: SpecDocument) -> tuple[Finding, ...]:
    """All errors of a main spec, those included that a missing section hides."""
    return (
        *_missing_sections(spec),
        *_requirement_errors(spec),
        *(_structure_fault(fault) for fault in spec.faults),
        *(found for found in _keyword_findings(spec.parts.blocks) if found.level == "ERROR"),
    )


def _missing_sections(spec: SpecDocument) -> Iterator[Finding]:
    if not spec.purpose:
        yield Finding(
            "S1", "ERROR", "file", "The spec needs a '## Purpose' section with text in it."
        )
    if not spec.has_requirements_section:
        yield Finding(
            "S2",
            "ERROR",
            "file",
            "The spec needs a '## Requirements' section holding '### Requirement: <name>' blocks.",
        )


def _requirement_errors(spec: SpecDocument) -> Iterator[Finding]:
    if not spec.requirements and spec.has_requirements_section:
        yield Finding(
            "S3",
            "ERROR",
            "requirements",
            "The Requirements section needs at least one '### Requirement: <name>'.",
        )
    for index, requirement in enumerate(spec.requirements):
        if not requirement.text:
            yield Finding(
                "S14",
                "ERROR",
                f"requirements.{index}.text",
                "A heading without a name and without text is no requirement; name it.",
            )
        if not requirement.scenarios:
            yield Finding(
                "S4",
                "ERROR",
                f"requirements.{index}.scenarios",
                f"{_quoted(requirement.name)} needs at least one scenario with steps below it.",
            )


def _structure_fault(fault: StructureFault) -> Finding:
    rule, message = _FAULTS[fault.kind]
    return Finding(
        rule,
        "ERROR",
        "file",
        message.format(heading=fault.heading, first_line=fault.first_line),
        fault.line,
    )


def _purpose_findings(spec: SpecDocument) -> Iterator[Finding]:
    prose = trim("\n".join(unfenced(spec.purpose)))
    leading = _begins_with_marker(prose)
    if leading or _placeholder_at(prose) is not None:
        yield Finding(
            "S8",
            "WARNING",
            "overview",
            "The purpose is still a placeholder; say in the main spec what the capability is for.",
            _placeholder_line(spec.text, leading=leading),
        )
    elif length(spec.purpose) < SHORTEST_PURPOSE:
        yield Finding(
            "S9",
            "WARNING",
            "overview",
            f"The purpose has fewer than {SHORTEST_PURPOSE} characters; say more.",
        )


def _requirement_findings(spec: SpecDocument) -> Iterator[Finding]:
    for index, requirement in enumerate(spec.requirements):
        if length(requirement.text) > _LONGEST_REQUIREMENT:
            yield Finding(
                "S10",
                "INFO",
                f"requirements[{index}]",
                f"{_quoted(requirement.name)} has more than {_LONGEST_REQUIREMENT} characters; "
                "consider two requirements.",
            )
        if not requirement.scenarios:
            yield Finding(
                "S11",
                "WARNING",
                f"requirements[{index}].scenarios",
                "A scenario is a level-four heading with steps: '#### Scenario: <name>', then "
                "'- **WHEN** …' and '- **THEN** …'.",
            )


def _keyword_findings(blocks: tuple[Block, ...]) -> Iterator[Finding]:
    for index, block in enumerate(blocks):
        if not block.text:
            yield Finding(
                "S12",
                "ERROR",
                f"requirements[{index}]",
                f"{_quoted(block.name)} has no text. {keyword_advice(block.name)}",
            )
        elif not has_keyword(block.text):
            yield Finding(
                "S13",
                "WARNING",
                f"requirements[{index}]",
                f"{_quoted(block.name)} says neither SHALL nor MUST. {keyword_advice(block.name)}",
            )


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
