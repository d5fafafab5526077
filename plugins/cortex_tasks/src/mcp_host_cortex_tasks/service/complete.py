"""Complete a task: proof of the merge, then the backend, then the cleaning up."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import CortexError, NotFoundError, RefusedError, UnavailableError
from ..model import Task, check_comment
from ..storage.forges import NoForge, PullRequest
from ..storage.git import Checkout, Remote, State, Worktree, cause
from ..storage.journal import Entry
from ..storage.overwrites import overwritten_by
from .keeping import plan_keeping
from .plan import Plan, Refs
from .proof import Seen
from .requests import uppers_of
from .sync import plan_retarget
from .work import OWN_NOTES, Work


@dataclass(slots=True)
class Complete:
    """Complete a task, the current one unless named.

    `force` changes the state without proof and cleans nothing; `comment` is put to the task.
    """

    work: Work
    force: bool = False
    task_id: int | None = None
    comment: str | None = None

    def run(self) -> dict[str, object]:
        """Mark the task done and clean up as the settings say; doing it again does nothing."""
        check_comment(self.comment)
        branch = self._branch()
        if branch is None and (entry := self._begun()):
            return self._resume(entry)
        if branch is None and self.task_id is not None:
            if found := self._elsewhere(self.task_id):
                branch, tip = found
                return _Completion(
                    self.work,
                    branch,
                    self.task_id,
                    force=self.force,
                    elsewhere=tip,
                    comment=self.comment,
                ).run()
            raise NotFoundError(
                f"Task {self.task_id} has no branch here.",
                reason="no_branch",
                suggestions=[f"ctx tasks start {self.task_id}"],
            )
        if branch is None or self.task_id is None:
            branch, self.task_id = self.work.current_task()
        return _Completion(
            self.work, branch, self.task_id, force=self.force, comment=self.comment
        ).run()

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

    def _elsewhere(self, task_id: int) -> tuple[str, str] | None:
        """Return the branch and tip of a task that was worked on in another clone.

        They are known from the remote's branch, else from the claim, which holds the tip after the
        branch was deleted, else from the forge.
        """
        git = self.work.checkout
        if git.base is None:
            return None
        task = self.work.tasks.get(task_id)
        claim = self.work.claims.fetch(task_id)
        if claim is not None and claim.created != task.created_at:
            claim = None
        branch = claim.branch if claim else task.branch_name
        if branch is None:
            return None
        git.check_branch_name(branch)
        remote = git.push_to(branch) or git.base
        if (tip := (remote.tips(branch) or {}).get(branch)) and remote.fetch(branch) is None:
            return branch, tip
        if claim is not None and claim.tip is not None:
            return branch, claim.tip
        head = self._head_of_request(branch)
        return None if head is None else (branch, head)

    def _head_of_request(self, branch: str) -> str | None:
        git = self.work.checkout
        forge = self.work.places.forge(branch)
        if isinstance(forge, NoForge) or git.base is None:
            return None
        with forge, suppress(CortexError):
            for request in forge.of_branch(branch):
                git.base.fetch_commit(request.head, *request.refs)
                if request.merged and git.commit_of(request.head):
                    return request.head
        return None

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
    """One completion of one branch.

    `proven`: the tip that an interrupted run had proof for; `elsewhere`: that of a branch which is
    not here.
    """

    def __init__(
        self,
        work: Work,
        branch: str,
        task_id: int,
        *,
        force: bool = False,
        proven: str | None = None,
        elsewhere: str | None = None,
        comment: str | None = None,
    ) -> None:
        self._work = work
        self._git = work.checkout
        self._branch = branch
        self._task_id = task_id
        self._force = force
        self._proven = proven
        self._elsewhere = elsewhere
        self._comment = comment
        self._home = work.checkout.root  # where git still works once a worktree is gone
        self._plan = Plan("done", task_id, branch)
        self._cleaned: list[str] = []
        self._tree = work.checkout.root
        self._carried: list[str] = []
        self._before: Seen | None = None

    def run(self) -> dict[str, object]:
        if self._git.push_to(self._branch) is self._git.base:
            self._work.look(self._branch)
        main = self._work.main_branch()
        if told := self._work.renamed(main):
            self._plan.warnings.append(told)
        if self._branch == main:
            raise RefusedError(
                f"{main} is the main branch, not a task's.", reason="not_a_task_branch"
            )
        tip = (
            self._proven
            or self._elsewhere
            or self._git.ask("rev-parse", f"refs/heads/{self._branch}")
        )
        task = self._work.tasks.get(self._task_id)
        self._work.check_of(task, self._branch)
        already = task.status == "DONE"
        proof = self._proof(tip, main, already=already)
        self._plan.facts = {"tip": tip if proof else None, "proof": proof}
        if not already:
            self._plan_server(task)
        if proof:
            for upper in uppers_of(self._work, self._branch):
                plan_retarget(self._work, self._plan, upper, main)
            self._plan_cleaning(tip, main)
        if not self._force:
            self._plan_release()
        if self._comment is not None:
            self._work.plan_comment(self._plan, self._comment)
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
        with self._work.turn(self._task_id, self._tree) as turn:
            self._work.carry_out(self._plan, turn)
        if self._before is not None:
            self._work.note_seen(self._branch, self._before)
        self._work.kept.prune()
        more = {
            "kept": self._plan.kept,
            "carried": self._carried,
            "warnings": self._plan.warnings,
        }
        return result | {key: value for key, value in more.items() if value}

    # the proof

    def _proof(self, tip: str, main: str, *, already: bool) -> str | None:
        """Return what proves the merge; None when force or an earlier `done` makes it needless."""
        if self._proven:
            return "resumed"
        if self._force:
            return None
        try:
            return self._prove(tip, main)
        except RefusedError as error:
            if not already:
                raise
            self._plan.warnings.append(f"The task is done already, and: {error.message}")
            return None

    def _prove(self, tip: str, main: str) -> str:
        """Return what proves that `tip` is merged; raise `RefusedError` with what is missing."""
        self._before = before = Seen(tip, self._work.main_commit(main))
        missing = [f"The remote could not be asked: {why}"] if (why := self._fetch(main)) else []
        proof = self._work.proof(self._branch, tip, main, before)
        found = proof.evidence
        self._refuse_reverted(found.reverted_by, main)
        if found.kind == "ancestor":
            return found.kind
        try:
            if not found.hollow and (request := self._merged_request(tip, main)):
                landed = [request.landed] if request.landed else []
                self._refuse_reverted(proof.reverted(landed), main)
                return "forge"
        except RefusedError as error:
            if error.reason == "reverted":
                raise
            missing.append(error.message)
        except CortexError as error:
            missing.append(error.message)
        if found.kind is not None:
            return found.kind
        if found.nothing:
            raise RefusedError(
                f"{self._branch} has no commit of its own that changes anything:"
                " there is nothing that was done.",
                reason="no_own_commit",
                suggestions=["ctx tasks done --force changes the state all the same."],
            )
        ahead = self._git.count(self._work.main_commit(main), tip)
        raise RefusedError(
            " ".join(
                [f"{self._branch} is not merged: {main} lacks {ahead} of its commits.", *missing]
            ),
            reason="not_merged",
            suggestions=["ctx tasks pr", "ctx tasks done --force changes the state all the same."],
            details={"ahead": ahead},
        )

    def _refuse_reverted(self, revert: str | None, main: str) -> None:
        if revert is not None:
            subject = self._git.ask("log", "-1", "--no-show-signature", "--format=%s", revert)
            raise RefusedError(
                f"{self._branch} was merged, and {main} took it back: {revert[:10]} {subject}",
                reason="reverted",
                suggestions=["ctx tasks done --force changes the state all the same."],
                details={"reverted_by": revert},
            )

    def _fetch(self, main: str) -> str | None:
        base = self._git.base
        if base is None:
            return None
        tips = self._work.look()
        if tips is None:
            return f"{base} cannot be reached."
        return None if tips.get(main) == base.tracked(main) else base.fetch(main)

    def _merged_request(self, tip: str, main: str) -> PullRequest | None:
        """Return the forge's request that was merged into main and whose head holds `tip`."""
        forge = self._work.places.forge(self._branch)
        if isinstance(forge, NoForge):
            return None
        with forge:
            requests = forge.of_branch(self._branch, main)
        merged = [one for one in requests if one.merged and one.base == main]
        return next((one for one in merged if self._holds(one, tip)), None)

    def _holds(self, request: PullRequest, tip: str) -> bool:
        """Tell whether a request's head is `tip` or was made on it, as on the forge's own page."""
        if request.head == tip:
            return True
        if self._git.commit_of(request.head) is None and self._git.base is not None:
            self._git.base.fetch_commit(request.head, *request.refs)
        return self._git.is_ancestor(tip, request.head)

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

    def _plan_release(self) -> None:
        """Plan to take back the claim on the remote: nobody works on the task any more."""
        claim = self._work.claims.known(self._task_id)
        if claim is None or claim.branch != self._branch or self._git.base is None:
            return

        def release() -> Refs:
            if not self._work.claims.drop(self._task_id, claim.id):
                self._plan.warnings.append(f"{self._git.base} keeps the claim on the task.")
            return {}

        self._plan.add(
            "release",
            f"release the claim on task {self._task_id}",
            release,
            before={"claim": claim.id},
            after={},
        )

    # the cleaning

    def _plan_cleaning(self, tip: str, main: str) -> None:
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
        if files:
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
        self._tree = tree.path

        def remove() -> Refs:
            if why := self._why_it_stays(tree):
                raise RefusedError(why, reason="worktree_busy")
            item = self._work.kept.keep_worktree(tree, task_id=self._task_id, home=self._home)
            self._git.root = self._home  # git goes on where the repository stays
            self._cleaned.append("worktree")
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
        self._carried = list(state.untracked)

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
        """Return why the working tree must not move to the main branch, None where it may."""
        if any(tree.branch == main for tree in self._git.worktrees()):
            return f"{main} is checked out elsewhere"
        if doing := self._git.under_way():
            return f"a {doing} is in progress"
        if changed := [*state.changed, *state.conflicted]:
            return f"of uncommitted work: {', '.join(changed[:10])}"
        if lost := overwritten_by(self._git, state, target):
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
            self._cleaned.append("remote_branch")
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
