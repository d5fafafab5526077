"""Start a task: its branch (and worktree) first, the backend second."""

from dataclasses import dataclass
from pathlib import Path

from mcp_host_cortex_tasks.errors import Invalid, Refused
from mcp_host_cortex_tasks.model import Task, task_of_branch
from mcp_host_cortex_tasks.service.plan import Plan, Refs
from mcp_host_cortex_tasks.service.work import OWN_CREATED, OWN_START, OWN_TASK, Work
from mcp_host_cortex_tasks.storage.git import State, Worktree, refusal
from mcp_host_cortex_tasks.storage.tasks import CHANGED_MEANWHILE

STARTED = ("IN_PROGRESS", "REVIEW")


@dataclass(slots=True)
class Start:
    """What to start and how. `worktree` None means as the settings say."""

    work: Work
    task_id: int
    branch: str | None = None
    worktree: bool | None = None
    reopen: bool = False

    def run(self) -> dict[str, object]:
        """Give the task its branch and report it; starting again finds the same branch."""
        with self.work.alone():
            task = self.work.tasks.get(self.task_id)
            if task.status == "DONE" and not self.reopen:
                raise Refused(
                    f"Task {task.id} is done already.",
                    reason="task_done",
                    suggestions=[f"ctx tasks start {task.id} --reopen"],
                )
            return _Starting(self, task).run()


class _Starting:
    """One start, once its task is known."""

    def __init__(self, asked: Start, task: Task) -> None:
        self._work = asked.work
        self._git = asked.work.checkout
        self._task = task
        self._asked = asked
        self._main = self._work.main_branch()
        self._local = self._git.branches()
        self._name = self._branch_name()
        self._plan = Plan("start", task.id, self._name)
        self._already = False

    def run(self) -> dict[str, object]:
        state = self._git.state()
        place = self._plan_branch(state)
        self._plan_server()
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task.id,
            "branch": self._name,
        }
        result["already"] = self._already
        if place is not None:
            result["worktree"] = str(place)
        if self._plan.warnings:
            result["warnings"] = self._plan.warnings
        if self._work.dry_run:
            return {**result, "dry_run": True, "would": self._plan.sentences}
        self._plan.carry_out(self._work.journal)
        result["already"] = self._already  # another machine may have been faster
        return result

    # which branch

    def _branch_name(self) -> str:
        """The backend's name for it, else a branch that is there, else a new name."""
        name = (
            self._task.branch_name or self._asked.branch or self._found() or self._task.new_branch
        )
        self._git.check_branch_name(name)
        if self._task.branch_name and self._asked.branch not in (None, name):
            raise Invalid(
                f"Task {self._task.id} has the branch {name} already.", reason="has_branch"
            )
        if name == self._main:
            raise Refused(f"{name} is the main branch, not a task's.", reason="branch_taken")
        owner = self._owner(name)
        if owner not in (None, self._task.id):
            raise Refused(
                f"The branch {name} belongs to task {owner}.",
                reason="branch_taken",
                suggestions=[f"ctx tasks start {self._task.id} --branch NAME"],
            )
        if name in self._local:
            self._work.check_of(self._task, name)
        if owner is None and name in self._local and name != self._task.branch_name:
            raise Refused(
                f"There is a branch {name} that belongs to no task.",
                reason="branch_taken",
                suggestions=[f"ctx tasks start {self._task.id} --branch {self._task.new_branch}"],
            )
        return name

    def _owner(self, name: str) -> int | None:
        return self._work.task_of(name) if name in self._local else task_of_branch(name)

    def _found(self) -> str | None:
        """A branch of this task that is here or was seen on the remote."""
        if self._task.new_branch in self._local:
            return self._task.new_branch
        same_number = self._work.of_number(self._task.id, self._local)
        names = [name for name in same_number if self._work.is_of(self._task, name)]
        if not names and self._git.remote:
            prefix = f"refs/remotes/{self._git.remote}/"
            seen = (name.removeprefix(prefix) for name in self._git.refs(prefix))
            names = [name for name in seen if task_of_branch(name) == self._task.id]
        return sorted(names)[0] if names else None

    # what to do in git

    def _plan_branch(self, state: State) -> Path | None:
        """Plan what git must do, and return the worktree that the task is in, if it is in one."""
        trees = self._git.worktrees()
        holding = next((tree for tree in trees if tree.branch == self._name), None)
        if holding is not None and not holding.gone:
            self._already = True
            self._plan_record(None)
            here = _same(holding.path, self._git.root) and _same(holding.path, trees[0].path)
            return None if here else holding.path
        self._bring_up_to_date()
        tip = self._git.commit_of(f"refs/heads/{self._name}")
        seen = None if tip else self._git.tracked(self._name)
        self._already = (tip or seen) is not None
        if tip is None:
            self._refuse_blocked_name()
        start = tip or seen or self._work.main_commit(self._main)
        wanted = self._asked.worktree
        separate = self._work.config.flag("use_worktree") if wanted is None else wanted
        if separate:
            place = self._plan_worktree(trees, start, is_new=tip is None)
        else:
            place = None
            self._plan_switch(state, start, is_new=tip is None)
        self._plan_record(None if tip else start if seen is None else self._fork_point(seen))
        return place

    def _bring_up_to_date(self) -> None:
        """Fetch the main branch, and the task's where the remote has it; without a remote go on."""
        if self._git.remote is None or self._work.dry_run:
            return
        tips = self._git.remote_tips(self._main, self._name)
        if tips is None:
            self._plan.warnings.append("The remote cannot be reached; starting from what is known.")
            return
        stale = [name for name, tip in tips.items() if self._git.tracked(name) != tip]
        if stale and (why := self._git.fetch(*stale)):
            self._plan.warnings.append(f"The remote could not be fetched: {why}")

    def _refuse_blocked_name(self) -> None:
        """Git cannot keep `feature` and `feature/x` both."""
        name = self._name
        for other in self._local:
            if name.startswith(f"{other}/") or other.startswith(f"{name}/"):
                raise Refused(
                    f"The branch {other} stands in the way of {name}.",
                    reason="branch_blocked",
                    suggestions=[
                        f"Rename it: git branch -m {other} {other}-old",
                        f"Or name another: ctx tasks start {self._task.id} --branch"
                        f" {_other_kind(name)}",
                    ],
                )

    def _plan_switch(self, state: State, start: str, *, is_new: bool) -> None:
        if doing := self._git.under_way():
            raise Refused(
                f"A {doing} is in progress here.",
                reason="operation_in_progress",
                suggestions=[f"Finish it, or: git {doing} --abort"],
            )
        self._refuse_what_cannot_be_carried(state, start)
        back = state.branch or state.head
        how = ("--no-track", "--create", self._name, start) if is_new else (self._name,)

        def switch() -> Refs:
            answer = self._git.run("switch", "--no-guess", *how)
            # A post-checkout hook that fails makes git fail after it has switched.
            if not answer.ok and self._git.state().branch != self._name:
                raise refusal(answer, f"Git cannot switch to {self._name}", reason="switch_refused")
            return {}

        what = (
            f"make and switch to the branch {self._name}" if is_new else f"switch to {self._name}"
        )
        made = start if is_new else None
        self._plan.add(
            "branch",
            what,
            switch,
            before={"head": back},
            after={"branch": self._name, "made": made},
        )

    def _refuse_what_cannot_be_carried(self, state: State, start: str) -> None:
        """Name the changed files that a switch would overwrite."""
        at_risk = {*state.changed, *state.untracked, *state.conflicted}
        if not at_risk or state.head is None:
            return
        differ = self._git.ask("diff", "--name-only", "-z", "--no-renames", state.head, start)
        lost = sorted(at_risk & set(differ.split("\0")))
        if lost:
            raise Refused(
                f"Uncommitted changes would be overwritten: {', '.join(lost[:10])}",
                reason="uncommitted_changes",
                suggestions=["Commit them, or: git stash", "Or start in a worktree: --worktree"],
                details={"files": lost[:100]},
            )

    def _plan_worktree(self, trees: list[Worktree], start: str, *, is_new: bool) -> Path:
        main_tree = trees[0].path
        place = main_tree.parent / f"{main_tree.name}-worktree" / f"{self._task.id}-{self._name}"
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise Refused(
                f"{place} is in the way of the worktree.",
                reason="worktree_blocked",
                suggestions=["Move it away, or start with --no-worktree."],
            )
        how = (
            ("--no-track", "-b", self._name, str(place), start)
            if is_new
            else (str(place), self._name)
        )

        def add() -> Refs:
            # A record of a folder that was deleted by hand would hold the branch.
            self._git.ask("worktree", "prune")
            answer = self._git.run("worktree", "add", "--quiet", *how)
            if not answer.ok and not any(
                tree.branch == self._name for tree in self._git.worktrees()
            ):
                raise refusal(answer, "Git cannot make the worktree", reason="worktree_refused")
            return {}

        made = start if is_new else None
        self._plan.add(
            "worktree",
            f"make the worktree {place}",
            add,
            before={},
            after={"branch": self._name, "path": str(place), "made": made},
        )
        return place

    def _plan_record(self, start: str | None) -> None:
        """Let git remember whose branch it is and where it began; both go when the branch goes."""
        section = f"branch.{self._name}"
        known = {OWN_TASK: str(self._task.id), OWN_CREATED: self._task.created_at}
        values = {
            key: value
            for key, value in known.items()
            if value and self._git.config(f"{section}.{key}") != value
        }
        begun = start or self._git.first_of_reflog(self._name)
        if begun and self._git.config(f"{section}.{OWN_START}") is None:
            values[OWN_START] = begun
        if not values:
            return

        def record() -> Refs:
            for key, value in values.items():
                self._git.ask("config", f"{section}.{key}", value)
            return {}

        self._plan.add(
            "record",
            "record the branch as the task's",
            record,
            before={},
            after={"branch": self._name},
        )

    def _fork_point(self, seen: str) -> str:
        answer = self._git.run("merge-base", seen, self._work.main_commit(self._main))
        return answer.out.strip() if answer.ok else seen

    # what to tell the backend

    def _plan_server(self) -> None:
        task = self._task
        fields: dict[str, object] = {}
        if task.status not in STARTED:
            fields["status"] = "IN_PROGRESS"
        if task.branch_name != self._name:
            fields["branch_name"] = self._name
        if not fields:
            self._already = True  # somebody started it on this branch, if not here
            return

        def tell() -> Refs:
            try:
                self._work.tasks.change(task.id, fields, seen=task)
            except Refused as error:
                if error.reason != CHANGED_MEANWHILE:
                    raise
                self._accept_the_winner()
            return {}

        self._plan.add(
            "status",
            f"tell the backend: task {task.id} is IN_PROGRESS on {self._name}"
            if "status" in fields
            else f"tell the backend: task {task.id} is on {self._name}",
            tell,
            before={"status": task.status, "branch_name": task.branch_name},
            after={"status": str(fields.get("status", task.status)), "branch_name": self._name},
        )

    def _accept_the_winner(self) -> None:
        """Somebody else changed the task first: fine when they started it as we would have."""
        now = self._work.tasks.get(self._task.id)
        if now.branch_name == self._name and now.status in STARTED:
            self._already = True
            return
        if now.branch_name in (None, self._name) and now.status not in (*STARTED, "DONE"):
            fields = {"status": "IN_PROGRESS", "branch_name": self._name}
            self._work.tasks.change(now.id, fields, seen=now)
            return
        raise Refused(
            f"Task {now.id} was changed by somebody else: it is {now.status} on {now.branch_name}.",
            reason=CHANGED_MEANWHILE,
            suggestions=[f"ctx tasks start {now.id}"],
        )


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _other_kind(name: str) -> str:
    kind, slash, rest = name.partition("/")
    return f"{'fix' if kind != 'fix' else 'chore'}/{rest if slash else name}"
