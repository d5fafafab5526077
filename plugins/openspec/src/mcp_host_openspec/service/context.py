"""The texts that describe a project: instructions, project.md, and setting both up."""

import re
from typing import Final

from ..model.outline import Outline
from ..model.text import line_ending, trim, with_line_ending

INSTRUCTIONS: Final = """\
# OpenSpec instructions

How this project keeps its specs, for whoever works on it.

- `specs/<capability>/spec.md` says what is true now. A capability may be nested: `area/name`.
- `changes/<id>/` proposes a change: `proposal.md` (why, what), `tasks.md` (boxes to tick),
  `design.md` where decisions need explaining, and `specs/<capability>/spec.md` with deltas.
- `changes/archive/` keeps what was done, by date.

## Working on a change

1. Read `project.md`, the specs concerned and the other active changes.
2. Choose an id in kebab-case that begins with a verb: `add-login-limit`.
3. Write `proposal.md` with `## Why` and `## What Changes`, `tasks.md`, and the deltas.
4. Validate the change, strictly, and settle every finding before asking for approval.
5. Once approved, do the tasks in order and tick each when it is done.
6. When everything is deployed, archive the change: its deltas become part of the specs.

## Writing deltas

- `## ADDED Requirements`: requirements that are new.
- `## MODIFIED Requirements`: the whole requirement, as it shall read, with all its scenarios.
- `## REMOVED Requirements`: the headings of those that go.
- `## RENAMED Requirements`: a line ``- FROM: `### Requirement: Old` `` and below it
  ``- TO: `### Requirement: New` ``.

A requirement is `### Requirement: <name>`, one or more sentences with SHALL or MUST, and at least
one `#### Scenario: <name>` with the steps `- **WHEN** …` and `- **THEN** …`.
"""

PROJECT: Final = """\
# Project context

## Purpose

What this project is for.

## Tech Stack

- Languages, frameworks and services in use

## Project Conventions

### Code Style

### Architecture Patterns

### Testing Strategy

### Git Workflow

## Domain Context

## Important Constraints

## External Dependencies
"""

CONFIG: Final = "schema: spec-driven\n"

CONFIG_WITH_HINTS: Final = """\
schema: spec-driven

# What an assistant should know of the project: its stack, its conventions, its domain.
# context: |
#   A shop in TypeScript. Commits follow the Conventional Commits.

# Rules for single artifacts.
# rules:
#   proposal:
#     - At most 500 words
#   tasks:
#     - No task takes longer than two hours

# Guidance for carrying out and archiving.
# operations:
#   apply:
#     guidance:
#       - Run the tests after each task
"""

_CONTEXT_KEY: Final = re.compile(r"""(?:context|"context"|'context')[ \t]*:""")

BLOCK_BEGIN: Final = "<!-- OPENSPEC:START -->"
BLOCK_END: Final = "<!-- OPENSPEC:END -->"

TOOL_BLOCK: Final = f"""\
{BLOCK_BEGIN}
This project keeps specs under `openspec/`. Read `openspec/AGENTS.md` before planning or proposing
a change, and whenever a request speaks of specs, proposals or changes.
{BLOCK_END}
"""


_CONTEXT_HINT: Final = """\
# What an assistant should know of the project: its stack, its conventions, its domain.
# context: |
#   A shop in TypeScript. Commits follow the Conventional Commits.
"""


def with_language(language: str) -> str:
    """A new configuration whose context names the language to write in."""
    context = (
        "context: |\n"
        f"  Language: {language}\n"
        f"  All artifacts must be written in {language}.\n"
        "  Keep OpenSpec structural headings and SHALL/MUST keywords in English.\n"
    )
    return CONFIG_WITH_HINTS.replace(_CONTEXT_HINT, context)


def with_line(config: str, key: str, value: str) -> str:
    """A configuration in which a key at the top has another value of one line."""
    ending = line_ending(config) or "\n"
    lines = config.replace("\r\n", "\n").rstrip("\n").split("\n")
    found = re.compile(rf"""(?:{key}|"{key}"|'{key}')[ \t]*:""")
    at = next((i for i, line in enumerate(lines) if found.match(line)), None)
    if at is None:
        lines.append(f"{key}: {value}")
    else:
        comment = re.search(r"\s#.*$", lines[at])
        lines[at] = f"{key}: {value}{comment[0] if comment else ''}"
        while at + 1 < len(lines) and lines[at + 1][:1] in (" ", "\t"):
            del lines[at + 1]
    return with_line_ending("\n".join(lines) + "\n", ending)


def with_tool_block(text: str) -> str:
    """A tool's instruction file with our block in it: replaced where it stands, else on top."""
    begin, end = text.find(BLOCK_BEGIN), text.find(BLOCK_END)
    if 0 <= begin < end:
        return text[:begin] + TOOL_BLOCK.rstrip("\n") + text[end + len(BLOCK_END) :]
    return TOOL_BLOCK + (f"\n{text}" if text else "")


def with_context(config: str, context: str) -> str:
    """A configuration with another context; comments and all else stay where they are."""
    ending = line_ending(config) or "\n"
    block = ["context: |", *(f"  {line}".rstrip() for line in context.strip("\n").split("\n"))]
    lines = config.replace("\r\n", "\n").rstrip("\n").split("\n")
    begin = next((i for i, line in enumerate(lines) if _CONTEXT_KEY.match(line)), None)
    if begin is None:
        lines += ["", *block]
    else:
        end = begin + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
            end += 1
        while end > begin + 1 and not lines[end - 1].strip():
            end -= 1
        lines[begin:end] = block
    return with_line_ending("\n".join(lines) + "\n", ending)


def appended(text: str, addition: str) -> str:
    """A document with more at its end, one blank line apart."""
    ending = line_ending(text)
    above = text.rstrip("\r\n")
    joined = (
        f"{above}\n\n{addition.strip(chr(10))}\n" if trim(text) else f"{addition.rstrip(chr(10))}\n"
    )
    return with_line_ending(joined, ending)


def with_section(text: str, title: str, content: str, *, merge: bool) -> str:
    """A document with one section's text replaced, or with `merge` added to.

    The section is found by its title at any level, without regard to case; a section that is not
    there becomes a new one of level two at the end.
    """
    ending = line_ending(text)
    outline = Outline(text)
    section = outline.find(title)
    if section is None:
        return appended(text, f"## {title}\n\n{content}")
    body = trim("\n".join(section.lines)) if merge else ""
    inner = [part for part in (body, content.strip("\n")) if part]
    begin, end = section.line + 1, section.line + 1 + len(section.lines)
    below = outline.lines[end:]
    lines = [*outline.lines[:begin], "", *"\n\n".join(inner).split("\n"), ""]
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    joined = "\n".join([*lines, *below] if below else lines)
    return bom + with_line_ending(joined, ending)
