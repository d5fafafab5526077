"""What every command works with: the settings, the tasks, the checkout, the journal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mcp_host_cortex_tasks.errors import CortexError, Refused
from mcp_host_cortex_tasks.model import Task, task_of_branch
from mcp_host_cortex_tasks.storage.config import Config
from mcp_host_cortex_tasks.storage.git import Checkout
from mcp_host_cortex_tasks.storage.journal import Journal, only_one
from mcp_host_cortex_tasks.storage.tasks import Tasks, open_tasks

OWN_TASK = "cortex-task"
OWN_CREATED = "cortex-created"
OWN_START = "cortex-start"
OWN_NOTES = (OWN_TASK, OWN_CREATED, OWN_START)
"""What `start` lets git remember of a branch: its task, when that was made, where it began."""
LOCK_WAIT = 30.0


@dataclass
class Work:
    """One person's work in one folder. Everything is opened when it is first asked for."""

    config: Config
    folder: Path
    dry_run: bool = False

    @cached_property
    def checkout(self) -> Checkout:
        """The git working tree of the folder."""
        return Checkout(
            self.folder,
            reach_limit=self.config.seconds("timeout"),
            hook_limit=self.config.seconds("git_timeout"),
        )

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks of the caller."""
        return open_tasks(self.config)

    @cached_property
    def journal(self) -> Journal:
        """The journal of this repository, shared by its worktrees."""
        return Journal(self.checkout.common / "cortex" / "journal")

    @cached_property
    def own_journal(self) -> Journal:
        """The journal of what concerns no repository."""
        return Journal(self.config.home / "journal")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other `ctx` commands out of this repository; a dry run disturbs nobody."""
        if self.dry_run:
            yield
            return
        with only_one(self.checkout.common / "cortex", LOCK_WAIT):
            yield

    def main_branch(self) -> str:
        """The name of the branch that tasks start from and end in."""
        return self.checkout.main_branch(self.config.text("git_main_branch"))

    def main_commit(self, main: str) -> str:
        """The commit of the main branch: the remote's where we know it, else the local one."""
        commit = self.checkout.tracked(main) or self.checkout.commit_of(f"refs/heads/{main}")
        if commit is None:
            raise Refused(
                f"The main branch {main} has no commit yet.",
                reason="no_commits",
                suggestions=["Commit something on it first."],
            )
        return commit

    def task_of(self, branch: str) -> int | None:
        """The task that a local branch belongs to: as `start` recorded, else by its name."""
        return _task_of(branch, self.checkout.config(f"branch.{branch}.{OWN_TASK}"))

    def of_number(self, number: int, names: Iterable[str]) -> list[str]:
        """Those of the local branches that belong to a task of this number, of any backend."""
        recorded = self.checkout.config_of_branches(OWN_TASK)
        return [name for name in names if _task_of(name, recorded.get(name)) == number]

    def is_of(self, task: Task, branch: str) -> bool:
        """Whether a branch with the task's number is this task's: backends number alike.

        It is unless it was recorded for a task made at another moment; the backend may know better.
        """
        if task.created_at is None or task.branch_name == branch:
            return True
        made = self.checkout.config(f"branch.{branch}.{OWN_CREATED}")
        return made in (None, task.created_at)

    def check_of(self, task: Task, branch: str) -> None:
        """Raise where a branch with the task's number was recorded for another backend's task."""
        if not self.is_of(task, branch):
            raise Refused(
                f"{branch} belongs to a task {task.id} of another backend, not to"
                f" {task.title!r} of {self.config.url}.",
                reason="other_backend",
                suggestions=[
                    "Name the backend of the branch: ctx config set url URL",
                    f"Or give this task its own branch: ctx tasks start {task.id}",
                ],
            )

    def at_task(self, number: int | None) -> "Work":
        """Return this work in the working tree that has the task's branch; None stays here."""
        if number is None:
            return self
        trees = {tree.branch: tree for tree in self.checkout.worktrees() if not tree.gone}
        branch = self._first_of(number, [name for name in trees if name])
        if branch is not None:
            return Work(self.config, trees[branch].path, self.dry_run)
        raise Refused(
            f"The branch of task {number} is checked out nowhere.",
            reason="not_checked_out",
            suggestions=[f"ctx tasks start {number}"],
        )

    def branch_of(self, number: int) -> str | None:
        """Return the local branch of a task, the one that is checked out here before others."""
        here = self.checkout.state().branch
        names = sorted(self.checkout.branches(), key=lambda name: (name != here, name))
        return self._first_of(number, names)

    def _first_of(self, number: int, names: list[str]) -> str | None:
        """The first branch of a task; of several, the first that is not another backend's."""
        found = self.of_number(number, names)
        if len(found) > 1:
            with suppress(CortexError):  # out of reach, the backend cannot tell them apart
                task = self.tasks.get(number)
                found = [name for name in found if self.is_of(task, name)] or found
        return found[0] if found else None

    def current_task(self) -> tuple[str, int]:
        """Return the branch checked out and its task; raise when there is none."""
        state = self.checkout.state()
        if state.branch is None:
            raise Refused(
                "HEAD is detached: no branch is checked out.",
                reason="detached_head",
                suggestions=["Switch to the task's branch: ctx tasks start ID"],
            )
        task_id = self.task_of(state.branch)
        if task_id is None:
            raise Refused(
                f"{state.branch} is not the branch of a task.",
                reason="not_a_task_branch",
                suggestions=["ctx tasks start ID"],
            )
        return state.branch, task_id


def _task_of(branch: str, recorded: str | None) -> int | None:
    if recorded and recorded.isascii() and recorded.isdigit():
        return int(recorded)
    return task_of_branch(branch)
