"""The `ctx` that the MCP tools run: argv in, one JSON object out, every failure one of ours."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from ..errors import (
    CortexError,
    InvalidError,
    LoginNeededError,
    NotFoundError,
    RefusedError,
    TimedOutError,
    UnavailableError,
    by_code,
)
from ..model.redaction import redact, redact_all
from ..model.rules import check_message, task_id
from ..model.uris import STATUS, TASKS
from .setup import Missing
from .watch import Watch

MAX_OUTPUT = 32 * 1024 * 1024

# What other flags do, a person decides; no tool offers it.
_AS_TOOLS = tuple(
    (re.compile(f"(.*)ctx tasks {command}"), tool, rest)
    for command, tool, rest in (
        (r"start ([0-9]+|ID)", "start_task", " with task_id {}"),
        (r"start ([0-9]+|ID) --branch (\S+)", "start_task", " with task_id {} and branch {}"),
        (r"pr -m MESSAGE", "submit_pr", " with commit_message"),
        (r"pr -m MESSAGE --add (.+)", "submit_pr", " with commit_message and paths"),
        (r"pr", "submit_pr", ""),
        (r"done", "complete_task", ""),
    )
)

Facts = dict[str, Any]  # JSON of a program that may not be ours: each reader checks what it needs


class Ended(Protocol):
    """A program that ended, or was ended."""

    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...


class Run(Protocol):
    """Runs a program without a shell, in a process group that ends with the call."""

    async def __call__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | Path | None,
        timeout: float,
        max_output: int,
        env: Mapping[str, str] | None,
    ) -> Ended: ...


class Service:
    """The command in one repository.

    `use_title` lets a task's title serve as the message of a commit that is given none.
    `changed` hears the address of what a call has changed, `noticed` how every call ended, and
    `watch` what was read of a resource. `missing` tells what is not set up, after a
    call that ended so. `named` gives the name that clients know a tool by.

    Invariants: what it was made with never changes. `_starting` counts the starts of each session
    that run now. All methods belong to one event loop.
    """

    def __init__(
        self,
        run: Run,
        program: Sequence[str],
        folder: Path,
        *,
        list_limit: float = 30,
        git_limit: float = 60,
        environment: Mapping[str, str] | None = None,
        worktree: str = "auto",
        use_title: bool = False,
        changed: Callable[[str], None] = lambda uri: None,
        noticed: Callable[[CortexError | None], None] = lambda error: None,
        watch: Watch | None = None,
        missing: Callable[[CortexError | None], Missing | None] = lambda error: None,
        named: Callable[[str], str] = lambda tool: tool,
    ) -> None:
        self._run = run
        self._program = tuple(program)
        self._folder = folder
        self._list_limit = list_limit
        self._git_limit = git_limit
        self._environment = dict(environment or {})
        self._worktree = worktree
        self._starting: Counter[str] = Counter()
        self._opened = uuid4().hex  # a connection's name need not differ from host to host
        self._use_title = use_title
        self._changed = changed
        self._noticed = noticed
        self.watch = watch or Watch(folder, changed, frozenset, every=0)
        self.missing = missing
        self.named = named

    async def tasks(self) -> Facts:
        """Return `{tasks, message}`: all tasks of the caller."""
        data = await self._json(["tasks", "list"], self._list_limit)
        rows = data.get("tasks")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._garbled(["tasks", "list"], "it holds no list of tasks")
        return data

    async def task(self, wanted: object) -> Facts:
        """Return one task, with its comments and what the forge tells of its request."""
        words = ["tasks", "show", str(task_id(wanted)), "--all"]
        task = (await self._json(words, self._git_limit)).get("task")
        if not isinstance(task, dict):
            raise self._garbled(words, "it holds no task")
        return task

    async def feedback(self, wanted: int, tags: Mapping[str, str]) -> Facts:
        """Return what others made of a task's request, where that is not what had these tags."""
        words = ["tasks", "feedback", str(wanted), f"--unless={json.dumps(tags)}"]
        data = await self._answer(words, self._git_limit, None)
        return self._with(data, words[:2], "changed", "tags")

    async def numbers(self, begun: str) -> list[str]:
        """Return the numbers of the caller's tasks that begin so; none where they cannot be had."""
        try:
            rows = (await self.tasks())["tasks"]
        except CortexError:
            return []
        return [number for row in rows if (number := str(row.get("id"))).startswith(begun)]

    async def status(self, wanted: object = None, session: str | None = None) -> Facts:
        """Return where the repository stands, or the worktree of a task."""
        words = ["tasks", "status", *_of_task(wanted)]
        data = await self._json(words, self._git_limit, session)
        return self._with(data, ["tasks", "status"], "branch", "is_task_branch", "task_id")

    async def standing(self) -> Facts:
        """Return where the repository stands; no forge is asked."""
        return await self._answer(["tasks", "status", "--offline"], self._git_limit, None)

    async def unsubmitted(self, wanted: object = None, session: str | None = None) -> list[str]:
        """Say what of a task is not submitted, by git alone; nothing where that cannot be told."""
        words = ["tasks", "status", *_of_task(wanted), "--offline"]
        try:
            data = await self._answer(words, self._git_limit, session)
        except CortexError:
            return []
        counts = (
            (data.get("changed"), "file is changed", "files are changed"),
            (data.get("untracked"), "file is new", "files are new"),
            (data.get("ahead"), "commit is not pushed", "commits are not pushed"),
        )
        return [f"{n} {one if n == 1 else many}" for n, one, many in counts if n]

    async def start(
        self,
        wanted: object,
        branch: str | None = None,
        session: str | None = None,
        *,
        title: str | None = None,
        on: object = None,
    ) -> Facts:
        """Start a task, the one of a title where it has no number: made where there is none.

        `on` is the task that it stands on. `session` tells callers apart, "" is a caller that
        cannot be told from others. Starts of one session that overlap count as those of several:
        each task gets a room of its own.
        """
        if (wanted is None) == (title is None):
            raise InvalidError(
                "Name a task by task_id, or a new one by title.", reason="task_required"
            )
        words = ["tasks", "start"]
        words.append(str(task_id(wanted)) if title is None else f"--title={_argument(title)}")
        if on is not None:
            words.append(f"--on={task_id(on)}")
        if branch is not None:
            words.append(f"--branch={_argument(branch)}")
        with self._apart(session) as one:
            data = await self._json(words, self._git_limit, one)
        self._with(data, words[:2], "branch")
        data = data if title is not None else {**data, "task_id": task_id(wanted)}
        self._tell(self._with(data, words[:2], "task_id")["task_id"])
        return data

    def session(self, subject: str | None, connection: str | None) -> str:
        """Return what tells a caller from others, "" where nothing does."""
        if connection is not None:
            proven = f"{self._opened}\n{connection}\n{subject or ''}"
        elif subject is not None:
            proven = subject
        else:
            return ""
        return sha256(proven.encode()).hexdigest()[:16]

    @contextmanager
    def _apart(self, session: str | None) -> Iterator[str | None]:
        if not session:
            yield session
            return
        crowd = self._starting[session]
        self._starting[session] += 1
        try:
            yield f"{session}.{uuid4().hex[:8]}" if crowd else session
        finally:
            self._starting[session] -= 1

    async def submit(
        self,
        message: str | None,
        paths: Sequence[str] = (),
        wanted: object = None,
        session: str | None = None,
        *,
        comment: str | None = None,
        draft: bool | None = None,
    ) -> Facts:
        """Submit a task, the current one unless named."""
        check_message(message)
        words = ["tasks", "pr", *_of_task(wanted)]
        if message is not None:
            words.append(f"--message={message}")
        elif self._use_title:
            words.append("--use-title")
        words += [f"--add={_argument(path)}" for path in paths]
        words += [] if comment is None else [f"--comment={_argument(comment)}"]
        words += [] if draft is None else ["--draft" if draft else "--ready"]
        data = await self._json(words, self._git_limit, session)
        self._tell(data.get("task_id"))
        return self._with(data, words[:2], "task_id", "branch")

    async def complete(
        self, wanted: object = None, session: str | None = None, comment: str | None = None
    ) -> Facts:
        """Complete a task, the current one unless named."""
        words = ["tasks", "done", *_of_task(wanted)]
        words += [] if comment is None else [f"--comment={_argument(comment)}"]
        data = await self._json(words, self._git_limit, session)
        self._tell(data.get("task_id"))
        return self._with(data, ["tasks", "done"], "task_id")

    def _tell(self, number: object) -> None:
        for uri in (TASKS, STATUS, f"{TASKS}/{number}"):
            self._changed(uri)

    # running

    async def _json(self, words: Sequence[str], limit: float, session: str | None = None) -> Facts:
        """Run `ctx WORDS --json` and return its object; raise what it complains of."""
        try:
            data = await self._answer(words, limit, session)
        except CortexError as error:
            error.details.setdefault("command", _shown(words))
            error.suggestions = [self._for_agents(text) for text in error.suggestions]
            self._noticed(error)
            raise
        self._noticed(None)
        return data

    def _for_agents(self, suggestion: str) -> str:
        """Name the tool where `ctx` names the command that the tool runs."""
        for shape, tool, rest in _AS_TOOLS:
            if found := shape.fullmatch(suggestion):
                before, *values = found.groups()
                return before + self.named(tool) + rest.format(*values)
        return suggestion

    async def _answer(self, words: Sequence[str], limit: float, session: str | None) -> Facts:
        argv = [*self._program, *words, "--json"]
        environment = {**self._environment, "CORTEX_WORKTREE": self._worktree}
        if session is not None:
            environment["CORTEX_SESSION"] = session or "-"
        try:
            ended = await self._run(
                argv,
                cwd=self._folder,
                timeout=limit,
                max_output=MAX_OUTPUT,
                env=environment,
            )
        except OSError as error:
            raise UnavailableError(
                f"{self._program[0]} cannot be started in {self._folder}: {error.strerror}",
                reason="ctx_missing",
                suggestions=[
                    "Install it (pip install mcp-host-cortex-tasks),"
                    " or name it in the setting 'command'."
                ],
            ) from None
        if ended.timed_out:
            raise TimedOutError(
                f"{_shown(words)} did not end within {limit:g} s and was stopped.",
                reason="ctx_timeout",
                suggestions=["Run it again: it finishes what was begun."],
            )
        if ended.truncated:
            raise self._garbled(words, f"it is longer than {MAX_OUTPUT // 2**20} MiB")
        return self._read(words, ended)

    def _read(self, words: Sequence[str], ended: Ended) -> Facts:
        try:
            data = json.loads(ended.stdout)
        except (ValueError, RecursionError):
            data = None
        failed = ended.returncode != 0
        if isinstance(data, dict) and not failed and data.get("success") is not False:
            return data
        if isinstance(data, dict) and isinstance(data.get("error"), str):
            raise _told(data)
        complaint = redact(ended.stderr.decode("utf-8", "replace")).strip()[-2000:]
        if failed and complaint:
            raise _told({"error": complaint.removeprefix("Error:").strip()})
        raise self._garbled(words, f"it ended with {ended.returncode} and printed no JSON object")

    def _with(self, data: Facts, words: Sequence[str], *keys: str) -> Facts:
        missing = [key for key in keys if key not in data]
        if missing:
            raise self._garbled(words, f"it lacks {', '.join(missing)}")
        return data

    def _garbled(self, words: Sequence[str], what: str) -> UnavailableError:
        return UnavailableError(
            f"The answer of {_shown(words)} makes no sense: {what}.",
            reason="ctx_garbled",
            details={"command": _shown(words)},
        )


def _told(data: Facts) -> CortexError:
    """Return a `ctx`'s own error; one that gives no code is known by its words."""
    code = data.get("code")
    message = redact(data["error"])
    kind = by_code(code) if isinstance(code, str) else _by_words(message)
    details = redact_all(data.get("details"))
    suggestions = redact_all(data.get("suggestions"))
    error = kind(
        message or "ctx failed and did not say why.",
        suggestions=[text for text in suggestions if isinstance(text, str)]
        if isinstance(suggestions, list)
        else [],
        details=details if isinstance(details, dict) else {},
    )
    if isinstance(data.get("retryable"), bool):
        error.retryable = data["retryable"]
    return error


def _by_words(message: str) -> type[CortexError]:
    known: tuple[tuple[str, type[CortexError]], ...] = (
        (r"(?i)log(ged)? ?in|credentials|not authenticated", LoginNeededError),
        (r"(?i)not in a git repository|not found", NotFoundError),
        (r"(?i)invalid", InvalidError),
        (r"(?i)connect|unreachable|network|resolve", UnavailableError),
    )
    return next((kind for shape, kind in known if re.search(shape, message)), RefusedError)


def _of_task(wanted: object) -> list[str]:
    return [] if wanted is None else ["--task", str(task_id(wanted))]


def _argument(text: str) -> str:
    if "\0" in text or len(text) > 4096:
        raise InvalidError("An argument cannot hold a NUL character or more than 4096 characters.")
    return text


def _shown(words: Sequence[str]) -> str:
    """The command as a person would type it, without what could be long or private."""
    return " ".join(["ctx", *(word.split("=")[0] for word in words)])
