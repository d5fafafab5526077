"""Complete a task: proof of the merge, then the backend, then the cleaning up."""

import re
from dataclasses import dataclass
from pathlib import Path

from mcp_host_cortex_tasks.errors import CortexError, NotFound, Refused, Unavailable
from mcp_host_cortex_tasks.model import Task
from mcp_host_cortex_tasks.service.plan import Plan, Refs
from mcp_host_cortex_tasks.service.work import OWN_NOTES, OWN_START, Work
from mcp_host_cortex_tasks.storage.forges import Forge, choose_forge, parse_address
from mcp_host_cortex_tasks.storage.git import KEPT, Worktree, last_line
from mcp_host_cortex_tasks.storage.journal import Entry

# How the reflog tells of moves to commits that were there before.
BROUGHT = re.compile(r"^branch: Created|: Fast-forward$|^reset: |\(finish\): ")


@dataclass(slots=True)
class Complete:
    """Complete a task, the current one unless named.

    `force` changes the state without proof and cleans nothing.
    """

    work: Work
    force: bool = False
    task_id: int | None = None

    def run(self) -> dict[str, object]:
        """Mark the task done and clean up as the settings say; doing it again does nothing."""
        with self.work.alone():
            branch = self._branch()
            if branch is None and (entry := self._begun()):
                return self._resume(entry)
            if branch is None and self.task_id is not None:
                raise NotFound(
                    f"Task {self.task_id} has no branch here.",
                    reason="no_branch",
                    suggestions=[f"ctx tasks start {self.task_id}"],
                )
            if branch is None or self.task_id is None:
                branch, self.task_id = self.work.current_task()
            return _Completion(self.work, branch, self.task_id, force=self.force).run()

    def _branch(self) -> str | None:
        """The branch of the task that is named, else the one checked out where it is a task's."""
        if self.task_id is not None:
            return self.work.branch_of(self.task_id)
        branch = self.work.checkout.state().branch
        return branch if branch and self.work.task_of(branch) is not None else None

    def _begun(self) -> Entry | None:
        """The `done` that took the branch away or us off it, when that was the last thing."""
        last = self.work.journal.last()
        if last is None or last.command != "done":
            return None
        return last if self.task_id in (None, last.task_id) else None

    def _resume(self, entry: Entry) -> dict[str, object]:
        branch, tip = entry.branch or "", entry.facts.get("tip")
        if (
            not entry.finished
            and tip
            and self.work.checkout.commit_of(f"refs/heads/{branch}") in (tip, None)
        ):
            return _Completion(self.work, branch, entry.task_id, proven=tip).run()
        return {
            "success": True,
            "task_id": entry.task_id,
            "branch": branch,
            "cleaned": [],
            "already": True,
        }


class _Completion:
    """One completion of one branch. `proven`: the tip that an interrupted run had proof for."""

    def __init__(
        self,
        work: Work,
        branch: str,
        task_id: int,
        *,
        force: bool = False,
        proven: str | None = None,
    ) -> None:
        self._work = work
        self._git = work.checkout
        self._branch = branch
        self._task_id = task_id
        self._force = force
        self._proven = proven
        self._home = work.checkout.root  # where git still works once a worktree is gone
        self._plan = Plan("done", task_id, branch)
        self._cleaned: list[str] = []

    def run(self) -> dict[str, object]:
        main = self._work.main_branch()
        if self._branch == main:
            raise Refused(f"{main} is the main branch, not a task's.", reason="not_a_task_branch")
        tip = self._proven or self._git.ask("rev-parse", f"refs/heads/{self._branch}")
        task = self._work.tasks.get(self._task_id)
        self._work.check_of(task, self._branch)
        already = task.status == "DONE"
        proof = self._proof(tip, main, already=already)
        self._plan.facts = {"tip": tip if proof else None, "proof": proof}
        if not already:
            self._plan_server(task)
        if proof:
            self._plan_cleaning(tip, main)
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task_id,
            "branch": self._branch,
            "cleaned": self._cleaned,
            "already": already,
            "proof": proof or ("forced" if self._force else "none"),
        }
        if self._work.dry_run:
            return {**result, "dry_run": True, "would": self._plan.sentences}
        self._plan.carry_out(self._work.journal)
        return result | ({"warnings": self._plan.warnings} if self._plan.warnings else {})

    # the proof

    def _proof(self, tip: str, main: str, *, already: bool) -> str | None:
        """Return what proves the merge; None when force or an earlier `done` makes it needless."""
        if self._proven:
            return "resumed"
        if self._force:
            return None
        try:
            return self._prove(tip, main)
        except Refused as error:
            if not already:
                raise
            self._plan.warnings.append(f"The task is done already, and: {error.message}")
            return None

    def _prove(self, tip: str, main: str) -> str:
        """Return what proves that `tip` is merged; raise `Refused` with what is missing."""
        missing = [f"The remote could not be asked: {why}"] if (why := self._fetch(main)) else []
        if self._has_own_commit(tip) and self._git.is_ancestor(tip, self._work.main_commit(main)):
            return "ancestor"
        try:
            if self._forge_says_merged(tip, main):
                return "forge"
        except CortexError as error:
            missing.append(error.message)
        if not self._has_own_commit(tip):
            raise Refused(
                f"{self._branch} has no commit of its own: there is nothing that was done.",
                reason="no_own_commit",
                suggestions=["ctx tasks done --force changes the state all the same."],
            )
        ahead = self._git.count(self._work.main_commit(main), tip)
        raise Refused(
            " ".join(
                [f"{self._branch} is not merged: {main} lacks {ahead} of its commits.", *missing]
            ),
            reason="not_merged",
            suggestions=["ctx tasks pr", "ctx tasks done --force changes the state all the same."],
            details={"ahead": ahead},
        )

    def _fetch(self, main: str) -> str | None:
        if self._git.remote is None:
            return None
        tips = self._git.remote_tips(main)
        if tips is None:
            return f"{self._git.remote} cannot be reached."
        return None if tips.get(main) == self._git.tracked(main) else self._git.fetch(main)

    def _has_own_commit(self, tip: str) -> bool:
        """Tell whether the branch has a commit of its own.

        Its tip must be another than at the start, and not one that only an update to the main
        branch brought, where git remembers the whole way.
        """
        entries = self._git.reflog(self._branch)
        first = entries[-1][0] if entries else None
        began = self._git.config(f"branch.{self._branch}.{OWN_START}") or first
        if began is None or began == tip:
            return False
        only_brought = first == began and all(BROUGHT.search(why) for _, why in entries)
        return not only_brought or self._git.tracked(self._branch) is not None

    def _forge_says_merged(self, tip: str, main: str) -> bool:
        address = parse_address(self._git.remote_url() or "")
        forge = choose_forge(address, self._work.config)
        if not isinstance(forge, Forge):
            return False
        with forge:
            requests = forge.of_branch(self._branch)
        return any(one.merged and one.head == tip and one.base == main for one in requests)

    # the state

    def _plan_server(self, task: Task) -> None:
        def tell() -> Refs:
            self._work.tasks.change(task.id, {"status": "DONE"}, seen=task)
            return {}

        self._plan.add(
            "status",
            f"tell the backend: task {task.id} is DONE",
            tell,
            before={"status": task.status},
            after={"status": "DONE"},
        )

    # the cleaning

    def _plan_cleaning(self, tip: str, main: str) -> None:
        config = self._work.config
        trees = self._git.worktrees()
        self._home = trees[0].path
        holding = next((tree for tree in trees if tree.branch == self._branch), None)
        linked = holding is not None and not _same(holding.path, self._home)
        remove_tree = linked and config.flag("delete_worktree_on_done")
        delete_local = config.flag("delete_local_on_done") and self._is_at(tip)
        delete_remote = config.flag("delete_remote_on_done") and self._git.remote is not None
        if remove_tree and holding is not None and not self._is_clean(holding):
            self._plan.warnings.append(f"{holding.path} has uncommitted work and stays.")
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

    def _is_clean(self, tree: Worktree) -> bool:
        answer = self._git.run("status", "--porcelain", "-z", at=tree.path)
        return answer.ok and not answer.out

    def _remote_tip(self, tip: str) -> str | None:
        """Where the remote has the branch, when that is what was proven to be merged."""
        tips = self._git.remote_tips(self._branch)
        if tips is None:
            return tip  # out of reach now; the deletion is compared with the tip when it happens
        there = tips.get(self._branch)
        if there is not None and there != tip:
            self._plan.warnings.append(f"The remote's {self._branch} has other commits and stays.")
            return None
        return there

    def _plan_keep(self, tip: str) -> None:
        """Before branches go: a ref of ours, where no other one would hold the commits."""
        going = (f"refs/heads/{self._branch}", f"refs/remotes/{self._git.remote}/{self._branch}")
        kept = KEPT + self._branch
        if self._git.others_with(tip, *going):
            return

        def keep() -> Refs:
            self._git.ask("update-ref", kept, tip)
            return {}

        self._plan.add(
            "keep",
            f"keep the commits under {kept}",
            keep,
            before={},
            after={"ref": kept, "commit": tip},
        )

    def _plan_worktree(self, tree: Worktree) -> None:
        def remove() -> Refs:
            if tree.path.exists():
                self._git.ask("worktree", "remove", str(tree.path), at=self._home)
            self._cleaned.append("worktree")
            return {}

        self._plan.add(
            "delete_worktree",
            f"delete the worktree {tree.path}",
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
        dirty = {*state.changed, *state.untracked, *state.conflicted}
        target = self._git.commit_of(f"refs/heads/{main}") or self._work.main_commit(main)
        differ = self._git.ask("diff", "--name-only", "-z", "--no-renames", tip, target).split("\0")
        busy = any(tree.branch == main for tree in self._git.worktrees())
        if self._git.under_way() or dirty & set(differ) or busy:
            why = f"{main} is checked out elsewhere" if busy else "of uncommitted work"
            self._plan.warnings.append(f"{self._branch} stays checked out because {why}.")
            return False

        def leave() -> Refs:
            answer = self._git.run("switch", "--quiet", main)
            if not answer.ok and self._git.state().branch != main:
                raise Refused(
                    f"Git cannot switch to {main}: {answer.complaint}", reason="switch_refused"
                )
            return {}

        self._plan.add(
            "leave", f"switch to {main}", leave, before={"head": self._branch}, after={"head": main}
        )
        return True

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
            self._git.run("config", "--remove-section", f"branch.{branch}", at=self._home)
            self._cleaned.append("local_branch")
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
            f"delete {self._branch} on {self._git.remote}",
            lambda: self._delete_remote(tip),
            before={"branch": self._branch, "commit": tip, "remote": self._git.remote},
            after={},
        )

    def _delete_remote(self, tip: str) -> Refs:
        ref = f"refs/heads/{self._branch}"
        answer = self._git.run(
            "push", "--porcelain", f"--force-with-lease={ref}:{tip}", "--end-of-options",
            str(self._git.remote), f":{ref}", limit=self._git.hook_limit, at=self._home,
        )  # fmt: skip
        if answer.ok:
            self._cleaned.append("remote_branch")
        elif "\n!\t" in f"\n{answer.out}" or answer.status == 1:
            # The task is done whatever the remote thinks of its branch: told, not failed.
            self._plan.warnings.append(
                f"{self._git.remote} keeps {self._branch}: {last_line(answer.complaint)}"
            )
        else:
            raise Unavailable(
                f"{self._git.remote} cannot be reached: {last_line(answer.complaint)}",
                reason="remote_unreachable",
            )
        return {}


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
