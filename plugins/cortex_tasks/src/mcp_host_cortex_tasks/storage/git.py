"""Git, asked by argv and answered in its machine-readable formats."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import InvalidError, NotFoundError, RefusedError, TimedOutError, UnsupportedError
from ..model.redaction import redact

LOCAL_LIMIT = 60.0
CONFIG_WAIT = 5.0
_CONFIG_BUSY = "could not lock config file"

_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "true",
}
# Without a person, ssh asks this program instead of the terminal, and hears no.
_NOBODY_THERE = {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What git said: its exit status, its output and its complaint, without secrets."""

    status: int
    out: str
    complaint: str

    @property
    def ok(self) -> bool:
        """Whether git did it."""
        return self.status == 0


@dataclass(frozen=True, slots=True)
class State:
    """A working tree at one moment, as `git status` has it. Paths are relative to its root."""

    head: str | None
    branch: str | None
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    deleted: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Worktree:
    """One working tree of the repository; `gone` when its folder was deleted by hand."""

    path: Path
    branch: str | None
    gone: bool = False
    locked: bool = False


class Checkout:
    """A working tree of a git repository: where a person or an agent stands."""

    def __init__(
        self,
        root: Path,
        common: Path,
        private: Path,
        *,
        reach_limit: float,
        hook_limit: float,
        bare: bool = False,
    ) -> None:
        """`root`: the tree's folder; `common` and `private`: git's for all trees and for this one.

        `reach_limit`: seconds to reach a remote; `hook_limit`: for what runs a user's hooks.
        `bare`: there is no working tree here, only worktrees elsewhere; `root` is git's folder.
        """
        self.bare = bare
        self.root = root
        self.common = common
        self.private = private
        self.reach_limit = reach_limit
        self.hook_limit = hook_limit

    @classmethod
    def open(cls, folder: Path, *, reach_limit: float = 20, hook_limit: float = 120) -> "Checkout":
        """Return the working tree that holds `folder`; `NotFoundError` where there is none."""
        root, common, private, bare = _discover(folder)
        return cls(
            Path(root),
            (folder / common).resolve(),
            (folder / private).resolve(),
            reach_limit=reach_limit,
            hook_limit=hook_limit,
            bare=bare,
        )

    # asking git

    def run(
        self,
        *arguments: str,
        limit: float = LOCAL_LIMIT,
        at: Path | None = None,
        given: str | None = None,
    ) -> Answer:
        """Run one git command in the tree's root (or `at`) and return its answer.

        `given` is what it reads from its standard input, nothing unless told.
        """
        return _run(at or self.root, arguments, limit, given)

    def lines(self, *arguments: str, longest: int) -> Iterator[bytes]:
        """Yield what a command prints line by line, a line that is longer than that in pieces."""
        process = subprocess.Popen(
            ["git", *arguments],
            cwd=self.root,
            env=os.environ | _ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            while line := process.stdout.readline(longest):
                yield line
        finally:
            _end(process)

    def ask(self, *arguments: str, at: Path | None = None) -> str:
        """Run a git command that must succeed and return its output without the last newline.

        Git gives up at once where another git is writing its configuration; we wait for that.
        """
        answer = self.run(*arguments, at=at)
        deadline = time.monotonic() + CONFIG_WAIT
        while not answer.ok and _CONFIG_BUSY in answer.complaint and time.monotonic() < deadline:
            time.sleep(0.02)
            answer = self.run(*arguments, at=at)
        if not answer.ok:
            raise refusal(answer, f"git {arguments[0]} failed")
        return answer.out.rstrip("\n")

    def commit_of(self, name: str, *, at: Path | None = None) -> str | None:
        """Return the commit that a full ref name or hash means, None when there is none."""
        answer = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", at=at
        )
        return answer.out.strip() if answer.ok else None

    def object_of(self, name: str) -> str | None:
        """Return the object that a full ref name points to, a tag as itself."""
        answer = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        return answer.out.strip() if answer.ok else None

    def refs(self, *patterns: str) -> dict[str, str]:
        """Return the refs under these patterns, and where each points."""
        out = self.ask("for-each-ref", "--format=%(refname)%09%(objectname)", *patterns)
        return dict(line.split("\t", 1) for line in out.splitlines())

    def branches(self) -> dict[str, str]:
        """Return the local branches, by short name."""
        return {
            name.removeprefix("refs/heads/"): tip for name, tip in self.refs("refs/heads").items()
        }

    def count(self, since: str, until: str) -> int:
        """Return how many commits `until` has that `since` has not."""
        return int(self.ask("rev-list", "--count", f"{since}..{until}"))

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Tell whether `newer` contains `older`."""
        return self.run("merge-base", "--is-ancestor", older, newer).ok

    def state(self) -> State:
        """Return branch, upstream and changes of this tree."""
        if self.bare:
            return State(head=None, branch=None)
        return _parse_status(
            self.ask("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all")
        )

    def under_way(self) -> str | None:
        """Name the operation that is not finished in this tree, None without one."""
        signs = {
            "MERGE_HEAD": "merge",
            "rebase-merge": "rebase",
            "rebase-apply": "rebase",
            "CHERRY_PICK_HEAD": "cherry-pick",
            "REVERT_HEAD": "revert",
            "BISECT_LOG": "bisect",
        }
        return next((name for sign, name in signs.items() if (self.private / sign).exists()), None)

    def switch(self, *how: str) -> Answer:
        """Switch branches; an ignored file in the way makes git refuse, as any other file does."""
        return self.run("switch", "--quiet", "--no-guess", "--no-overwrite-ignore", *how)

    def worktrees(self) -> list[Worktree]:
        """Return every working tree of the repository, the main one first."""
        out = self.ask("worktree", "list", "--porcelain", "-z")
        return [_parse_worktree(block) for block in out.split("\0\0") if block.strip("\0")]

    def forget_section(self, section: str) -> None:
        """Remove a section of git's own configuration, where it is there."""
        with contextlib.suppress(RefusedError):
            self.ask("config", "--remove-section", section)

    def config(self, key: str) -> str | None:
        """Return a value of git's own configuration."""
        answer = self.run("config", "--get", key)
        return answer.out.rstrip("\n") if answer.ok else None

    def config_of_branches(self, key: str) -> dict[str, str]:
        """Return the value of one key for every branch that git's own configuration has it for."""
        answer = self.run("config", "-z", "--get-regexp", rf"^branch\..*\.{key}$")
        pairs = (item.partition("\n") for item in answer.out.split("\0") if item)
        return {
            name.removeprefix("branch.").removesuffix(f".{key}"): value for name, _, value in pairs
        }

    def values_of(self, key: str) -> list[str]:
        """Return every value of a key in git's own configuration."""
        return self.run("config", "--get-all", key).out.splitlines()

    def reflog(self, branch: str) -> list[tuple[str, str]]:
        """Return where git remembers a local branch to have been, and why; newest first."""
        answer = self.run("reflog", "show", "--format=%H %gs", f"refs/heads/{branch}", "--")
        lines = answer.out.splitlines() if answer.ok else []
        return [(commit, why) for commit, _, why in (line.partition(" ") for line in lines)]

    def first_of_reflog(self, branch: str) -> str | None:
        """Return the oldest commit that git remembers for a local branch."""
        entries = self.reflog(branch)
        return entries[-1][0] if entries else None

    # branches and remotes

    def check_branch_name(self, name: str) -> str:
        """Return a branch name that git takes and that cannot be mistaken for an option."""
        odd = name.startswith("-") or name.upper() == "HEAD" or len(name.encode()) > 200
        if odd or not self.run("check-ref-format", f"refs/heads/{name}").ok:
            raise InvalidError(
                f"{name[:80]!r} cannot be the name of a branch.",
                reason="bad_branch_name",
                suggestions=["Name another: ctx tasks start ID --branch NAME"],
            )
        return name

    @cached_property
    def remote(self) -> str | None:
        """The remote that work goes to: `origin`, else the only one, else None."""
        names = self.ask("remote").split()
        return "origin" if "origin" in names else names[0] if len(names) == 1 else None

    def remote_url(self) -> str | None:
        """Return the remote's address as its owner wrote it, else as git rewrites it."""
        return self.config(f"remote.{self.remote}.url") if self.remote else None

    @cached_property
    def anchored(self) -> tuple[str, ...]:
        """Options for a git that reaches the remote from a worktree.

        A remote that is a relative path is one from the main tree, not from any other.
        """
        url = self.remote_url()
        if url is None or "://" in url or not url.startswith("."):
            return ()
        home = self.worktrees()[0].path
        place = (home / url).resolve()
        return () if home == self.root else ("-c", f"url.{place}.insteadOf={url}")

    def main_branch(self, wanted: str | None, *, ask: bool = True) -> str:
        """Return the short name of the main branch: `wanted` where it exists, else the default.

        Without `ask` the remote is not asked, and what is known here decides.
        """
        places = ["refs/heads/", f"refs/remotes/{self.remote}/" if self.remote else ""]
        if wanted and any(place and self.commit_of(place + wanted) for place in places):
            return wanted
        if self.remote and (name := self._remote_default(ask=ask)):
            return name
        local = self.branches()
        for name in (self.config("init.defaultBranch"), "main", "master", self._only(local)):
            if name and (name in local or (self.remote and self.commit_of(places[1] + name))):
                return name
        raise RefusedError(
            "It is not clear which branch is the main one.",
            reason="no_main_branch",
            suggestions=["ctx config set git_main_branch NAME"],
        )

    def fetch(self, *branches: str) -> str | None:
        """Bring these branches of the remote up to date; return the reason when that cannot be."""
        if self.remote is None:
            return "there is no remote"
        specs = [f"+refs/heads/{name}:refs/remotes/{self.remote}/{name}" for name in branches]
        command = ("fetch", "--quiet", "--no-tags", "--end-of-options", self.remote, *specs)
        try:
            answer = self.run(*self.anchored, *command, limit=self.reach_limit)
            if not answer.ok and "cannot lock ref" in answer.complaint:  # another fetch is at it
                answer = self.run(*self.anchored, *command, limit=self.reach_limit)
        except TimedOutError as error:
            return error.message
        return (
            None
            if answer.ok
            else cause(answer.complaint) or f"git fetch ended with {answer.status}"
        )

    def fetch_commit(self, commit: str, *refs: str) -> None:
        """Bring a commit of the remote here, by its name or by refs that may hold it."""
        for one in (commit, *refs):
            command = ("fetch", "--quiet", "--no-tags", "--end-of-options", str(self.remote), one)
            with contextlib.suppress(TimedOutError):
                self.run(*self.anchored, *command, limit=self.reach_limit)
            if self.commit_of(commit):
                return

    def fetch_refs(self, *specs: str) -> bool:
        """Fetch by refspecs as they are; whether that could be done."""
        command = ("fetch", "--quiet", "--no-tags", "--end-of-options", str(self.remote), *specs)
        try:
            return self.run(*self.anchored, *command, limit=self.reach_limit).ok
        except TimedOutError:
            return False

    def push(self, *options: str, specs: tuple[str, ...], at: Path | None = None) -> Answer:
        """Push these refspecs to the remote; the answer is in git's porcelain format."""
        return self.run(
            *self.anchored, "push", "--porcelain", *options, "--end-of-options",
            str(self.remote), *specs, limit=self.hook_limit, at=at,
        )  # fmt: skip

    def remote_tips(self, *branches: str, refs: tuple[str, ...] = ()) -> dict[str, str] | None:
        """Return where the remote has these branches, and refs by their full names, now.

        None when it cannot be reached.
        """
        if self.remote is None:
            return None
        wanted = [*(f"refs/heads/{name}" for name in branches), *refs]
        try:
            answer = self.run(
                *self.anchored, "ls-remote", "--end-of-options", self.remote, *wanted,
                limit=self.reach_limit,
            )  # fmt: skip
        except TimedOutError:
            return None
        if not answer.ok:
            return None
        rows = (line.split("\t", 1) for line in answer.out.splitlines())
        return {name.removeprefix("refs/heads/"): tip for tip, name in rows}

    def tracked(self, branch: str) -> str | None:
        """Return where we last saw the remote's branch of this name."""
        return self.commit_of(f"refs/remotes/{self.remote}/{branch}") if self.remote else None

    def others_with(self, commit: str, *without: str) -> list[str]:
        """Return the refs that contain a commit, except the named ones and claims, which go."""
        out = self.ask("for-each-ref", "--format=%(refname)", f"--contains={commit}")
        names = (name for name in out.splitlines() if not name.startswith("refs/cortex/claims/"))
        return [name for name in names if name not in without]

    def _remote_default(self, *, ask: bool) -> str | None:
        head = self.run("symbolic-ref", "--quiet", f"refs/remotes/{self.remote}/HEAD")
        if head.ok:
            name = head.out.strip().removeprefix(f"refs/remotes/{self.remote}/")
            if self.tracked(name):
                return name
        if not ask:
            return None
        with contextlib.suppress(TimedOutError):
            told = self.run(
                *self.anchored,
                "ls-remote",
                "--symref",
                "--end-of-options",
                str(self.remote),
                "HEAD",
                limit=self.reach_limit,
            )
            found = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", told.out, re.MULTILINE)
            if told.ok and found:
                return found[1]
        return None

    @staticmethod
    def _only(names: dict[str, str]) -> str | None:
        return next(iter(names)) if len(names) == 1 else None


def refusal(answer: Answer, what: str, *, reason: str = "git_refused") -> RefusedError:
    """The error for a git command that said no, with git's own words."""
    said = answer.complaint.strip() or answer.out.strip() or f"exit status {answer.status}"
    return RefusedError(f"{what}: {redact(said[-2000:])}", reason=reason)


def cause(complaint: str) -> str:
    """Return why a remote failed: the first line of git's complaint, whose last ones are advice."""
    for line in complaint.splitlines():
        said = re.sub(r"^(?:(?:fatal|error|remote|ERROR): ?)+", "", line.strip())
        if said and not line.startswith(("warning:", "hint:", "To ", "Warning:")):
            return said.rstrip(".")
    return ""


def way_out(doing: str) -> str:
    """Return the command that ends an operation that is under way."""
    return "git bisect reset" if doing == "bisect" else f"git {doing} --abort"


def _discover(folder: Path) -> tuple[str, str, str, bool]:
    """Return the tree's folder, git's for all trees, git's for this one, and whether it is bare."""
    places = ("--git-common-dir", "--absolute-git-dir")
    answer = _run(folder, ("rev-parse", "--show-toplevel", *places), LOCAL_LIMIT)
    lines = answer.out.splitlines()
    if answer.ok and len(lines) == 3:
        return lines[0], lines[1], lines[2], False
    bare = _run(folder, ("rev-parse", "--is-bare-repository", *places), LOCAL_LIMIT)
    lines = bare.out.splitlines()
    if bare.ok and len(lines) == 3 and lines[0] == "true":
        return lines[2], lines[1], lines[2], True
    hint = cause(answer.complaint)
    if "dubious ownership" in answer.complaint:
        raise RefusedError(
            f"Git does not trust this repository: {hint}",
            reason="not_trusted",
            suggestions=[f"If you trust it: git config --global --add safe.directory {folder}"],
        )
    raise NotFoundError(
        "Not in a git repository",
        reason="not_a_repository",
        suggestions=["Change to a repository, or make one: git init"],
    )


def _run(
    folder: Path, arguments: tuple[str, ...], limit: float, given: str | None = None
) -> Answer:
    try:
        process = subprocess.Popen(
            ["git", *arguments],
            cwd=folder,
            env=os.environ | _ENVIRONMENT | ({} if os.isatty(0) else _NOBODY_THERE),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError:
        if not folder.is_dir():
            raise
        raise UnsupportedError(
            "Git is not installed, or not on the PATH.",
            reason="git_missing",
            suggestions=["Install git 2.36 or newer."],
        ) from None
    try:
        sent = None if given is None else given.encode("utf-8", "surrogateescape")
        out, complaint = process.communicate(sent, timeout=limit)
    except subprocess.TimeoutExpired:
        _end(process)
        raise TimedOutError(
            f"git {arguments[0]} did not end within {limit:g} s.", reason="git_timeout"
        ) from None
    except BaseException:
        _end(process)
        raise
    return Answer(process.returncode, _text(out), redact(_text(complaint)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started: asked first, so that it takes its lock files along."""
    family = [process.pid, *_descendants(process.pid)]
    with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
        process.terminate()
        process.wait(2)
    for pid in family:
        with contextlib.suppress(OSError):
            if pid != process.pid or process.poll() is None:
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait(5)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _descendants(pid: int) -> Iterator[int]:
    """Yield a process's children and theirs, where the system tells (Linux)."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _descendants(child)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _parse_status(out: str) -> State:
    head: dict[str, str] = {}
    changed: list[str] = []
    untracked: list[str] = []
    conflicted: list[str] = []
    deleted: list[str] = []
    parts = iter(out.split("\0"))
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            head[name] = value
        elif kind == "?":
            untracked.append(rest)
        elif kind == "u":
            conflicted.append(rest.split(" ", 9)[9])
        elif kind in ("1", "2"):
            path = rest.split(" ", 7 if kind == "1" else 8)[-1]
            changed.append(path)
            if "D" in rest[:2]:
                deleted.append(path)
            if kind == "2":
                next(parts, "")  # the name it had before
    ahead, behind = (abs(int(n)) for n in head.get("branch.ab", "+0 -0").split())
    branch = head.get("branch.head", "(detached)")
    commit = head.get("branch.oid", "(initial)")
    return State(
        head=None if commit == "(initial)" else commit,
        branch=None if branch == "(detached)" else branch,
        upstream=head.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        changed=tuple(changed),
        untracked=tuple(untracked),
        conflicted=tuple(conflicted),
        deleted=tuple(deleted),
    )


def _parse_worktree(block: str) -> Worktree:
    facts = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
    branch = facts.get("branch")
    return Worktree(
        path=Path(facts["worktree"]),
        branch=branch.removeprefix("refs/heads/") if branch else None,
        gone="prunable" in facts or not Path(facts["worktree"]).exists(),
        locked="locked" in facts,
    )
