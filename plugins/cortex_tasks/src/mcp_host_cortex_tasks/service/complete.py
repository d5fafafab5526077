"""Complete a task: proof of the merge, then the backend, then the cleaning up."""

from contextlib import suppress
from dataclasses import dataclass

from ..errors import CortexError, NotFoundError, RefusedError
from ..model.rules import check_comment
from ..model.task import Task
from ..storage.forges import NoForge, PullRequest
from ..storage.journal import Entry
from .cleaning import Cleaning
from .plan import Plan, Refs
from .proof import Seen
from .requests import plan_retarget, uppers_of
from .work import Work


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

    Invariants: at most one of `proven` and `elsewhere` is given, and what is asked for never
    changes. `run` is called once; before it carries `_plan` out, neither branches nor tasks are
    changed.
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
        self._plan = Plan("done", task_id, branch)
        self._cleaning = Cleaning(work, self._plan, branch, task_id)
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
            self._cleaning.plan_all(tip, main)
        if not self._force:
            self._plan_release()
        if self._comment is not None:
            self._work.plan_comment(self._plan, self._comment)
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task_id,
            "branch": self._branch,
            "cleaned": self._cleaning.cleaned,
            "already": already,
            "proof": proof or ("forced" if self._force else "none"),
        }
        if self._work.dry_run:
            return {**result, "dry_run": True, "would": self._plan.sentences}
        with self._work.turn(self._task_id, self._cleaning.tree) as turn:
            self._work.carry_out(self._plan, turn)
        if self._before is not None:
            self._work.note_seen(self._branch, self._before)
        self._work.kept.prune()
        more = {
            "kept": self._plan.kept,
            "carried": self._cleaning.carried,
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
