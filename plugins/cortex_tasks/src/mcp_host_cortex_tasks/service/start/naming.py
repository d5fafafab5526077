"""The name of a task's branch: whether it may be that."""

from ...errors import InvalidError, RefusedError
from ...model.rules import task_of_branch
from .starting import Starting


def check_name(it: Starting) -> None:
    """Raise where the branch is another's: another task's, the main one, or nobody's."""
    name = it.name
    if it.task.branch_name and it.wanted not in (None, name):
        raise InvalidError(f"Task {it.task.id} has the branch {name} already.", reason="has_branch")
    if name == it.main:
        raise RefusedError(f"{name} is the main branch, not a task's.", reason="branch_taken")
    owner = _owner(it, name)
    if owner not in (None, it.task.id):
        raise RefusedError(
            f"The branch {name} belongs to task {owner}.",
            reason="branch_taken",
            suggestions=[f"ctx tasks start {it.task.id} --branch NAME"],
        )
    if name in it.local:
        it.work.check_of(it.task, name)
    if owner is None and name in it.local and name != it.task.branch_name:
        raise RefusedError(
            f"There is a branch {name} that belongs to no task.",
            reason="branch_taken",
            suggestions=[f"ctx tasks start {it.task.id} --branch {it.task.new_branch}"],
        )


def _owner(it: Starting, name: str) -> int | None:
    return it.work.task_of(name) if name in it.local else task_of_branch(name)


def refuse_blocked_name(it: Starting) -> None:
    """Git cannot keep `feature` and `feature/x` both."""
    name = it.name
    for other in it.local:
        if name.startswith(f"{other}/") or other.startswith(f"{name}/"):
            raise RefusedError(
                f"The branch {other} stands in the way of {name}.",
                reason="branch_blocked",
                suggestions=[
                    f"Rename it: git branch -m {other} {other}-old",
                    f"Or name another: ctx tasks start {it.task.id} --branch {_other_kind(name)}",
                ],
            )


def _other_kind(name: str) -> str:
    kind, slash, rest = name.partition("/")
    return f"{'fix' if kind != 'fix' else 'chore'}/{rest if slash else name}"
