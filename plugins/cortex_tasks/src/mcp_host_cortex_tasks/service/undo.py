"""Take the last command back, step by step from its end, where nobody went on from it."""

from collections.abc import Callable

from ..errors import BusyError, NotFoundError, RefusedError
from ..storage.claims import CLAIMS
from ..storage.forges import NoForge
from ..storage.git import Checkout, Remote, State, Worktree, refusal
from ..storage.journal import Entry, Journal, Step, Turn
from ..storage.overwrites import overwritten_by
from .keeping import plan_putting_by
from .plan import REACHING_OUT, Plan
from .work import OWN_NOTES, OWN_ON, OWN_START, Work


def undo(work: Work) -> dict[str, object]:
    """Take back the newest command of this repository, or of the user where there is none newer.

    Every step compares first: what was changed since refuses, what is back already is passed over.
    Commits stay reachable under `refs/cortex/kept/`.
    """
    try:
        checkout = work.checkout
    except NotFoundError:
        return _undo(work, work.own_journal, work.own_journal.last())
    with work.turn() as turn:
        turn.take()
        found = [(journal.last(), journal) for journal in (work.journal, work.own_journal)]
        there = [(entry.began, entry, journal) for entry, journal in found if entry is not None]
        if not there:
            return _undo(work, work.journal, None)
        _, entry, journal = max(there, key=lambda item: item[0])
        if doing := checkout.under_way():
            raise RefusedError(f"A {doing} is in progress here.", reason="operation_in_progress")
        if entry.running:
            raise BusyError(
                f"{entry.command} of task {entry.task_id} is still at work.",
                reason="repository_locked",
                suggestions=["Wait for it, then run this again."],
            )
        return _undo(work, journal, entry, turn)


def _undo(
    work: Work, journal: Journal, entry: Entry | None, turn: Turn | None = None
) -> dict[str, object]:
    if entry is None:
        raise NotFoundError("There is nothing to take back.", reason="nothing_to_undo")
    result: dict[str, object] = {
        "success": True,
        "undone": entry.command,
        "task_id": entry.task_id,
    }
    back = _Back(work, entry)
    under_way = next((step for step in entry.steps if not step.done), None)
    steps = [step for step in reversed(entry.steps) if step.done or step is under_way]
    if work.dry_run:
        return {**result, "dry_run": True, "would": [f"take back: {step.what}" for step in steps]}
    taken: list[str] = []
    for step in steps:
        if turn is not None:
            turn.leave() if step.name in REACHING_OUT else turn.take()
        if back.take(step):
            taken.append(step.what)
        step.done = False
        journal.keep(entry)
    entry.undone = True
    journal.keep(entry)
    return {**result, "steps": taken} | ({"kept": back.kept} if back.kept else {})


class _Back:
    """How each kind of step is taken back. Each returns whether there was something to do."""

    def __init__(self, work: Work, entry: Entry) -> None:
        self._work = work
        self._entry = entry
        self.kept: list[dict[str, object]] = []
        self._kinds: dict[str, Callable[[Step], bool]] = {
            "branch": self._branch,
            "worktree": self._worktree,
            "record": self._record,
            "status": self._status,
            "commit": self._commit,
            "push": self._push,
            "pull_request": self._pull_request,
            "keep": self._nothing,
            "put_by": self._put_by,
            "keep_pushed": self._nothing,
            "comment": self._nothing,
            "retarget": self._nothing,
            "edit": self._edit,
            "move": self._move,
            "restack": self._restack,
            "claim": self._claim,
            "release": self._release,
            "leave": self._leave,
            "delete_local": self._delete_local,
            "delete_remote": self._delete_remote,
            "delete_worktree": self._delete_worktree,
            "new": self._new,
            "delete": self._delete,
        }

    def take(self, step: Step) -> bool:
        """Take one step back."""
        return self._kinds[step.name](step)

    # start

    def _branch(self, step: Step) -> bool:
        git, name, back = self._work.checkout, step.after["branch"], step.before["head"]
        moved = git.state().branch == name
        if moved and back:
            self._switch(back)
        return self._delete_made(str(name), step.after.get("made")) or moved

    def _delete_made(self, name: str, made: str | None) -> bool:
        """Delete a branch that `start` made, where nothing was committed on it."""
        git = self._work.checkout
        tip = git.commit_of(f"refs/heads/{name}")
        if made is None or tip is None:
            return False
        if tip != made:
            raise RefusedError(
                f"{name} has commits of its own since; it is not taken back.", reason="moved_on"
            )
        if not git.others_with(tip, f"refs/heads/{name}"):
            item = self._work.kept.keep_commit(tip, name, branch=name, task_id=self._entry.task_id)
            self.kept.append(item.as_data())
        git.ask("update-ref", "-d", f"refs/heads/{name}", made)
        git.forget_section(f"branch.{name}")
        return True

    def _worktree(self, step: Step) -> bool:
        git, path = self._work.checkout, str(step.after["path"])
        trees = git.worktrees()
        there = any(str(tree.path) == path and not tree.gone for tree in trees)
        if there:
            tree = next(tree for tree in trees if str(tree.path) == path)
            self._keep_work_in(tree)
            item = self._work.kept.keep_worktree(
                tree, task_id=self._entry.task_id, home=trees[0].path
            )
            if item is not None:
                self.kept.append(item.as_data())
            git.root = trees[0].path  # git goes on where the repository stays
        return self._delete_made(str(step.after["branch"]), step.after.get("made")) or there

    def _put_by(self, step: Step) -> bool:
        """Put uncommitted work back, where nothing is in its way; else it stays kept."""
        kept, one = self._work.kept, step.after.get("id")
        item = next((item for item in kept.items() if item.id == one), None)
        if item is None:
            return False
        try:
            kept.restore(item.id)
        except RefusedError:
            self.kept.append(item.as_data())
            return False
        return True

    def _make_room(self, state: State, target: str) -> None:
        """Raise where a move would overwrite what is in no commit; asked to, keep that."""
        git, number = self._work.checkout, self._entry.task_id
        lost = overwritten_by(git, state, target)
        if self._work.keep:
            plan = Plan("undo", number)
            lost = plan_putting_by(self._work, plan, state, lost)
            for _, put_by in plan.steps:
                put_by()
            self.kept += plan.kept
        if lost:
            raise RefusedError(
                f"Files that are in no commit would be overwritten: {', '.join(lost[:10])}",
                reason="uncommitted_changes",
                suggestions=["Keep them: ctx undo --keep"],
                details={"files": lost},
            )

    def _keep_work_in(self, tree: Worktree) -> None:
        """Raise where a worktree holds work that is in no commit; asked to, keep that."""
        there = Checkout.open(tree.path)
        state = there.state()
        files = [*state.changed, *state.untracked, *state.conflicted]
        if self._work.keep and not state.conflicted:
            number = self._entry.task_id
            item = self._work.kept.keep_work(there, state, task_id=number, clear=False)
            self.kept += [] if item is None else [item.as_data()]
        elif files:
            raise RefusedError(
                f"{tree.path} has uncommitted work: {', '.join(files[:10])}.",
                reason="moved_on",
                suggestions=["Keep it: ctx undo --keep"],
                details={"files": files[:100]},
            )

    def _record(self, step: Step) -> bool:
        made = any(other.after.get("made") for other in self._entry.steps)
        if not made:  # the branch was there before: only our notes on it go
            for key in OWN_NOTES:
                self._work.checkout.run("config", "--unset", f"branch.{step.after['branch']}.{key}")
        return not made

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

    # the backend

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

    # pr

    def _commit(self, step: Step) -> bool:
        git, branch, before = (
            self._work.checkout,
            str(step.after["branch"]),
            str(step.before["commit"]),
        )
        tip = git.commit_of(f"refs/heads/{branch}")
        if tip == before:
            return False
        made = step.after.get("commit") or tip
        if tip is None or tip != made or git.commit_of(f"{tip}~1") != before:
            raise RefusedError(
                f"{branch} has newer commits; it is not taken back.", reason="moved_on"
            )
        if git.state().branch != branch:
            raise RefusedError(f"Switch to {branch} first.", reason="elsewhere")
        item = self._work.kept.keep_commit(
            tip, f"{branch}-{tip[:12]}", branch=branch, task_id=self._entry.task_id
        )
        self.kept.append(item.as_data())
        git.ask("reset", "--soft", before)
        return True

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

    # sync

    def _move(self, step: Step) -> bool:
        """Move the branch back to where it was before it was rebased or merged into."""
        git, branch = self._work.checkout, str(step.after["branch"])
        tip, old = git.commit_of(f"refs/heads/{branch}"), str(step.before["commit"])
        if tip == old:
            return False
        if tip is None or tip != step.after.get("commit"):
            raise RefusedError(
                f"{branch} has newer commits; it is not taken back.", reason="moved_on"
            )
        state = git.state()
        if state.branch != branch:
            raise RefusedError(f"Switch to {branch} first.", reason="elsewhere")
        self._make_room(state, old)
        item = self._work.kept.keep_commit(
            tip, f"{branch}-{tip[:12]}", branch=branch, task_id=self._entry.task_id
        )
        self.kept.append(item.as_data())
        git.ask("reset", "--quiet", "--keep", old)
        return True

    def _restack(self, step: Step) -> bool:
        git, section = self._work.checkout, f"branch.{step.after['branch']}"
        for key in (OWN_START, OWN_ON):
            value = step.before.get(key)
            if value is None:
                git.run("config", "--unset-all", f"{section}.{key}")
            else:
                git.ask("config", f"{section}.{key}", value)
        return True

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

    # done

    def _nothing(self, step: Step) -> bool:
        return False

    def _leave(self, step: Step) -> bool:
        git, head = self._work.checkout, str(step.before["head"])
        if git.state().branch == head:
            return False
        self._switch(head)
        return True

    def _switch(self, head: str) -> None:
        """Switch to a branch or a commit, where nothing is overwritten."""
        git = self._work.checkout
        commit = git.commit_of(f"refs/heads/{head}")
        state = git.state()
        target = commit or git.commit_of(head)
        if target:
            self._make_room(state, target)
        if state.branch is None and state.head and not git.others_with(state.head):
            wanted = f"detached-{state.head[:10]}"
            item = self._work.kept.keep_commit(
                state.head, wanted, branch=None, task_id=self._entry.task_id
            )
            self.kept.append(item.as_data())
        answer = git.switch(*((head,) if commit else ("--detach", head)))
        if not answer.ok and git.state().branch != head:
            raise refusal(answer, f"Git cannot switch to {head}", reason="switch_refused")

    def _delete_local(self, step: Step) -> bool:
        git, name, tip = self._work.checkout, step.before["branch"], str(step.before["commit"])
        if git.commit_of(f"refs/heads/{name}") is not None:
            return False
        git.ask("update-ref", f"refs/heads/{name}", tip, "")
        for key in ("remote", "merge", *OWN_NOTES):
            if value := step.before.get(key):
                git.ask("config", f"branch.{name}.{key}", value)
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

    def _delete_worktree(self, step: Step) -> bool:
        git, path = self._work.checkout, str(step.before["path"])
        trees = git.worktrees()
        if any(str(tree.path) == path and not tree.gone for tree in trees):
            return False
        kept = step.after.get("kept")
        if kept and any(item.id == kept for item in self._work.kept.items()):
            self._work.kept.restore(kept)
            return True
        for tree in trees:
            if str(tree.path) == path:  # its record is there, its folder is not
                git.run("worktree", "remove", "--force", "--force", path, at=trees[0].path)
        git.ask("worktree", "add", "--quiet", path, str(step.before["branch"]), at=trees[0].path)
        return True

    def _push_back(self, remote: str, branch: str, now: str, then: str) -> None:
        """Move a remote's branch from `now` to `then` ("" is none), only if it is still there."""
        git, ref = self._work.checkout, f"refs/heads/{branch}"
        lease = f"--force-with-lease={ref}:{now}"
        answer = Remote(git, remote).push(lease, specs=(f"{then}:{ref}",))
        if not answer.ok:
            raise refusal(answer, f"{remote} does not take {branch} back", reason="push_refused")


def _plain(value: object) -> str | None:
    return None if value is None else str(value)
