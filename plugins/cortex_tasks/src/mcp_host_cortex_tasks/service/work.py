"""What every command works with: the settings, the tasks, the checkout, the journal."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..errors import CortexError, InvalidError, RefusedError
from ..model.rules import task_of_branch
from ..model.task import Task
from ..storage.claims import Claims
from ..storage.config import Config
from ..storage.git import Checkout, is_git_at_work, locks_of
from ..storage.journal import Journal, Turn
from ..storage.kept import Kept
from ..storage.stores import open_tasks
from ..storage.tasks import Tasks
from .places import Places
from .plan import Plan, Refs
from .proof import Proof, Seen

OWN_TASK = "cortex-task"
OWN_CREATED = "cortex-created"
OWN_START = "cortex-start"
OWN_SEEN = "cortex-seen"
OWN_SESSION = "cortex-session"
OWN_ON = "cortex-on"
OWN_PUSHED = "cortex-pushed"
OWN_REQUEST = "cortex-request"
OWN_NOTES = (
    OWN_TASK, OWN_CREATED, OWN_START, OWN_SEEN, OWN_SESSION, OWN_ON, OWN_PUSHED, OWN_REQUEST
)  # fmt: skip
"""What we let git remember of a branch: its task, when that was made, where it began, where it and
the main branch stood when it was submitted, which session began it, the branch it stands on, the
tips that we pushed, and what we wrote into its request."""
LOCK_WAIT = 30.0
NOBODY = "-"
"""The session of a caller that has none: it names its tasks."""


@dataclass
class Work:
    """One person's work in one folder. Everything is opened when it is first asked for."""

    config: Config
    folder: Path
    dry_run: bool = False
    session: str | None = None
    """Who works: the session of an agent. A person at a terminal has none."""
    _looked: tuple[set[str], dict[str, str] | None] | None = field(default=None, repr=False)
    room: str | None = None
    """Where a task is begun unless the command says: `auto`, `always` or `never` in a worktree."""
    keep: bool = False
    """Keep uncommitted work that is in the way, instead of refusing."""

    @cached_property
    def checkout(self) -> Checkout:
        """The git working tree of the folder."""
        return Checkout.open(
            self.folder,
            reach_limit=self.config.seconds("timeout"),
            hook_limit=self.config.seconds("git_timeout"),
        )

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks of the caller."""
        return open_tasks(self.config)

    @cached_property
    def journal(self) -> Journal:
        """The journal of this repository, shared by its worktrees."""
        return Journal(self.checkout.common / "cortex" / "journal")

    @cached_property
    def kept(self) -> Kept:
        """What the commands of this repository took out of sight."""
        return Kept(self.checkout)

    @cached_property
    def claims(self) -> Claims:
        """Who works on which task, as the remote keeps it."""
        return Claims(self.checkout)

    @cached_property
    def own_journal(self) -> Journal:
        """The journal of what concerns no repository."""
        return Journal(self.config.home / "journal")

    @contextmanager
    def turn(
        self, task_id: int | None = None, tree: Path | None = None, *, here: bool = True
    ) -> Iterator[Turn]:
        """Yield this command's turn at a working tree (unless not `here`) and at a task.

        Nothing is held before `take`, and all is left at the end. A dry run disturbs nobody.
        """
        names = [f"tree {tree or self.checkout.root}"] if here else []
        if task_id is not None:
            names.append(f"task {task_id}")
        locks = self.checkout.common / "cortex" / "locks"
        turn = Turn(locks, () if self.dry_run else names, LOCK_WAIT)
        try:
            yield turn
        finally:
            turn.leave()

    def is_left_out(self, path: str) -> bool:
        """Tell whether the setting `leave_out` names a path or a folder above it."""
        names = (self.here.text("leave_out") or "").split(",")
        return any(
            path == name or path.startswith(f"{name}/")
            for one in names
            if (name := one.strip().rstrip("/"))
        )

    @cached_property
    def places(self) -> Places:
        """Where the work of this repository goes."""
        return Places(self.checkout, self.config)

    @property
    def here(self) -> Config:
        """The settings as they are for this repository."""
        return self.places.here

    def look(self, *branches: str, refs: tuple[str, ...] = ()) -> dict[str, str] | None:
        """Return where the base remote has its main branch, these branches and refs now.

        None when it cannot be reached, or there is none. It is asked once for what is asked first.
        """
        base = self.checkout.base
        if base is None:
            return None
        if self._looked is None or not {*branches, *refs} <= self._looked[0]:
            wanted = self.here.text("git_main_branch")
            names = dict.fromkeys([*([wanted] if wanted else []), *branches])
            self._looked = {*names, *refs}, base.tips(*names, refs=refs)
        return self._looked[1]

    def where(self, branch: str) -> str | None:
        """Return where the remote that a branch is pushed to has it now; None for nowhere.

        Where that cannot be reached, it is where we saw it last.
        """
        git = self.checkout
        remote = git.push_to(branch)
        if remote is None:
            return None
        tips = self.look(branch) if remote is git.base else remote.tips(branch)
        return remote.tracked(branch) if tips is None else tips.get(branch)

    def main_branch(self, *, ask: bool = True) -> str:
        """The name of the branch that tasks start from and end in; without `ask` as known here.

        What the remote says of its default branch now counts before what it once said.
        """
        git, wanted = self.checkout, self.here.text("git_main_branch")
        tips = self.look() if ask else None
        base = git.base
        gone = bool(
            wanted and tips is not None and wanted not in tips
            and base is not None and base.told_default and base.tracked(wanted)
        )  # fmt: skip
        return git.main_branch(None if gone else wanted, ask=ask and tips is not None)

    def have_main(self, main: str) -> None:
        """Bring the main branch here where it never was: its name may be new."""
        base = self.checkout.base
        if base is not None and not self.dry_run and base.tracked(main) is None:
            base.fetch(main)

    def renamed(self, main: str) -> str | None:
        """Tell in a sentence that the main branch is another one than it was; note it in git."""
        git, base = self.checkout, self.checkout.base
        if base is None or base.told_default is None:
            return None
        wanted = self.here.text("git_main_branch")
        if wanted and wanted != main:
            return (
                f"{base} has no branch {wanted} any more: its default branch {main} is used."
                f" To keep that: ctx config set git_main_branch {main}"
            )
        head = git.run("symbolic-ref", "--quiet", base.ref("HEAD"))
        before = head.out.strip().removeprefix(base.ref(""))
        if not head.ok or before == base.told_default:
            return None
        if not self.dry_run:
            git.run("symbolic-ref", base.ref("HEAD"), base.ref(base.told_default))
        return f"{base}'s default branch is {base.told_default} now; it was {before}."

    def main_commit(self, main: str) -> str:
        """The commit of the main branch: the remote's where we know it, else the local one."""
        base = self.checkout.base
        commit = (base and base.tracked(main)) or self.checkout.commit_of(f"refs/heads/{main}")
        if commit is None:
            raise RefusedError(
                f"The main branch {main} has no commit yet.",
                reason="no_commits",
                suggestions=["Commit something on it first."],
            )
        return commit

    def main_ref(self, main: str) -> str:
        """The ref that tells where the main branch is: the remote's where we know it."""
        base = self.checkout.base
        return base.ref(main) if base and base.tracked(main) else f"refs/heads/{main}"

    def proof(self, branch: str, tip: str, main: str, *more: Seen) -> Proof:
        """What is needed to tell whether a branch's work is in the main branch, as known here.

        `more` is what was seen before this command asked the remote.
        """
        git = self.checkout
        noted = [_seen(text) for text in git.values_of(f"branch.{branch}.{OWN_SEEN}")]
        base = git.config(f"branch.{branch}.{OWN_START}")
        number = self.task_of(branch)
        claim = None if number is None else self.claims.known(number)
        if claim is not None and claim.branch == branch:  # what another clone saw
            noted += [Seen(*pair) for pair in claim.seen]
            base = claim.base or base
        return Proof(
            git,
            branch,
            tip,
            self.main_ref(main),
            self.main_commit(main),
            base,
            tuple(one for one in noted if one),
            more,
        )

    def note_seen(self, branch: str, seen: Seen) -> None:
        """Let git remember that the branch had commits that the main branch had not."""
        git = self.checkout
        known = git.values_of(f"branch.{branch}.{OWN_SEEN}")
        new = not any(seen.tip in text for text in known)
        there = git.commit_of(f"refs/heads/{branch}") is not None
        if new and there and not git.is_ancestor(seen.tip, seen.main):
            git.ask("config", "--add", f"branch.{branch}.{OWN_SEEN}", f"{seen.tip} {seen.main}")

    def task_of(self, branch: str) -> int | None:
        """The task that a local branch belongs to: as `start` recorded, else by its name."""
        return _task_of(branch, self.checkout.config(f"branch.{branch}.{OWN_TASK}"))

    def of_number(self, number: int, names: Iterable[str]) -> list[str]:
        """Those of the local branches that belong to a task of this number, of any backend."""
        recorded = self.checkout.config_of_branches(OWN_TASK)
        return [name for name in names if _task_of(name, recorded.get(name)) == number]

    def is_of(self, task: Task, branch: str) -> bool:
        """Whether a branch with the task's number is this task's: backends number alike.

        It is unless it was recorded for a task made at another moment; the backend may know better.
        """
        if task.created_at is None or task.branch_name == branch:
            return True
        made = self.checkout.config(f"branch.{branch}.{OWN_CREATED}")
        return made in (None, task.created_at)

    def check_of(self, task: Task, branch: str) -> None:
        """Raise where a branch with the task's number was recorded for another backend's task."""
        if not self.is_of(task, branch):
            raise RefusedError(
                f"{branch} belongs to a task {task.id} of another backend, not to"
                f" {task.title!r} of {self.config.url}.",
                reason="other_backend",
                suggestions=[
                    "Name the backend of the branch: ctx config set url URL",
                    f"Or give this task its own branch: ctx tasks start {task.id}",
                ],
            )

    # doing

    def carry_out(self, plan: Plan, turn: Turn) -> None:
        """Do a plan's steps. Where that is interrupted, our claim says what is still to do."""
        self._clear_locks(plan)
        try:
            plan.carry_out(self.journal, turn)
        except CortexError as error:
            unheard = ("remote_unreachable", "git_timeout", "askpass_timeout")
            begun = any(step.done for step, _ in plan.steps)
            if begun and error.details.get("cause", error.reason) not in unheard:
                self._tell_pending(plan)
            raise

    def _clear_locks(self, plan: Plan) -> None:
        """Remove git's locks that a dead command of ours held, and no others."""
        git = self.checkout
        locks = locks_of(git, *([plan.branch] if plan.branch else []))
        dead = self.journal.dead() if locks else []
        for lock in locks:
            with suppress(OSError):
                ours = any(lock.stat().st_mtime >= entry.began for entry in dead)
                if ours and not is_git_at_work(git):
                    lock.unlink()
                    plan.warnings.append(f"A lock that a killed command left is removed: {lock}.")

    def _tell_pending(self, plan: Plan) -> None:
        left = tuple(f"{plan.command} {name}" for name in plan.left)
        known = self.claims.known(plan.task_id)
        if known is None or known.clone != self.claims.clone or known.pending == left:
            return
        with suppress(CortexError):
            self.claims.put(replace(known, pending=left), known.id)

    def tell_claim(self, task_id: int, branch: str, seen: Seen) -> None:
        """Let our claim tell other clones where the branch stands; nobody waits for its success."""
        claims, git = self.claims, self.checkout
        known = claims.known(task_id)
        if known is None or known.clone != claims.clone or known.branch != branch:
            return
        told = replace(
            claims.with_tip(known, seen.tip, seen.main),
            base=git.config(f"branch.{branch}.{OWN_START}") or known.base,
            on=git.config(f"branch.{branch}.{OWN_ON}"),
        )
        if told != known:
            with suppress(CortexError):
                claims.put(told, known.id)

    def plan_comment(self, plan: Plan, text: str) -> None:
        """Plan to put a comment to the plan's task, unless it is there already."""

        def put() -> Refs:
            if not any(one.text == text for one in self.tasks.comments(plan.task_id)):
                self.tasks.comment(plan.task_id, text)
            return {}

        plan.add("comment", f"comment on task {plan.task_id}", put, before={}, after={})

    def at_task(self, number: int | None) -> "Work":
        """Return this work in the working tree that has the task's branch.

        None means the task of the branch that is checked out here, unless another session began
        that and this session began exactly one; and where none is, the one that it began.
        """
        if number is None:
            return self._at_own()
        trees = {tree.branch: tree for tree in self.checkout.worktrees() if not tree.gone}
        branch = self._first_of(number, [name for name in trees if name])
        if branch is not None:
            return self._at(trees[branch].path)
        raise RefusedError(
            f"The branch of task {number} is checked out nowhere.",
            reason="not_checked_out",
            suggestions=[f"ctx tasks start {number}"],
        )

    def _at_own(self) -> "Work":
        if self.session is None:
            return self
        git = self.checkout
        began = git.config_of_branches(OWN_SESSION)
        branch = git.state().branch
        here = branch is not None and self.task_of(branch) is not None
        if here and began.get(str(branch), self.session).partition(".")[0] == self._own_session:
            return self
        trees = {tree.branch: tree.path for tree in git.worktrees() if not tree.gone}
        own = [
            name
            for name, session in began.items()
            if name in trees and session.partition(".")[0] == self._own_session
        ]
        return self._at(trees[own[0]]) if len(own) == 1 else self

    @property
    def _own_session(self) -> str:
        return (self.session or "").partition(".")[0]

    def _at(self, folder: Path) -> "Work":
        return replace(self, folder=folder, _looked=None)

    def refuse_nameless(self, number: int | None) -> None:
        """Raise where a task must be named: it is not clear which one this session means."""
        if number is not None or self.session is None:
            return
        began = self.checkout.config_of_branches(OWN_SESSION)
        own = sorted(
            {
                str(self.task_of(name))
                for name, session in began.items()
                if session.partition(".")[0] == self._own_session
            }
        )
        state = self.checkout.state()
        here = state.branch is not None and self.task_of(state.branch) is not None
        if self.session == NOBODY or (not here and len(own) > 1):
            named = f" This session began {', '.join(own)}." if own else ""
            raise InvalidError(
                f"It is not clear which task is meant: name it.{named}",
                reason="task_required",
                suggestions=["ctx tasks list"],
                details={"tasks": [int(one) for one in own if one.isdigit()]},
            )

    def branch_of(self, number: int) -> str | None:
        """Return the local branch of a task, the one that is checked out here before others."""
        here = self.checkout.state().branch
        names = sorted(self.checkout.branches(), key=lambda name: (name != here, name))
        return self._first_of(number, names)

    def _first_of(self, number: int, names: list[str]) -> str | None:
        """The first branch of a task; of several, the first that is not another backend's."""
        found = self.of_number(number, names)
        if len(found) > 1:
            with suppress(CortexError):  # out of reach, the backend cannot tell them apart
                task = self.tasks.get(number)
                found = [name for name in found if self.is_of(task, name)] or found
        return found[0] if found else None

    def current_task(self) -> tuple[str, int]:
        """Return the branch checked out and its task; raise when there is none."""
        state = self.checkout.state()
        if state.branch is None:
            raise RefusedError(
                "HEAD is detached: no branch is checked out.",
                reason="detached_head",
                suggestions=["Switch to the task's branch: ctx tasks start ID"],
            )
        task_id = self.task_of(state.branch)
        if task_id is None:
            raise RefusedError(
                f"{state.branch} is not the branch of a task.",
                reason="not_a_task_branch",
                suggestions=["ctx tasks start ID"],
            )
        return state.branch, task_id


def _seen(text: str) -> Seen | None:
    tip, _, main = text.partition(" ")
    return Seen(tip, main) if tip and main else None


def _task_of(branch: str, recorded: str | None) -> int | None:
    if recorded and recorded.isascii() and recorded.isdigit():
        return int(recorded)
    return task_of_branch(branch)
