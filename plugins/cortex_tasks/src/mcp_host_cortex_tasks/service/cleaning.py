"""Cleaning up behind a task that is merged: its worktree, its branch, and the remote's."""

from pathlib import Path

from ..errors import RefusedError, UnavailableError
from ..storage.git import Checkout, Remote, State, Worktree, cause
from ..storage.overwrites import overwritten_by
from .keeping import plan_keeping, plan_putting_by
from .plan import Plan, Refs
from .work import OWN_NOTES, Work


class Cleaning:
    """What `done` takes away of one branch.

    `tree` is the working tree that it happens in, `cleaned` what went, and `carried` the new files
    that go along to the main branch.
    """

    def __init__(self, work: Work, plan: Plan, branch: str, task_id: int) -> None:
        self._work = work
        self._git = work.checkout
        self._plan = plan
        self._branch = branch
        self._task_id = task_id
        self._home = work.checkout.root  # where git still works once a worktree is gone
        self.tree = work.checkout.root
        self.cleaned: list[str] = []
        self.carried: list[str] = []

    def plan_all(self, tip: str, main: str) -> None:
        """Plan what the settings say of a merged branch: its worktree, it, and the remote's."""
        config = self._work.here
        trees = self._git.worktrees()
        self._home = trees[0].path
        holding = next((tree for tree in trees if tree.branch == self._branch), None)
        linked = holding is not None and not _same(holding.path, self._home)
        remove_tree = linked and config.flag("delete_worktree_on_done")
        left = remove_tree and holding is not None and self._why_it_stays(holding)
        delete_local = config.flag("delete_local_on_done") and self._is_at(tip)
        delete_remote = config.flag("delete_remote_on_done") and self._remote is not None
        if left:
            self._plan.warnings.append(left)
            remove_tree = False
        if delete_local and linked and not remove_tree:
            self._plan.warnings.append(f"{self._branch} stays: it is checked out in its worktree.")
            delete_local = False
        remote_tip = self._remote_tip(tip) if delete_remote else None
        if delete_local or remote_tip:
            self._plan_keep(tip)
        if remove_tree and holding is not None:
            self._plan_worktree(holding)
        elif delete_local and holding is not None:
            delete_local = self._plan_leave(holding, main, tip)
        if delete_local:
            self._plan_local(tip)
        if remote_tip:
            self._plan_remote(remote_tip)

    def _is_at(self, tip: str) -> bool:
        return self._git.commit_of(f"refs/heads/{self._branch}") == tip

    def _why_it_stays(self, tree: Worktree) -> str | None:
        """Return why a worktree cannot be moved out of sight, None where it can."""
        if tree.gone:
            return None
        if tree.locked:
            return f"{tree.path} is locked and stays."
        there = Checkout.open(tree.path)
        state = there.state()
        files = [*state.changed, *state.untracked, *state.conflicted]
        if files and (not self._work.keep or state.conflicted):
            return f"{tree.path} has uncommitted work and stays: {', '.join(files[:10])}."
        if doing := there.under_way():
            return f"A {doing} is in progress in {tree.path}, which stays."
        try:
            self._work.kept.refuse_other_file_system(tree.path)
        except RefusedError as error:
            return error.message
        return None

    @property
    def _remote(self) -> Remote | None:
        return self._git.push_to(self._branch)

    def _remote_tip(self, tip: str) -> str | None:
        """Where the remote has the branch, when that is what was proven to be merged."""
        if self._remote is None:
            return None
        tips = self._work.look(self._branch) if self._remote is self._git.base else None
        tips = self._remote.tips(self._branch) if tips is None else tips
        if tips is None:
            return tip  # out of reach now; the deletion is compared with the tip when it happens
        there = tips.get(self._branch)
        if there is not None and there != tip:
            self._plan.warnings.append(f"The remote's {self._branch} has other commits and stays.")
            return None
        return there

    def _plan_keep(self, tip: str) -> None:
        """Before branches go: a ref of ours, where no other one would hold the commits."""
        going = [f"refs/heads/{self._branch}"]
        if self._remote is not None:
            going.append(self._remote.ref(self._branch))
        plan_keeping(self._work, self._plan, tip, *going, wanted=self._branch)

    def _plan_worktree(self, tree: Worktree) -> None:
        self.tree = tree.path

        def remove() -> Refs:
            if why := self._why_it_stays(tree):
                raise RefusedError(why, reason="worktree_busy")
            if self._work.keep and not tree.gone:
                there = Checkout.open(tree.path)
                work = self._work.kept.keep_work(
                    there, there.state(), task_id=self._task_id, clear=False
                )
                self._plan.kept += [] if work is None else [work.as_data()]
            item = self._work.kept.keep_worktree(tree, task_id=self._task_id, home=self._home)
            self._git.root = self._home  # git goes on where the repository stays
            self.cleaned.append("worktree")
            if item is None:
                return {}
            self._plan.kept.append(item.as_data())
            return {"kept": item.id}

        self._plan.add(
            "delete_worktree",
            f"move the worktree {tree.path} out of sight",
            remove,
            before={"path": str(tree.path), "branch": self._branch},
            after={},
        )

    def _plan_leave(self, tree: Worktree, main: str, tip: str) -> bool:
        """Plan to go back to the main branch; False where uncommitted work would be in danger."""
        if not _same(tree.path, self._git.root):
            self._plan.warnings.append(f"{self._branch} stays: it is checked out in {tree.path}.")
            return False
        state = self._git.state()
        target = self._git.commit_of(f"refs/heads/{main}") or self._work.main_commit(main)
        if why := self._why_not_leave(state, main, target):
            self._plan.warnings.append(f"{self._branch} stays checked out because {why}.")
            return False
        self.carried = [] if self._work.keep else list(state.untracked)

        def leave() -> Refs:
            new = self._git.commit_of(f"refs/heads/{main}") is None
            how = ("--no-track", "--create", main, target) if new else (main,)
            answer = self._git.switch(*how)
            if not answer.ok and self._git.state().branch != main:
                raise RefusedError(
                    f"Git cannot switch to {main}: {answer.complaint}", reason="switch_refused"
                )
            return {}

        self._plan.add(
            "leave", f"switch to {main}", leave, before={"head": self._branch}, after={"head": main}
        )
        return True

    def _why_not_leave(self, state: State, main: str, target: str) -> str | None:
        """Return why the working tree must not move to the main branch, None where it may.

        Asked to keep what is uncommitted, plan that.
        """
        if any(tree.branch == main for tree in self._git.worktrees()):
            return f"{main} is checked out elsewhere"
        if doing := self._git.under_way():
            return f"a {doing} is in progress"
        lost = overwritten_by(self._git, state, target)
        if self._work.keep:
            lost = plan_putting_by(self._work, self._plan, state, lost)
        elif changed := [*state.changed, *state.conflicted]:
            return f"of uncommitted work: {', '.join(changed[:10])}"
        if lost:
            return f"{main} would overwrite files that are in no commit: {', '.join(lost[:10])}"
        return None

    def _plan_local(self, tip: str) -> None:
        branch = self._branch
        section = {
            key: value
            for key in ("remote", "merge", *OWN_NOTES)
            if (value := self._git.config(f"branch.{branch}.{key}")) is not None
        }

        def delete() -> Refs:
            # Compared and deleted in one: a commit made meanwhile keeps its branch.
            self._git.ask("update-ref", "-d", f"refs/heads/{branch}", tip, at=self._home)
            self._git.forget_section(f"branch.{branch}")
            self.cleaned.append("local_branch")
            return {}

        self._plan.add(
            "delete_local",
            f"delete the local branch {branch}",
            delete,
            before={"branch": branch, "commit": tip, **section},
            after={},
        )

    def _plan_remote(self, tip: str) -> None:
        self._plan.add(
            "delete_remote",
            f"delete {self._branch} on {self._remote}",
            lambda: self._delete_remote(tip),
            before={"branch": self._branch, "commit": tip, "remote": str(self._remote)},
            after={},
        )

    def _delete_remote(self, tip: str) -> Refs:
        if self._remote is None:
            return {}
        ref = f"refs/heads/{self._branch}"
        lease = f"--force-with-lease={ref}:{tip}"
        answer = self._remote.push(lease, specs=(f":{ref}",), at=self._home)
        if answer.ok:
            self.cleaned.append("remote_branch")
        elif "\n!\t" in f"\n{answer.out}" or answer.status == 1:
            # The task is done whatever the remote thinks of its branch: told, not failed.
            self._plan.warnings.append(
                f"{self._remote} keeps {self._branch}: {cause(answer.complaint)}"
            )
        else:
            raise UnavailableError(
                f"{self._remote} cannot be reached: {cause(answer.complaint)}",
                reason="remote_unreachable",
            )
        return {}


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
