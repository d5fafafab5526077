"""One start of one task: what was asked for, and what is known and planned of it so far."""

from functools import cached_property

from ...errors import InvalidError, RefusedError
from ...model.rules import task_of_branch
from ...model.task import Task
from ...storage.config import LOCAL
from ..plan import Plan
from ..work import Work

STARTED = ("IN_PROGRESS", "REVIEW")


class Starting:
    """One start, once its task is known.

    Asked for: `wanted` is a name for the branch, `worktree` None means as the settings say, `steal`
    takes over another clone's claim, and `lower` is the task to stand on. So far: `already` tells
    whether the task was begun before, `reached` whether the base remote was, `apart` whether the
    task gets a worktree, `made` whether its branch is new, `claim` who keeps the claim, `claimed`
    whether it is ours, and `carried` which uncommitted files go along.

    Invariants: what was asked for never changes. `already`, `reached` and `claimed` are false until
    git or the backend has shown otherwise. `plan` says what is to be done, of which nothing is done
    here.
    """

    def __init__(
        self,
        work: Work,
        task: Task,
        *,
        wanted: str | None,
        worktree: bool | None,
        steal: bool,
        lower: int | None,
    ) -> None:
        self.work = work
        self.git = work.checkout
        self.task = task
        self.wanted = wanted
        self.worktree = worktree
        self.steal = steal
        self.lower = lower
        self.plan = Plan("start", task.id)
        self.already = False
        self.carried: list[str] = []
        self.reached = False
        self.claim = "local" if work.config.url == LOCAL else "backend"
        self.claimed = False
        self.apart = False
        self.made = False

    @cached_property
    def main(self) -> str:
        """The name of the main branch."""
        return self.work.main_branch(ask=not self.is_somewhere())

    @cached_property
    def local(self) -> dict[str, str]:
        """The local branches, by name."""
        return self.git.branches()

    @cached_property
    def name(self) -> str:
        """The backend's name for the branch, else one that is there, else a new one."""
        name = self.task.branch_name or self.wanted or self._found() or self.task.new_branch
        return self.git.check_branch_name(name)

    def _found(self) -> str | None:
        """A branch of this task that is here or was seen on the remote."""
        if self.task.new_branch in self.local:
            return self.task.new_branch
        same_number = self.work.of_number(self.task.id, self.local)
        names = [name for name in same_number if self.work.is_of(self.task, name)]
        remote = self.git.push_to(self.task.new_branch)
        if not names and remote is not None:
            prefix = remote.ref("")
            seen = (name.removeprefix(prefix) for name in self.git.refs(prefix))
            names = [name for name in seen if task_of_branch(name) == self.task.id]
        return sorted(names)[0] if names else None

    @cached_property
    def on(self) -> str | None:
        """The branch of the task that this one is to stand on, None for the main branch."""
        if self.lower is None:
            return None
        if self.lower == self.task.id:
            raise InvalidError("A task cannot stand on itself.", reason="bad_stack")
        lower = self.work.branch_of(self.lower)
        name = lower or self.work.tasks.get(self.lower).branch_name
        if name is None:
            raise RefusedError(
                f"Task {self.lower} has no branch yet.",
                reason="no_branch",
                suggestions=[f"ctx tasks start {self.lower}"],
            )
        return self.git.check_branch_name(name)

    def is_somewhere(self) -> bool:
        """Tell whether the task's branch is checked out in some working tree."""
        return any(tree.branch == self.name and not tree.gone for tree in self.git.worktrees())

    def look_again(self) -> None:
        """Forget what was read of the branches and of git's configuration: others were at work."""
        self.__dict__.pop("local", None)
        self.git.look_again()
