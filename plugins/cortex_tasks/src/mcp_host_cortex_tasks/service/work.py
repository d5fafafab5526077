"""What every command works with: the settings, the tasks, the checkout, the journal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mcp_host_cortex_tasks.errors import Refused
from mcp_host_cortex_tasks.model import task_of_branch
from mcp_host_cortex_tasks.storage.config import Config
from mcp_host_cortex_tasks.storage.git import Checkout
from mcp_host_cortex_tasks.storage.journal import Journal, only_one
from mcp_host_cortex_tasks.storage.tasks import Tasks, open_tasks

OWN_TASK = "cortex-task"
OWN_START = "cortex-start"
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
        recorded = self.checkout.config(f"branch.{branch}.{OWN_TASK}")
        if recorded and recorded.isascii() and recorded.isdigit():
            return int(recorded)
        return task_of_branch(branch)

    def at_task(self, number: int | None) -> "Work":
        """Return this work in the working tree that has the task's branch; None stays here."""
        if number is None:
            return self
        for tree in self.checkout.worktrees():
            if tree.branch and not tree.gone and self.task_of(tree.branch) == number:
                return Work(self.config, tree.path, self.dry_run)
        raise Refused(
            f"The branch of task {number} is checked out nowhere.",
            reason="not_checked_out",
            suggestions=[f"ctx tasks start {number}"],
        )

    def branch_of(self, number: int) -> str | None:
        """Return the local branch of a task, the one that is checked out here before others."""
        state = self.checkout.state()
        names = [state.branch, *sorted(self.checkout.branches())]
        return next((name for name in names if name and self.task_of(name) == number), None)

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
