"""Bring a task's branch up to date: rebase it on main, or merge main into it, and push it again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import InvalidError, NotFoundError, RefusedError
from ..storage.git import Answer, State, refusal, way_out
from ..storage.journal import Entry
from ..storage.overwrites import overwritten_by
from .keeping import plan_putting_by
from .plan import Plan, Refs
from .proof import Seen
from .pushing import There, look_there, plan_push, was_pushed
from .requests import Lower, lower_of, plan_retarget
from .work import OWN_ON, OWN_START, Work

GOING_ON = "ctx tasks sync --continue"


@dataclass(slots=True)
class Sync:
    """Bring the current task's branch up to date.

    `how` is `rebase` or `merge`. `proceed` goes on after conflicts were solved, `abort` goes back.
    """

    work: Work
    how: str = "rebase"
    proceed: bool = False
    abort: bool = False

    def run(self) -> dict[str, object]:
        """Sync and return what was done; doing it again finds everything up to date."""
        doing = self.work.checkout.under_way()
        if doing in ("rebase", "merge"):
            entry = self._begun()
            if self.abort:
                return self._abort(entry, doing)
            return self._proceed(entry, doing)
        if self.abort:
            raise NotFoundError("No sync is in progress here.", reason="nothing_to_abort")
        if doing is not None:
            raise RefusedError(
                f"A {doing} is in progress here.",
                reason="operation_in_progress",
                suggestions=[f"Finish it, or: {way_out(doing)}"],
            )
        branch, number = self.work.current_task()
        return _Syncing(self.work, branch, number, self.how).run()

    def _begun(self) -> Entry:
        """The sync that stopped at conflicts in this tree."""
        entry = self.work.journal.last()
        head = self._rebased()
        ours = entry is not None and entry.command == "sync" and not entry.finished
        if entry is None or not ours or (head is not None and head != entry.branch):
            doing = str(self.work.checkout.under_way())
            raise RefusedError(
                f"A {doing} that ctx did not begin is in progress here.",
                reason="operation_in_progress",
                suggestions=[f"Finish it, or: {way_out(doing)}"],
            )
        return entry

    def _rebased(self) -> str | None:
        """The branch that a rebase is at."""
        for folder in ("rebase-merge", "rebase-apply"):
            place: Path = self.work.checkout.private / folder / "head-name"
            if place.exists():
                return place.read_text(encoding="utf-8").strip().removeprefix("refs/heads/")
        return self.work.checkout.state().branch

    def _abort(self, entry: Entry, doing: str) -> dict[str, object]:
        answer = self.work.checkout.run(doing, "--abort")
        if not answer.ok:
            raise refusal(answer, "Git cannot go back", reason="abort_refused")
        entry.undone = True
        self.work.journal.keep(entry)
        return {
            "success": True, "task_id": entry.task_id, "branch": entry.branch, "aborted": True
        }  # fmt: skip

    def _proceed(self, entry: Entry, doing: str) -> dict[str, object]:
        git, state = self.work.checkout, self.work.checkout.state()
        if state.conflicted:
            raise conflicts(state, doing)
        if state.unstaged:
            raise RefusedError(
                f"What was solved is not added yet: {', '.join(state.unstaged[:10])}",
                reason="conflicts",
                suggestions=["git add FILES", GOING_ON],
                details={"files": list(state.unstaged)},
            )
        how = ("commit", "--no-edit", "--quiet") if doing == "merge" else ("rebase", "--continue")
        with self.work.turn(entry.task_id) as turn:
            turn.take()
            answer = git.run(*how, limit=git.hook_limit)
        if git.under_way() is not None:
            raise _stopped(self.work, answer, doing)
        return _Syncing(
            self.work, str(entry.branch), entry.task_id, str(entry.facts.get("how")), entry
        ).run()


class _Syncing:
    """One sync of one branch; `begun` is the run that stopped at conflicts, which are solved."""

    def __init__(
        self, work: Work, branch: str, number: int, how: str, begun: Entry | None = None
    ) -> None:
        if how not in ("rebase", "merge"):
            raise InvalidError("how must be rebase or merge.")
        self._work = work
        self._git = work.checkout
        self._branch = branch
        self._number = number
        self._how = how
        self._begun = begun
        self._plan = Plan("sync", number, branch)
        self._retargeted: str | None = None

    def run(self) -> dict[str, object]:
        """Plan, then do; what is refused is refused before anything is changed."""
        if self._git.push_to(self._branch) is self._git.base:
            self._work.look(self._branch)
        if self._branch == self._main:
            raise RefusedError(
                f"{self._main} is the main branch, not a task's.", reason="not_a_task_branch"
            )
        if told := self._work.renamed(self._main):
            self._plan.warnings.append(told)
        self._fetch()
        if self._begun is not None:
            self._note_moved(self._begun)
        there = look_there(self._work, self._branch) if self._begun is None else self._was_there()
        old = self._git.ask("rev-parse", f"refs/heads/{self._branch}")
        moves = self._begun is None and not self._is_up_to_date(old)
        if moves:
            self._refuse_others_commits(there)
            self._refuse_work_in_danger()
            self._plan_move(old)
        self._plan_restack(rebased=moves and self._how == "rebase")
        if moves and there.tip is not None:
            rewritten = there.rewritten or self._how == "rebase"
            plan_push(
                self._work,
                self._plan,
                self._branch,
                There(there.tip, rewritten=rewritten),
                keep=there.tip != old,
            )
        elif there.tip is not None and there.tip != old:
            plan_push(self._work, self._plan, self._branch, there)
        self._plan_retarget()
        self._plan.facts = {"how": self._how, "onto": self._onto, "there": there.tip}
        result: dict[str, object] = {
            "success": True,
            "task_id": self._number,
            "branch": self._branch,
            "onto": self._lower.branch if self._lower else self._main,
            "how": self._how,
            "already": not self._plan.steps and self._begun is None,
        }
        if self._work.dry_run:
            return {**result, "dry_run": True, "would": self._plan.sentences}
        with self._work.turn(self._number) as turn:
            self._work.carry_out(self._plan, turn)
        tip = self._git.ask("rev-parse", f"refs/heads/{self._branch}")
        seen = Seen(tip, self._work.main_commit(self._main))
        self._work.note_seen(self._branch, seen)
        self._work.tell_claim(self._number, self._branch, seen)
        self._work.kept.prune()
        told_too = {"kept": self._plan.kept, "warnings": self._plan.warnings}
        return result | {key: value for key, value in told_too.items() if value}

    # looking

    def _note_moved(self, begun: Entry) -> None:
        """Note in the journal where the branch is, now that its conflicts are solved."""
        for step in begun.steps:
            if step.name == "move":
                step.after["commit"] = self._git.commit_of(f"refs/heads/{self._branch}")
                step.done = True
        self._work.journal.keep(begun)

    @cached_property
    def _main(self) -> str:
        return self._work.main_branch()

    @cached_property
    def _lower(self) -> Lower | None:
        return lower_of(self._work, self._branch, self._main)

    @cached_property
    def _onto(self) -> str:
        return self._lower.tip if self._lower else self._work.main_commit(self._main)

    def _fetch(self) -> None:
        base = self._git.base
        if base is None or self._work.dry_run:
            return
        tips = self._work.look()
        why = "it cannot be reached"
        if tips is not None:
            if tips.get(self._main) == base.tracked(self._main):
                return
            why = base.fetch(self._main) or ""
        if why:
            self._plan.warnings.append(f"{base} could not be fetched: {why}.")

    def _was_there(self) -> There:
        """Where the remote had the branch when the sync began."""
        tip = self._begun.facts.get("there") if self._begun else None
        now = self._work.where(self._branch)
        local = self._git.ask("rev-parse", f"refs/heads/{self._branch}")
        if now != tip or tip is None:
            return look_there(self._work, self._branch)
        return There(tip, rewritten=not self._git.is_ancestor(tip, local))

    def _is_up_to_date(self, tip: str) -> bool:
        return self._git.is_ancestor(self._onto, tip)

    def _refuse_others_commits(self, there: There) -> None:
        """Raise where a rebase would replace what others pushed to the branch."""
        tip = there.tip
        if self._how == "merge" or tip is None or was_pushed(self._work, self._branch, tip):
            return
        if not self._git.is_ancestor(tip, self._onto):
            raise RefusedError(
                f"What {self._git.push_to(self._branch)} has of {self._branch} was not pushed by"
                " ctx from here, and a rebase would replace it.",
                reason="not_ours",
                suggestions=["ctx tasks sync --merge"],
                details={"remote_tip": tip},
            )

    def _refuse_work_in_danger(self) -> None:
        """Raise for changes in tracked files, and for files that would be overwritten on the way:
        by what main has, or by an own commit that is made again. Asked to, plan to keep them."""
        state = self._git.state()
        lost = {*overwritten_by(self._git, state, self._onto), *self._in_the_way_of_ours()}
        if self._work.keep:
            lost = {*plan_putting_by(self._work, self._plan, state, lost)}
        elif changed := [*state.conflicted, *state.changed]:
            raise RefusedError(
                f"There are uncommitted changes: {', '.join(changed[:10])}",
                reason="uncommitted_changes",
                suggestions=["ctx tasks pr -m MESSAGE", "Or keep them: ctx tasks sync --keep"],
                details={"files": changed},
            )
        if lost:
            raise RefusedError(
                f"Files that are in no commit would be overwritten: {', '.join(sorted(lost)[:10])}",
                reason="uncommitted_changes",
                suggestions=["Keep them: ctx tasks sync --keep"],
                details={"files": sorted(lost)},
            )

    def _in_the_way_of_ours(self) -> set[str]:
        """Files that an own commit had and the tip has not, and that stand in the tree."""
        if self._how == "merge":
            return set()
        out = self._git.ask(
            "log", "-z", "--format=", "--name-only", "--no-renames", "--no-show-signature",
            f"{self._onto}..HEAD", "--",
        )  # fmt: skip
        touched = {path.strip("\n") for path in out.split("\0")} - {""}
        tracked = set(self._git.ask("ls-files", "-z").split("\0"))
        root = self._git.root
        return {
            path
            for path in touched - tracked
            if (root / path).is_symlink() or (root / path).exists()
        }

    # doing

    def _plan_move(self, old: str) -> None:
        def keep() -> Refs:
            wanted = f"{self._branch}-{old[:12]}"
            item = self._work.kept.keep_commit(
                old, wanted, branch=self._branch, task_id=self._number
            )
            self._plan.kept.append(item.as_data())
            return {"ref": item.id}

        self._plan.add(
            "keep", f"keep {old[:10]} as {self._branch}-{old[:12]}", keep,
            before={}, after={"commit": old},
        )  # fmt: skip
        move = self._rebase if self._how == "rebase" else self._merge
        onto = self._lower.branch if self._lower else self._main
        what = f"rebase {self._branch} on {onto}"
        if self._how == "merge":
            what = f"merge {onto} into {self._branch}"
        self._plan.add(
            "move", what, self._moving(move), before={"commit": old}, after={"branch": self._branch}
        )

    def _moving(self, move: Callable[[], Answer]) -> Callable[[], Refs]:
        def go() -> Refs:
            answer = move()
            if self._git.under_way() is not None:
                raise _stopped(self._work, answer, self._how)
            if not answer.ok:
                raise refusal(answer, f"Git does not {self._how}", reason="sync_refused")
            return {"commit": self._git.commit_of(f"refs/heads/{self._branch}")}

        return go

    def _rebase(self) -> Answer:
        begun = self._git.config(f"branch.{self._branch}.{OWN_START}")
        apart = begun is not None and self._is_of_lower(begun)
        where = ("--onto", self._onto, str(begun)) if apart else (self._onto,)
        return self._git.run(
            "-c", "rebase.autoStash=false", "-c", "rebase.updateRefs=false", "rebase", "--quiet",
            "--no-autosquash", *where,
            limit=self._git.hook_limit,
        )  # fmt: skip

    def _is_of_lower(self, begun: str) -> bool:
        """Tell whether a branch began at commits of another task's, which are not its own."""
        own = self._git.is_ancestor(begun, "HEAD")
        return own and not self._git.is_ancestor(begun, self._onto)

    def _merge(self) -> Answer:
        name = self._lower.branch if self._lower else self._work.main_ref(self._main)
        message = f"Merge {name.removeprefix('refs/remotes/').removeprefix('refs/heads/')}"
        return self._git.run(
            "merge", "--quiet", "--no-autostash", "-m", message, self._onto,
            limit=self._git.hook_limit,
        )  # fmt: skip

    def _plan_restack(self, *, rebased: bool) -> None:
        """Plan to note on what the branch stands now: the lower tip it was rebased on, or main."""
        section = f"branch.{self._branch}"
        before = {key: self._git.config(f"{section}.{key}") for key in (OWN_START, OWN_ON)}
        lower = self._lower.branch if self._lower else None
        stacked = before[OWN_ON] is not None
        same = before[OWN_ON] == lower and (not stacked or before[OWN_START] == self._onto)
        if same and not rebased and self._begun is None:
            return
        if self._how == "merge" and not stacked:
            return

        def note() -> Refs:
            self._git.ask("config", f"{section}.{OWN_START}", self._onto)
            if lower is None:
                self._git.run("config", "--unset-all", f"{section}.{OWN_ON}")
            return {}

        self._plan.add(
            "restack",
            f"note that {self._branch} stands on {lower or self._main}",
            note,
            before=before,
            after={"branch": self._branch},
        )

    def _plan_retarget(self) -> None:
        """Plan to let an open request go to main, once the lower one is merged."""
        stacked = self._git.config(f"branch.{self._branch}.{OWN_ON}")
        if stacked is None or self._lower is not None:
            return
        plan_retarget(self._work, self._plan, self._branch, self._main)


def conflicts(state: State, doing: str) -> RefusedError:
    """The error for conflicts that are to be solved, with the way on."""
    return RefusedError(
        f"The {doing} stopped at conflicts in {', '.join(state.conflicted[:10])}.",
        reason="conflicts",
        suggestions=[
            "Solve them, git add FILES, then: " + GOING_ON,
            "Or go back to where it was: ctx tasks sync --abort",
        ],
        details={"files": list(state.conflicted)},
    )


def _stopped(work: Work, answer: Answer, doing: str) -> RefusedError:
    state = work.checkout.state()
    if state.conflicted:
        return conflicts(state, doing)
    error = refusal(answer, f"The {doing} stopped", reason="sync_stopped")
    error.suggestions = [GOING_ON, "Or go back to where it was: ctx tasks sync --abort"]
    return error
