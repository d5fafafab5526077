"""Submit a task: commit, push, open the pull request, then tell the backend."""

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import (
    BusyError,
    CortexError,
    InvalidError,
    RefusedError,
    TimedOutError,
    UnavailableError,
)
from ..model import Task, check_message
from ..storage.forges import (
    Address,
    NoForge,
    PullRequest,
    choose_forge,
    compare_page,
    parse_address,
)
from ..storage.git import State, cause, refusal, way_out
from . import secrets
from .plan import Plan, Refs
from .proof import Seen
from .work import Work

if TYPE_CHECKING:
    from ..storage.forges.forge import Forge


@dataclass(slots=True)
class Submit:
    """What to submit: the message for what is not committed yet, and untracked paths to add.

    With `use_title`, or by the user's settings, the task's title serves where no message is given.
    """

    work: Work
    message: str | None = None
    paths: tuple[str, ...] = ()
    allowed_secrets: tuple[str, ...] = field(default=())
    use_title: bool = False

    def run(self) -> dict[str, object]:
        """Submit the current task and return its pull request; doing it again returns the same."""
        check_message(self.message)
        return _Submission(self).run()


class _Submission:
    """One submission of the branch that is checked out."""

    def __init__(self, asked: Submit) -> None:
        self._work = asked.work
        self._git = asked.work.checkout
        self._asked = asked
        self._request: PullRequest | None = None
        self._created = False

    @cached_property
    def _current(self) -> tuple[str, int]:
        return self._work.current_task()

    @property
    def _branch(self) -> str:
        return self._current[0]

    @property
    def _task_id(self) -> int:
        return self._current[1]

    @cached_property
    def _state(self) -> State:
        return self._git.state()

    @cached_property
    def _plan(self) -> Plan:
        return Plan("pr", self._task_id, self._branch)

    def run(self) -> dict[str, object]:
        """Plan, then do; what is refused is refused before anything is changed."""
        self._refuse_unfinished()  # a rebase detaches HEAD: it is named rather than that
        self._refuse_conflicts()
        main = self._work.main_branch()
        if self._branch == main:
            raise RefusedError(
                f"{main} is the main branch, not a task's.", reason="not_a_task_branch"
            )
        to_commit = self._to_commit()
        if not to_commit and not self._git.count(self._work.main_commit(main), "HEAD"):
            raise RefusedError(
                f"There is nothing to submit: {self._branch} has no commit that {main} has not.",
                reason="nothing_to_submit",
                details=self._left_out(),
            )
        self._refuse_secrets(to_commit)
        remote_tip = self._remote_tip()
        task = self._task()
        message = self._message(task) if to_commit else None
        address = parse_address(self._git.remote_url() or "")
        if to_commit and message is not None:
            self._plan_commit(message)
        self._plan_push(remote_tip, to_commit=bool(to_commit))
        with contextlib.ExitStack() as ending:
            forge = choose_forge(address, self._work.config)
            if not isinstance(forge, NoForge):
                ending.enter_context(forge)
                self._plan_request(forge, main, task)
            self._plan_server(task)
            if self._work.dry_run:
                return self._result(address, forge) | {
                    "dry_run": True,
                    "would": self._plan.sentences,
                }
            with self._work.turn(self._task_id) as turn:
                self._plan.carry_out(self._work.journal, turn)
            if tip := self._git.commit_of(f"refs/heads/{self._branch}"):
                seen = Seen(tip, self._work.main_commit(main))
                self._work.note_seen(self._branch, seen)
                self._tell_claim(seen)
            self._work.kept.prune()
            return self._result(address, forge)

    # looking

    def _refuse_unfinished(self) -> None:
        if doing := self._git.under_way():
            raise RefusedError(
                f"A {doing} is in progress here.",
                reason="operation_in_progress",
                suggestions=[f"Finish it, or: {way_out(doing)}"],
            )

    def _refuse_conflicts(self) -> None:
        if self._state.conflicted:
            raise RefusedError(
                f"There are conflicts in {', '.join(self._state.conflicted[:10])}.",
                reason="conflicts",
                details={"files": list(self._state.conflicted)},
            )
        if self._state.head is None:
            raise RefusedError("There is no commit yet.", reason="no_commits")

    def _to_commit(self) -> list[str]:
        """The files a commit would take: tracked changes, and untracked ones that were named."""
        return [*self._state.changed, *self._named_files()]

    def _named_files(self) -> list[str]:
        found: list[str] = []
        for path in self._asked.paths:
            if "\0" in path:
                raise InvalidError("A path cannot hold a NUL character.", reason="bad_path")
            place = self._work.folder / path
            # A link is added as a link, wherever it leads.
            real = place.parent.resolve() / place.name if place.is_symlink() else place.resolve()
            try:
                inside = real.relative_to(self._git.root.resolve()).as_posix()
            except ValueError:
                raise InvalidError(
                    f"{path} is outside the repository.", reason="bad_path"
                ) from None
            below = [name for name in self._state.untracked if _is_below(name, inside)]
            # A path that is tracked is fine: an interrupted run may have committed it.
            if not below and not self._git.run("ls-files", "--", _literal(inside)).out:
                raise InvalidError(
                    f"There is nothing to add at {path}.",
                    reason="bad_path",
                    details={"untracked": list(self._state.untracked[:100])},
                )
            found += below
        return found

    def _left_out(self) -> dict[str, object]:
        named = set(self._named_files())
        rest = [name for name in self._state.untracked if name not in named]
        return {"left_out": rest[:100]} if rest else {}

    def _refuse_secrets(self, paths: list[str]) -> None:
        there = [path for path in paths if path not in self._state.deleted]
        main = self._work.main_commit(self._work.main_branch())
        found = secrets.in_files(self._git.root, there)
        if self._git.remote is not None:
            pushed = ("HEAD", "--not", main, f"--remotes={self._git.remote}")
            found += secrets.in_commits(self._git, *pushed)
        # Never the branch's own list: what is being pushed cannot allow itself.
        allowed = {*self._asked.allowed_secrets, *secrets.allowed_by(self._git, main)}
        left = [one for one in found if not {one.path, one.fingerprint} & allowed]
        if not left:
            return
        named = ", ".join(f"{one.path} ({one.why})" for one in left[:10])
        committed = any(one.commit for one in left)
        take_out = "Take it out of git: git rm --cached PATH, and name it in .gitignore"
        rewrite = "It is in a commit: take it out of the branch's history, and renew the secret"
        raise RefusedError(
            f"Not submitted, for it looks like a secret: {named}",
            reason="looks_like_secret",
            suggestions=[
                rewrite if committed else take_out,
                "Or, when it is none: ctx tasks pr --allow PATH",
                f"For everybody: the path or fingerprint in {secrets.ALLOWED} on the main branch",
            ],
            details={
                "files": list(dict.fromkeys(one.path for one in left)),
                "found": [one.as_data() for one in left[:100]],
            },
        )

    def _remote_tip(self) -> str | None:
        """Where the remote has this branch; refuse when it holds commits that we lack."""
        tips = self._git.remote_tips(self._branch)
        tip = (
            (tips or {}).get(self._branch) if tips is not None else self._git.tracked(self._branch)
        )
        if tip is None or self._git.is_ancestor(tip, "HEAD"):
            return tip
        self._git.fetch(self._branch)
        if self._git.commit_of(tip) is None:
            raise UnavailableError(
                f"The remote's {self._branch} cannot be fetched.", reason="remote_unreachable"
            )
        ahead, behind = self._git.count(tip, "HEAD"), self._git.count("HEAD", tip)
        raise RefusedError(
            f"{self._branch} and the remote's have diverged: {ahead} ahead, {behind} behind.",
            reason="diverged",
            suggestions=[f"git pull --rebase {self._git.remote} {self._branch}"],
            details={"ahead": ahead, "behind": behind},
        )

    def _task(self) -> Task | None:
        """The task, None when the backend is out of reach: git's part goes on without it."""
        try:
            task = self._work.tasks.get(self._task_id)
        except (UnavailableError, TimedOutError) as error:
            self._plan.warnings.append(error.message)
            return None
        self._work.check_of(task, self._branch)
        if task.status == "DONE":
            raise RefusedError(
                f"Task {task.id} is done already.",
                reason="task_done",
                suggestions=[f"ctx tasks start {task.id} --reopen"],
            )
        return task

    def _message(self, task: Task | None) -> str:
        if self._asked.message is not None:
            return self._asked.message
        by_setting = self._work.config.text("default_message") == "title"
        if (self._asked.use_title or by_setting) and task is not None:
            return task.title
        raise InvalidError(
            "A commit message is needed: there are changes to commit.",
            reason="commit_message_required",
            suggestions=["ctx tasks pr -m MESSAGE", "Or: ctx config set default_message title"],
            details={"files": list(self._state.changed[:100])},
        )

    # doing

    def _plan_commit(self, message: str) -> None:
        named = self._named_files()

        def commit() -> Refs:
            if self._git.state().branch != self._branch:
                raise BusyError(
                    f"Another command has switched this folder away from {self._branch}.",
                    reason="repository_locked",
                    suggestions=["Run this again."],
                )
            if named:
                self._git.ask("add", "--intent-to-add", "--", *(_literal(path) for path in named))
            # --all stages and commits in one: when a hook refuses, the index is as it was.
            answer = self._git.run(
                "commit", "--quiet", "--all", f"--message={message}", limit=self._git.hook_limit
            )
            if not answer.ok:
                if named:
                    self._git.run("reset", "--quiet", "--", *(_literal(path) for path in named))
                raise refusal(answer, "Git does not commit", reason="commit_refused")
            return {"commit": self._git.commit_of("HEAD")}

        self._plan.add(
            "commit",
            f"commit {len(self._state.changed) + len(named)} files on {self._branch}",
            commit,
            before={"commit": self._state.head},
            after={"branch": self._branch},
        )

    def _plan_push(self, remote_tip: str | None, *, to_commit: bool) -> None:
        if not to_commit and remote_tip == self._state.head:
            return
        self._plan.add(
            "push",
            f"push {self._branch} to {self._git.remote or 'a remote'}",
            self._push,
            before={"commit": remote_tip},
            after={"branch": self._branch, "remote": self._git.remote},
        )

    def _push(self) -> Refs:
        remote, branch = self._git.remote, self._branch
        if remote is None:
            raise UnavailableError(
                "There is no remote to push to.",
                reason="no_remote",
                suggestions=["git remote add origin URL"],
            )
        spec = f"refs/heads/{branch}:refs/heads/{branch}"
        answer = self._git.push("--set-upstream", specs=(spec,))
        if not answer.ok:
            # git ends with 1 when it or the remote refuses, with 128 when it got nowhere.
            if answer.status == 1 or "\n!\t" in f"\n{answer.out}":
                raise refusal(answer, f"{branch} was not taken by {remote}", reason="push_refused")
            raise UnavailableError(
                f"{remote} cannot be reached: {cause(answer.complaint)}",
                reason="remote_unreachable",
                details={"git": answer.complaint[-2000:]},
            )
        return {"commit": self._git.commit_of("HEAD")}

    def _tell_claim(self, seen: Seen) -> None:
        """Let our claim tell other clones where the branch stands; nobody waits for its success."""
        claims = self._work.claims
        known = claims.known(self._task_id)
        if known is None or known.clone != claims.clone or known.branch != self._branch:
            return
        told = claims.with_tip(known, seen.tip, seen.main)
        if told != known:
            with contextlib.suppress(CortexError):
                claims.put(told, known.id)

    def _plan_request(self, forge: "Forge", main: str, task: Task | None) -> None:
        def request() -> Refs:
            subject = task.title if task else self._git.ask("log", "-1", "--format=%s")
            title = " ".join(subject.split())
            body = f"{(task.description if task else None) or ''}\n\nTask {self._task_id}".strip()
            self._request, self._created = forge.open(self._branch, main, title, body)
            made = str(self._request.number) if self._created else None
            return {"url": self._request.url, "made": made}

        self._plan.add(
            "pull_request",
            f"open or find the pull request on {forge.name}",
            request,
            before={},
            after={"branch": self._branch},
        )

    def _plan_server(self, task: Task | None) -> None:
        if task is not None and task.status == "REVIEW":
            return

        def tell() -> Refs:
            self._work.tasks.change(self._task_id, {"status": "REVIEW"}, seen=task)
            return {}

        self._plan.add(
            "status",
            f"tell the backend: task {self._task_id} is in REVIEW",
            tell,
            before={"status": task.status if task else None},
            after={"status": "REVIEW"},
        )

    def _result(self, address: Address | None, forge: "Forge | NoForge") -> dict[str, object]:
        url = self._request.url if self._request else compare_page(address, self._branch)
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task_id,
            "branch": self._branch,
            "pr_url": url,
            "created": self._created,
        }
        if self._request is None and isinstance(forge, NoForge) and not self._work.dry_run:
            pushed = f"{self._branch} is on {self._git.remote}."
            result["message"] = pushed if url is None else f"{pushed} {forge.note}"
        if self._plan.warnings:
            result["warnings"] = self._plan.warnings
        return result | self._left_out()


def _is_below(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")


def _literal(path: str) -> str:
    return f":(top,literal){path}"
