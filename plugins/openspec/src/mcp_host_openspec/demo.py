"""A change's life, for `mcp-host demo`: proposed, validated, refused, archived."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_host import Demo

_SPEC: Final = """\
# auth Specification

## Purpose
Says who may use the shop and how people prove who they are.

## Requirements

### Requirement: Login
The system SHALL ask for a password.

#### Scenario: Right password
- **WHEN** the password is right
- **THEN** the person is let in
"""
_DELTA: Final = """\
## ADDED Requirements

### Requirement: Lockout
The system SHALL lock an account after five wrong passwords.

#### Scenario: Five wrong passwords
- **WHEN** a password is wrong for the fifth time
- **THEN** the account is locked
"""
_CHANGE: Final = "openspec/changes/add-lockout"


def prepare(folder: Path) -> Mapping[str, Any]:
    """A project without a tree."""
    return {"root": str(folder), "debounce": 0.05}


async def play(demo: "Demo") -> None:
    """From an empty folder to an archived change; a fence that is never closed is in the way."""
    demo.say("There is no tree yet; the answer says how to make one.")
    await demo.call("list")
    await demo.call("init")
    _write(demo.folder, "openspec/specs/auth/spec.md", _SPEC)
    demo.say("A change is written as the prompt says, with one task still open.")
    await demo.prompt("openspec-propose", description="Lock accounts", scope="modify-existing")
    _write(demo.folder, f"{_CHANGE}/proposal.md", "## Why\nGuessing.\n\n## What Changes\n- Locks\n")
    _write(demo.folder, f"{_CHANGE}/tasks.md", "- [x] 1.1 Count\n- [ ] 1.2 Lock\n")
    _write(demo.folder, f"{_CHANGE}/specs/auth/spec.md", f"{_DELTA}\n```\nopen\n")
    await demo.call("list")
    await demo.call("validate", name="add-lockout", strict=True)
    demo.say("Archives would lose text, and a task is open: nothing is touched.")
    await demo.call("archive", name="add-lockout")
    await demo.call("archive", name="add-lockout", force=True)
    demo.say("With the fence closed and the task done, the diff is as it should be.")
    _write(demo.folder, f"{_CHANGE}/specs/auth/spec.md", _DELTA)
    _write(demo.folder, f"{_CHANGE}/tasks.md", "- [x] 1.1 Count\n- [x] 1.2 Lock\n")
    await demo.call("archive", name="add-lockout", dryRun=True)
    await demo.call("archive", name="add-lockout")
    await demo.read("openspec://specs")
    await demo.call("validate", type="spec", strict=True)


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
