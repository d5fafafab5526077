"""Taking back what a command did in the repository and its working trees."""

from collections.abc import Callable

from ...errors import RefusedError
from ...storage.git import Checkout, State, Worktree, refusal
from ...storage.journal import Entry, Step
from ...storage.overwrites import overwritten_by
from ..keeping import plan_putting_by
from ..plan import Plan
from ..work import OWN_NOTES, OWN_ON, OWN_START, Work


class Here:
    """Takes back what happened here. Each step returns whether there was something to do.

    What had to be kept for it is added to `kept`.
    """

    def __init__(self, work: Work, entry: Entry, kept: list[dict[str, object]]) -> None:
        self._work = work
        self._entry = entry
        self._kept = kept

    @property
    def kinds(self) -> dict[str, Callable[[Step], bool]]:
        """How each kind of step is taken back."""
        return {
            "branch": self._branch,
            "worktree": self._worktree,
            "record": self._record,
            "commit": self._commit,
            "put_by": self._put_by,
            "move": self._move,
            "restack": self._restack,
            "leave": self._leave,
            "delete_local": self._delete_local,
            "delete_worktree": self._delete_worktree,
        }

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
            self._kept.append(item.as_data())
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
                self._kept.append(item.as_data())
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
            self._kept.append(item.as_data())
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
            self._kept += plan.kept
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
            self._kept += [] if item is None else [item.as_data()]
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
        self._kept.append(item.as_data())
        git.ask("reset", "--soft", before)
        return True

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
        self._kept.append(item.as_data())
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
            self._kept.append(item.as_data())
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
