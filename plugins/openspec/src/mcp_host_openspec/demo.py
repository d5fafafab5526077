"""A change's life, for `mcp-host demo`: proposed, validated, refused, archived."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_host import Stage

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


async def play(stage: "Stage") -> None:
    """From an empty folder to an archived change; a fence that is never closed is in the way."""
    stage.say("There is no tree yet; the answer says how to make one.")
    await stage.call("list")
    await stage.call("init")
    _write(stage.folder, "openspec/specs/auth/spec.md", _SPEC)
    stage.say("A change is written as the prompt says, with one task still open.")
    await stage.prompt("openspec-propose", description="Lock accounts", scope="modify-existing")
    _write(
        stage.folder, f"{_CHANGE}/proposal.md", "## Why\nGuessing.\n\n## What Changes\n- Locks\n"
    )
    _write(stage.folder, f"{_CHANGE}/tasks.md", "- [x] 1.1 Count\n- [ ] 1.2 Lock\n")
    _write(stage.folder, f"{_CHANGE}/specs/auth/spec.md", f"{_DELTA}\n```\nopen\n")
    await stage.call("list")
    await stage.call("validate", name="add-lockout", strict=True)
    stage.say("Archiving would lose text, and a task is open: nothing is touched.")
    await stage.call("archive", name="add-lockout")
    await stage.call("archive", name="add-lockout", force=True)
    stage.say("With the fence closed and the task done, the diff is as it should be.")
    _write(stage.folder, f"{_CHANGE}/specs/auth/spec.md", _DELTA)
    _write(stage.folder, f"{_CHANGE}/tasks.md", "- [x] 1.1 Count\n- [x] 1.2 Lock\n")
    await stage.call("archive", name="add-lockout", dryRun=True)
    await stage.call("archive", name="add-lockout")
    await stage.read("openspec://specs")
    await stage.call("validate", type="spec", strict=True)


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
