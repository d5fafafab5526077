"""Submit a task: commit, push, open the pull request, then tell the backend."""

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import InvalidError, RefusedError, TimedOutError, UnavailableError
from ..model.rules import check_comment, check_message
from ..model.task import Task
from ..storage.forges import NoForge, PullRequest
from ..storage.git import State, way_out
from . import secrets
from .changes import SHOWN, Changes
from .plan import Plan, Refs
from .proof import Seen
from .pushing import look_there, plan_push
from .requests import Lower, Wording, changes_of, lower_of, note_wording, wording
from .work import Work

if TYPE_CHECKING:
    from ..storage.forges.forge import Forge


@dataclass(slots=True)
class Submit:
    """What to submit: the message for what is not committed yet, and untracked paths to add.

    With `use_title`, or by the user's settings, the task's title serves where no message is given.
    `title`, `body` and `draft` are the request's; `comment` is put to the task; without `request`
    none is opened.
    """

    work: Work
    message: str | None = None
    paths: tuple[str, ...] = ()
    allowed_secrets: tuple[str, ...] = ()
    use_title: bool = False
    title: str | None = None
    body: str | None = None
    draft: bool | None = None
    comment: str | None = None
    request: bool = True

    def run(self) -> dict[str, object]:
        """Submit the current task and return its pull request; doing it again returns the same."""
        check_message(self.message)
        check_comment(self.comment)
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
    def _changes(self) -> Changes:
        return Changes(self._work, self._state, self._asked.paths)

    @cached_property
    def _plan(self) -> Plan:
        return Plan("pr", self._task_id, self._branch)

    @cached_property
    def _main(self) -> str:
        return self._work.main_branch()

    @cached_property
    def _lower(self) -> Lower | None:
        return lower_of(self._work, self._branch, self._main)

    def run(self) -> dict[str, object]:
        """Plan, then do; what is refused is refused before anything is changed."""
        self._refuse_unfinished()  # a rebase detaches HEAD: it is named rather than that
        self._refuse_conflicts()
        if self._git.push_to(self._branch) is self._git.base:
            self._work.look(self._branch)
        self._refuse_main()
        if told := self._work.renamed(self._main):
            self._plan.warnings.append(told)
        self._work.have_main(self._main)
        self._refuse_nothing()
        self._refuse_secrets()
        there = look_there(self._work, self._branch)
        task = self._task()
        message = self._message(task) if self._changes.all else None
        if message is not None:
            self._plan_commit(message)
        if message is not None or there.tip != self._state.head:
            plan_push(self._work, self._plan, self._branch, there)
        self._plan.warnings += self._changes.notes
        with contextlib.ExitStack() as ending:
            forge = self._work.places.forge(self._branch, note=not self._work.dry_run)
            if not self._asked.request:
                forge = NoForge("No request was opened, as asked.")
            if not isinstance(forge, NoForge):
                ending.enter_context(forge)
                self._plan_request(forge, task)
            self._plan_server(task)
            self._plan_comment()
            if self._work.dry_run:
                return self._result(forge) | {"dry_run": True, "would": self._plan.sentences}
            self._carry_out()
            return self._result(forge)

    def _carry_out(self) -> None:
        with self._work.turn(self._task_id) as turn:
            self._work.carry_out(self._plan, turn)
        if tip := self._git.commit_of(f"refs/heads/{self._branch}"):
            seen = Seen(tip, self._work.main_commit(self._main))
            self._work.note_seen(self._branch, seen)
            self._work.tell_claim(self._task_id, self._branch, seen)
        self._work.kept.prune()

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

    def _refuse_main(self) -> None:
        if self._branch == self._main:
            raise RefusedError(
                f"{self._main} is the main branch, not a task's.", reason="not_a_task_branch"
            )

    def _refuse_nothing(self) -> None:
        """Raise where there is nothing to submit; new files are proposed."""
        base = self._lower.tip if self._lower else self._work.main_commit(self._main)
        if self._changes.all or self._git.count(base, "HEAD"):
            return
        new = [path for path in self._state.untracked if not self._work.is_left_out(path)]
        below = self._lower.branch if self._lower else self._main
        named = " ".join(f"--add {path}" for path in new[:5])
        raise RefusedError(
            f"There is nothing to submit: {self._branch} has no commit that {below} has not."
            + (f" New files are taken where they are named: {', '.join(new[:5])}." if new else ""),
            reason="nothing_to_submit",
            suggestions=[f"ctx tasks pr -m MESSAGE {named}"] if new else [],
            details={**self._left_out(), **({"paths": new[:SHOWN]} if new else {})},
        )

    def _left_out(self) -> dict[str, object]:
        rest = self._changes.left_out
        return {"left_out": rest[:SHOWN]} if rest else {}

    def _refuse_secrets(self) -> None:
        there = [path for path in self._changes.all if path not in self._state.deleted]
        main = self._work.main_commit(self._main)
        found = secrets.in_files(self._git.root, there)
        remote = self._git.push_to(self._branch)
        if remote is not None:
            found += secrets.in_commits(self._git, "HEAD", "--not", main, f"--remotes={remote}")
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
            details={"files": self._changes.all[:SHOWN]},
        )

    # doing

    def _plan_commit(self, message: str) -> None:
        self._plan.add(
            "commit",
            f"commit {len(self._changes.all)} files on {self._branch}",
            lambda: self._changes.commit(message),
            before={"commit": self._state.head},
            after={"branch": self._branch},
        )

    def _plan_request(self, forge: "Forge", task: Task | None) -> None:
        asked = self._asked
        base = self._main
        if self._lower is not None and self._lower.pushed:
            base = self._lower.branch
        elif self._lower is not None:
            self._plan.warnings.append(
                f"{self._lower.branch}, which this stands on, is not pushed: the request is to"
                f" {self._main} until it is."
            )

        def request() -> Refs:
            words = wording(
                self._work, task, self._task_id,
                title=asked.title, body=asked.body, draft=asked.draft,
            )  # fmt: skip
            self._request, self._created = forge.open(
                self._branch, base, words.title, words.body, draft=bool(words.draft)
            )
            if self._created:
                note_wording(self._work, self._branch, words)
            else:
                self._keep_in_step(forge, self._request, words, base)
            made = str(self._request.number) if self._created else None
            return {"url": self._request.url, "made": made}

        self._plan.add(
            "pull_request",
            f"open or find the pull request on {forge.name}",
            request,
            before={},
            after={"branch": self._branch},
        )

    def _keep_in_step(
        self, forge: "Forge", request: PullRequest, words: Wording, base: str
    ) -> None:
        by_hand = self._asked.title is not None or self._asked.body is not None
        fields = changes_of(self._work, self._branch, request, words, asked=by_hand)
        if request.base != base:
            fields["base"] = base
        if not fields:
            return
        try:
            forge.update(request, **fields)  # type: ignore[arg-type]  # each is of its parameter's type
        except (RefusedError, UnavailableError) as error:
            self._plan.warnings.append(f"The request was not brought up to date: {error.message}")
            return
        if "title" in fields:
            note_wording(self._work, self._branch, words)

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

    def _plan_comment(self) -> None:
        if self._asked.comment is not None:
            self._work.plan_comment(self._plan, self._asked.comment)

    def _result(self, forge: "Forge | NoForge") -> dict[str, object]:
        base = self._lower.branch if self._lower and self._lower.pushed else self._main
        page = self._work.places.page(self._branch, base)
        result: dict[str, object] = {
            "success": True,
            "task_id": self._task_id,
            "branch": self._branch,
            "pr_url": self._request.url if self._request else page,
            "created": self._created,
        }
        if self._request is None and isinstance(forge, NoForge) and not self._work.dry_run:
            pushed = f"{self._branch} is on {self._git.push_to(self._branch)}."
            result["message"] = pushed if page is None else f"{pushed} {forge.note}"
        told = {"kept": self._plan.kept, "warnings": self._plan.warnings}
        result |= {key: value for key, value in told.items() if value}
        return result | self._left_out()
