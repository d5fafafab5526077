"""Start a task: its branch (and worktree) first, the backend second."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from ..errors import InvalidError, RefusedError
from ..model.rules import task_of_branch
from ..model.task import Task
from ..storage.claims import CLAIMS
from ..storage.config import LOCAL
from ..storage.git import Checkout, State, Worktree, refusal, way_out
from ..storage.journal import Turn
from ..storage.overwrites import overwritten_by
from ..storage.tasks import CHANGED_MEANWHILE
from .keeping import plan_keeping_detached, plan_putting_by
from .plan import Plan, Refs
from .room import furnish, place_of, taken_by_another, wanted_room
from .work import NOBODY, OWN_CREATED, OWN_ON, OWN_SESSION, OWN_START, OWN_TASK, Work

STARTED = ("IN_PROGRESS", "REVIEW")


@dataclass(slots=True)
class Start:
    """What to start and how. `worktree` None means as the settings say.

    `steal` takes over a claim that another clone has; `on` is the task to stand on, for a stack.
    """

    work: Work
    task_id: int
    branch: str | None = None
    worktree: bool | None = None
    reopen: bool = False
    steal: bool = False
    on: int | None = None

    def run(self) -> dict[str, object]:
        """Give the task its branch and report it; starting again finds the same branch."""
        git = self.work.checkout  # without a repository nobody is asked
        task = self.work.tasks.get(self.task_id)
        if task.status == "DONE" and not self.reopen:
            raise RefusedError(
                f"Task {task.id} is done already.",
                reason="task_done",
                suggestions=[f"ctx tasks start {task.id} --reopen"],
            )
        return _Starting(self, task, git).run()


class _Starting:
    """One start, once its task is known."""

    def __init__(self, asked: Start, task: Task, git: Checkout) -> None:
        self._work = asked.work
        self._git = git
        self._task = task
        self._asked = asked
        self._plan = Plan("start", task.id)
        self._already = False
        self._carried: list[str] = []
        self._reached = False
        self._claim = "local" if asked.work.config.url == LOCAL else "backend"
        self._claimed = False
        self._apart = False
        self._made = False

    @cached_property
    def _main(self) -> str:
        return self._work.main_branch(ask=not self._is_somewhere())

    @cached_property
    def _local(self) -> dict[str, str]:
        return self._git.branches()

    @cached_property
    def _name(self) -> str:
        """The backend's name for the branch, else one that is there, else a new one."""
        name = (
            self._task.branch_name or self._asked.branch or self._found() or self._task.new_branch
        )
        return self._git.check_branch_name(name)

    def run(self) -> dict[str, object]:
        """Plan, then do; what is refused is refused before anything is changed."""
        self._plan.branch = self._name
        if not self._is_somewhere():
            self._look()
        self._check_name()
        if not self._is_somewhere():
            self._bring_up_to_date()
        self._apart = self._is_apart(self._git.state())
        with self._work.turn(self._task.id, here=not self._apart) as turn:
            turn.take()
            self.__dict__.pop("_local", None)  # others may have been at work until now
            self._git.look_again()
            return self._settle(turn)

    def _is_somewhere(self) -> bool:
        return any(tree.branch == self._name and not tree.gone for tree in self._git.worktrees())

    def _settle(self, turn: Turn) -> dict[str, object]:
        place = self._plan_branch(self._git.state())
        was_there = self._already
        self._plan_claim()
        self._plan_server()
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task.id,
            "branch": self._name,
        }
        result["already"] = self._already
        if place is not None:
            result["worktree"] = str(place)
        result["project"] = str(place or self._git.root)
        result["base"] = self._on or self._git.config(f"branch.{self._name}.{OWN_ON}") or self._main
        if self._task.description:
            result["description"] = self._task.description
        if self._carried:
            result["carried"] = self._carried[:100]
        if self._work.dry_run:
            return self._told(result) | {"dry_run": True, "would": self._plan.sentences}
        self._work.carry_out(self._plan, turn)
        self._work.kept.prune()
        # Another machine may have been faster; where the remote keeps claims, they decide.
        result["already"] = was_there if self._claimed else self._already
        return self._told(result)

    def _told(self, result: dict[str, object]) -> dict[str, object]:
        """Add what was kept and what should be known."""
        known = self._work.claims.known(self._task.id)
        result["claim"] = self._claim
        if self._claim == "remote" and known is not None and known.clone != self._work.claims.clone:
            whose: dict[str, object] = {"owner": known.owner, "since": _iso(known.began)}
            if known.pending:
                whose["pending"] = list(known.pending)
                self._plan.warnings.append(
                    f"{known.owner}'s last command stopped before: {', '.join(known.pending)}."
                    " The same command here goes on with it."
                )
            result["claimed_by"] = whose
        told = {"kept": self._plan.kept, "warnings": self._plan.warnings}
        return result | {key: value for key, value in told.items() if value}

    # which branch

    def _check_name(self) -> None:
        """Raise where the branch is another's: another task's, the main one, or nobody's."""
        name = self._name
        if self._task.branch_name and self._asked.branch not in (None, name):
            raise InvalidError(
                f"Task {self._task.id} has the branch {name} already.", reason="has_branch"
            )
        if name == self._main:
            raise RefusedError(f"{name} is the main branch, not a task's.", reason="branch_taken")
        owner = self._owner(name)
        if owner not in (None, self._task.id):
            raise RefusedError(
                f"The branch {name} belongs to task {owner}.",
                reason="branch_taken",
                suggestions=[f"ctx tasks start {self._task.id} --branch NAME"],
            )
        if name in self._local:
            self._work.check_of(self._task, name)
        if owner is None and name in self._local and name != self._task.branch_name:
            raise RefusedError(
                f"There is a branch {name} that belongs to no task.",
                reason="branch_taken",
                suggestions=[f"ctx tasks start {self._task.id} --branch {self._task.new_branch}"],
            )

    def _owner(self, name: str) -> int | None:
        return self._work.task_of(name) if name in self._local else task_of_branch(name)

    def _found(self) -> str | None:
        """A branch of this task that is here or was seen on the remote."""
        if self._task.new_branch in self._local:
            return self._task.new_branch
        same_number = self._work.of_number(self._task.id, self._local)
        names = [name for name in same_number if self._work.is_of(self._task, name)]
        remote = self._git.push_to(self._task.new_branch)
        if not names and remote is not None:
            prefix = remote.ref("")
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
        tip = self._git.commit_of(f"refs/heads/{self._name}")
        remote = self._git.push_to(self._name)
        seen = None if tip or remote is None else remote.tracked(self._name)
        self._already = (tip or seen) is not None
        self._made = not self._already
        if tip is None:
            self._refuse_blocked_name()
        start = tip or seen or self._beginning()
        if self._apart or self._is_apart(state):
            place = self._plan_worktree(trees, start, is_new=tip is None)
        else:
            place = None
            self._plan_switch(state, start, is_new=tip is None)
        self._plan_record(None if tip else start if seen is None else self._fork_point(seen))
        return place

    def _is_apart(self, state: State) -> bool:
        """Tell whether the task gets a worktree; refuse a taken folder where it may get none."""
        if self._is_somewhere():
            return False
        room = wanted_room(self._work, self._asked.worktree)
        if room == "always" or self._git.bare:
            return True
        taken = taken_by_another(self._work, state, self._task.id)
        if room == "auto":
            return taken is not None or self._git.under_way() is not None
        if taken is not None:
            raise RefusedError(
                f"This folder is not free: {taken.why}.",
                reason="folder_taken",
                suggestions=[
                    f"ctx tasks start {self._task.id} --worktree",
                    "Or commit what is here first, or keep it:"
                    f" ctx tasks start {self._task.id} --no-worktree --keep",
                ],
                details={"files": list(taken.files[:100])},
            )
        return False

    def _bring_up_to_date(self) -> None:
        """Fetch the main branch, and the task's where the remote has it; without a remote go on."""
        base = self._git.base
        if base is None or self._work.dry_run:
            return
        tips = self._look()
        if tips is None:
            self._plan.warnings.append("The remote cannot be reached; starting from what is known.")
            return
        self._reached = True
        if told := self._work.renamed(self._main):
            self._plan.warnings.append(told)
        there = tips.get(self._claim_ref)
        if there is not None and there != self._git.object_of(self._claim_ref):
            self._work.claims.fetch(self._task.id)
        elif there is None:
            self._git.run("update-ref", "-d", self._claim_ref)  # it was released
        head = self._git.push_to(self._name) or base
        wanted = [(base, self._main), (base, self._on), (head, self._name), (head, self._on)]
        for remote in {one.name: one for one, _ in wanted}.values():
            known = tips if remote is base else remote.tips(self._name) or {}
            names = {name for one, name in wanted if one is remote and name}
            stale = [name for name in sorted(names & known.keys())
                     if remote.tracked(name) != known[name]]  # fmt: skip
            if stale and (why := remote.fetch(*stale)):
                self._plan.warnings.append(f"{remote} could not be fetched: {why}")

    @property
    def _claim_ref(self) -> str:
        return f"{CLAIMS}{self._task.id}"

    def _look(self) -> dict[str, str] | None:
        on = [self._on] if self._on else []
        return self._work.look(self._name, *on, refs=(self._claim_ref,))

    # on what it stands

    @cached_property
    def _on(self) -> str | None:
        """The branch of the task that this one is to stand on, None for the main branch."""
        if self._asked.on is None:
            return None
        if self._asked.on == self._task.id:
            raise InvalidError("A task cannot stand on itself.", reason="bad_stack")
        lower = self._work.branch_of(self._asked.on)
        name = lower or self._work.tasks.get(self._asked.on).branch_name
        if name is None:
            raise RefusedError(
                f"Task {self._asked.on} has no branch yet.",
                reason="no_branch",
                suggestions=[f"ctx tasks start {self._asked.on}"],
            )
        return self._git.check_branch_name(name)

    def _beginning(self) -> str:
        """Where a new branch begins: at the tip of the task that it stands on, else at main."""
        if self._on is None:
            return self._work.main_commit(self._main)
        remote = self._git.push_to(self._on)
        tip = self._git.commit_of(f"refs/heads/{self._on}")
        if tip is None and remote is not None:
            tip = remote.tracked(self._on)
        if tip is None:
            raise RefusedError(
                f"The branch {self._on} of task {self._asked.on} is not here.",
                reason="no_branch",
                suggestions=[f"ctx tasks start {self._asked.on}"],
            )
        return tip

    def _refuse_blocked_name(self) -> None:
        """Git cannot keep `feature` and `feature/x` both."""
        name = self._name
        for other in self._local:
            if name.startswith(f"{other}/") or other.startswith(f"{name}/"):
                raise RefusedError(
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
            raise RefusedError(
                f"A {doing} is in progress here.",
                reason="operation_in_progress",
                suggestions=[f"Finish it, or: {way_out(doing)}"],
            )
        lost = overwritten_by(self._git, state, start)
        if self._work.keep:
            lost = plan_putting_by(self._work, self._plan, state, lost)
        else:
            self._carried = sorted({*state.changed, *state.untracked})
        self._refuse_to_lose(lost)
        plan_keeping_detached(self._work, self._plan, state)
        back = state.branch or state.head
        how = ("--no-track", "--create", self._name, start) if is_new else (self._name,)

        def switch() -> Refs:
            answer = self._git.switch(*how)
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

    def _refuse_to_lose(self, lost: list[str]) -> None:
        """Name the files that a switch would overwrite: changed, untracked or ignored ones."""
        if lost:
            raise RefusedError(
                f"Files that are in no commit would be overwritten: {', '.join(lost[:10])}",
                reason="uncommitted_changes",
                suggestions=[
                    f"Keep what is uncommitted here: ctx tasks start {self._task.id} --keep",
                    f"Or start in a worktree: ctx tasks start {self._task.id} --worktree",
                ],
                details={"files": lost},
            )

    def _plan_worktree(self, trees: list[Worktree], start: str, *, is_new: bool) -> Path:
        place = place_of(self._work, trees, f"{self._task.id}-{self._name}")
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise RefusedError(
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
            for tree in trees:
                if tree.gone and (tree.branch == self._name or tree.path == place):
                    # A record of a folder that was deleted by hand would hold the branch.
                    self._git.run("worktree", "remove", "--force", "--force", str(tree.path))
            answer = self._git.run("worktree", "add", "--quiet", *how)
            if not answer.ok and not any(
                tree.branch == self._name for tree in self._git.worktrees()
            ):
                raise refusal(answer, "Git cannot make the worktree", reason="worktree_refused")
            self._plan.warnings += furnish(self._work, self._git.root, place)
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
        if self._work.session not in (None, NOBODY):
            known[OWN_SESSION] = self._work.session
        values = {
            key: value
            for key, value in known.items()
            if value and self._git.config(f"{section}.{key}") != value
        }
        begun = start or self._git.first_of_reflog(self._name)
        if begun and self._git.config(f"{section}.{OWN_START}") is None:
            values[OWN_START] = begun
        values |= self._known_of_stack(section)
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

    def _known_of_stack(self, section: str) -> dict[str, str]:
        """What to note of a stack: as asked, else as the clone that claimed the task has it."""
        if self._git.config(f"{section}.{OWN_ON}") is not None:
            return {}
        if self._on is not None and self._made:
            return {OWN_ON: self._on}
        claim = self._work.claims.known(self._task.id)
        if claim is None or claim.on is None or claim.branch != self._name:
            return {}
        return {OWN_ON: claim.on} | ({OWN_START: claim.base} if claim.base else {})

    def _fork_point(self, seen: str) -> str:
        answer = self._git.run("merge-base", seen, self._work.main_commit(self._main))
        return answer.out.strip() if answer.ok else seen

    # who works on it

    def _plan_claim(self) -> None:
        """Plan to claim the task on the remote, where it is reached and keeps such refs."""
        claims, number = self._work.claims, self._task.id
        known = claims.known(number)
        if known is not None and known.created != self._task.created_at:
            return  # a task of another backend has the number
        if known is not None:
            self._claim = "remote"
            if known.clone == claims.clone:
                self._claimed = True
                return
            if not self._asked.steal:
                self._already = True
                self._plan.warnings.append(
                    f"{known.owner} began this task at {_iso(known.began)}; to take it over:"
                    f" ctx tasks start {number} --steal"
                )
                return
        if not self._reached:
            return
        over = known.id if known is not None else ""

        def claim() -> Refs:
            base = self._git.config(f"branch.{self._name}.{OWN_START}")
            on = self._git.config(f"branch.{self._name}.{OWN_ON}")
            mine = claims.mine(number, self._task.created_at, self._name, base, on)
            how = claims.put(mine, over)
            self._claimed = how == "made"
            self._already = self._already or how == "lost"
            self._claim = self._claim if how == "refused" else "remote"
            return {"claim": self._git.object_of(f"{CLAIMS}{number}") if self._claimed else None}

        self._plan.add(
            "claim", f"claim task {number} on {self._git.base}", claim, before={}, after={}
        )

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
            except RefusedError as error:
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
        raise RefusedError(
            f"Task {now.id} was changed by somebody else: it is {now.status} on {now.branch_name}.",
            reason=CHANGED_MEANWHILE,
            suggestions=[f"ctx tasks start {now.id}"],
        )


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _other_kind(name: str) -> str:
    kind, slash, rest = name.partition("/")
    return f"{'fix' if kind != 'fix' else 'chore'}/{rest if slash else name}"
