"""A project: what its files, the person's own settings and the environment say of it together."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ..errors import UnavailableError
from ..model import Status
from .conditions import Condition
from .location import Location
from .worktrees import moved_worktree, orphaned_worktree

FOLDER = ".tasky"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as its files describe it.

    Invariants: it never changes. The file of a `location` lies in `folder`, or, of a worktree, in
    that of the main one; `conditions` are from the person's own settings alone.
    """

    folder: Path
    id: str
    name: str
    description: str
    zone: tzinfo
    priority: int
    status: Status
    location: Location
    here: Path | None = None
    """The folder that was asked for: in a worktree another one than where the plan is."""
    closes_parents: bool = False
    refuses_blocked: bool = False
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    logging: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_made(self) -> bool:
        """Whether the store is there; a database tells when it is asked."""
        return self.location.path is None or self.location.path.exists()


def no_project(folder: Path) -> UnavailableError:
    moved = moved_worktree(folder)
    if moved:
        return UnavailableError(
            f"There is no Tasky project in {folder}: it is in a worktree that was moved by hand, "
            "so that git does not know it.",
            reason="no_project",
            suggestions=[f"Run in {moved}, to see its repository's plan: git worktree repair"],
        )
    orphaned = orphaned_worktree(folder)
    if orphaned:
        top, repository = orphaned
        return UnavailableError(
            f"There is no Tasky project in {folder}: it is in a worktree of a repository that is "
            f"no longer at {repository}.",
            reason="no_project",
            suggestions=[
                "To see its plan, run where the repository is now: "
                f"git worktree repair {shlex.quote(str(top))}"
            ],
        )
    return UnavailableError(
        f"There is no Tasky project in {folder}.",
        reason="no_project",
        suggestions=["Run in the project's folder: tasky project init"],
    )
