"""Taking back what a command told others: the backend, the remotes, the forge."""

from collections.abc import Callable

from ...errors import NotFoundError, RefusedError
from ...storage.claims import CLAIMS
from ...storage.forges import NoForge
from ...storage.git import Remote, refusal
from ...storage.journal import Entry, Step
from ..work import Work


class There:
    """Takes back what others were told. Each step returns whether there was something to do."""

    def __init__(self, work: Work, entry: Entry) -> None:
        self._work = work
        self._entry = entry

    @property
    def kinds(self) -> dict[str, Callable[[Step], bool]]:
        """How each kind of step is taken back."""
        return {
            "status": self._status,
            "push": self._push,
            "pull_request": self._pull_request,
            "edit": self._edit,
            "claim": self._claim,
            "release": self._release,
            "delete_remote": self._delete_remote,
            "new": self._new,
            "delete": self._delete,
        }

    def _status(self, step: Step) -> bool:
        before = {key: value for key, value in step.before.items() if key != "status" or value}
        if not before:
            raise RefusedError(
                "The task's state before is not known; it cannot be taken back.", reason="moved_on"
            )
        task = self._work.tasks.get(self._entry.task_id)
        now = {"status": task.status, "branch_name": task.branch_name}
        if all(now[key] == value for key, value in before.items()):
            return False
        if any(now[key] != value for key, value in step.after.items()):
            raise RefusedError(
                f"Task {task.id} is {task.status} now: somebody went on.", reason="moved_on"
            )
        self._work.tasks.change(task.id, before, seen=task)
        return True

    def _new(self, step: Step) -> bool:
        try:
            self._work.tasks.delete(self._entry.task_id)
        except NotFoundError:
            return False  # it is gone already
        return True

    def _delete(self, step: Step) -> bool:
        try:
            self._work.tasks.get(self._entry.task_id)
        except NotFoundError:
            self._work.tasks.restore(self._entry.task_id)
            return True
        return False  # it is back already

    def _edit(self, step: Step) -> bool:
        task = self._work.tasks.get(self._entry.task_id)
        data = task.as_data()
        now = {key: data[key] for key in step.before}
        if all(_plain(now[key]) == value for key, value in step.before.items()):
            return False
        if any(_plain(now[key]) != value for key, value in step.after.items()):
            raise RefusedError(
                f"Task {task.id} was changed since: somebody went on.", reason="moved_on"
            )
        back = {
            key: int(value) if value is not None and key == "assignee_id" else value
            for key, value in step.before.items()
        }
        self._work.tasks.change(task.id, back, seen=task)
        return True

    def _claim(self, step: Step) -> bool:
        claim = step.after.get("claim")
        return claim is not None and self._work.claims.drop(self._entry.task_id, claim)

    def _release(self, step: Step) -> bool:
        name, claim = f"{CLAIMS}{self._entry.task_id}", step.before.get("claim")
        git = self._work.checkout
        if claim is None or git.object_of(claim) is None or git.object_of(name) is not None:
            return False
        if git.base is None:
            return False
        lease = f"--force-with-lease={name}:"
        answer = git.base.push(lease, "--no-verify", specs=(f"{claim}:{name}",))
        if answer.ok:
            git.ask("update-ref", name, claim)
        return answer.ok

    def _push(self, step: Step) -> bool:
        branch, remote = str(step.after["branch"]), step.after.get("remote")
        if remote is None:
            return False
        git = self._work.checkout
        tips = Remote(git, remote).tips(branch)
        there, before = (tips or {}).get(branch), step.before["commit"]
        if tips is not None and there == before:
            return False
        made = step.after.get("commit") or git.commit_of(f"refs/heads/{branch}")
        if there != made or made is None:
            raise RefusedError(f"{remote}'s {branch} has moved on.", reason="moved_on")
        self._push_back(remote, branch, made, before or "")
        return True

    def _delete_remote(self, step: Step) -> bool:
        git, branch, remote = (
            self._work.checkout,
            str(step.before["branch"]),
            str(step.before["remote"]),
        )
        tips = Remote(git, remote).tips(branch)
        if tips is not None and branch in tips:
            return False
        self._push_back(remote, branch, "", str(step.before["commit"]))
        return True

    def _push_back(self, remote: str, branch: str, now: str, then: str) -> None:
        """Move a remote's branch from `now` to `then` ("" is none), only if it is still there."""
        git, ref = self._work.checkout, f"refs/heads/{branch}"
        lease = f"--force-with-lease={ref}:{now}"
        answer = Remote(git, remote).push(lease, specs=(f"{then}:{ref}",))
        if not answer.ok:
            raise refusal(answer, f"{remote} does not take {branch} back", reason="push_refused")

    def _pull_request(self, step: Step) -> bool:
        made = step.after.get("made")
        if made is None:
            return False
        forge = self._work.places.forge(str(step.after["branch"]))
        if isinstance(forge, NoForge):
            raise RefusedError(
                f"The pull request cannot be closed: {forge.note}", reason="no_forge"
            )
        with forge:
            forge.close(int(made))
        return True


def _plain(value: object) -> str | None:
    return None if value is None else str(value)
