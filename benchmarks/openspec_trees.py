"""OpenSpec trees made for measuring: many specs, or many changes."""

from pathlib import Path

CHANGES_SHOWN = "change-007"
SPEC_SHOWN = "area-3/capability-007"


def many_specs(project: Path, specs: int = 400) -> Path:
    """A tree of specs as large as real ones, and a handful of changes."""
    for number in range(specs):
        _write(project / f"openspec/specs/{_capability(number)}/spec.md", _spec(number))
    for number in range(7, 14):
        _change(project, number)
    return project


def many_changes(project: Path, changes: int = 200) -> Path:
    """A tree of changes, each with proposal, tasks, design and two deltas, over fifty specs."""
    for number in range(50):
        _write(project / f"openspec/specs/{_capability(number)}/spec.md", _spec(number))
    for number in range(changes):
        _change(project, number)
    return project


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _capability(number: int) -> str:
    return f"area-{number % 4}/capability-{number:03}"


def _requirement(name: str, scenarios: int = 3) -> str:
    text = (
        f"### Requirement: {name}\n\nThe system SHALL do what {name} says, for every person who "
        "asks for it, within the time that was agreed on.\n"
    )
    for scenario in range(scenarios):
        text += (
            f"\n#### Scenario: Case {scenario} of {name}\n\n- **WHEN** a person asks for it\n"
            "- **AND** nothing speaks against it\n- **THEN** it is done\n"
        )
    return text


def _spec(number: int) -> str:
    requirements = "\n".join(_requirement(f"Rule {rule} of {number}") for rule in range(9))
    return (
        f"# capability-{number:03} Specification\n\n## Purpose\nSays what number {number} does, "
        f"for whom and within which limits.\n\n## Requirements\n\n{requirements}"
    )


def _change(project: Path, number: int) -> None:
    folder = project / f"openspec/changes/change-{number:03}"
    _write(
        folder / "proposal.md",
        f"# Change: Number {number}\n\n## Why\nPeople asked for number {number} again and again, "
        "and nothing speaks against it.\n\n## What Changes\n- Adds a rule\n",
    )
    tasks = "".join(
        f"\n## {group}. Group\n\n"
        + "".join(f"- [{'x' if task % 2 else ' '}] {group}.{task} Task\n" for task in range(1, 9))
        for group in range(1, 4)
    )
    _write(folder / "tasks.md", tasks)
    _write(folder / "design.md", "# Design\n\n" + "A decision and its reasons.\n\n" * 30)
    _write(folder / ".openspec.yaml", "schema: spec-driven\ncreated: 2026-01-02\n")
    one, other = number % 50, (number + 17) % 50
    new = _requirement(f"New rule of change {number}")
    _write(folder / f"specs/{_capability(one)}/spec.md", f"## ADDED Requirements\n\n{new}")
    changed = _requirement(f"Rule 4 of {other}").replace("agreed on", "promised")
    _write(folder / f"specs/{_capability(other)}/spec.md", f"## MODIFIED Requirements\n\n{changed}")
