"""A working tree, and the git in it: asked by argv, answered in machine-readable formats."""

import contextlib
import re
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ...errors import InvalidError, NotFoundError, RefusedError
from .process import Answer, Asking, lines, run
from .remotes import Reaching, Remote, base_remote, push_remote
from .states import State, Worktree, parse_status, parse_worktree
from .words import cause, refusal

LOCAL_LIMIT = 60.0
CONFIG_WAIT = 5.0
_CONFIG_BUSY = "could not lock config file"
_SIGNS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
_MEANINGFUL = re.compile(r"@|(?:FETCH_|ORIG_|MERGE_|REBASE_|CHERRY_PICK_|REVERT_)?HEAD|refs/.*")
# The commands that may change git's configuration, or end a branch with what it has there.
_WRITERS = frozenset(
    ("config", "push", "switch", "branch", "worktree", "remote", "rebase", "merge", "fetch")
)


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
        self._read: dict[str, list[str]] | None = None
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
        more: dict[str, str] | None = None,
        asking: Asking | None = None,
    ) -> Answer:
        """Run one git command in the tree's root (or `at`) and return its answer.

        `given` is what it reads from its standard input, nothing unless told; `more` what its
        environment has besides; of `asking` a program that does not answer is ended.
        """
        try:
            return run(at or self.root, arguments, limit, given, more=more, asking=asking)
        finally:
            if _WRITERS & set(arguments) and "list" not in arguments and len(arguments) > 1:
                self._read = None

    def lines(self, *arguments: str, longest: int) -> Iterator[bytes]:
        """Yield what a command prints line by line, a line that is longer than that in pieces."""
        return lines(self.root, arguments, longest)

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
        return parse_status(
            self.ask("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all")
        )

    def under_way(self) -> str | None:
        """Name the operation that is not finished in this tree, None without one."""
        return next((name for sign, name in _SIGNS.items() if (self.private / sign).exists()), None)

    def switch(self, *how: str) -> Answer:
        """Switch branches; an ignored file in the way makes git refuse, as any other file does."""
        return self.run("switch", "--quiet", "--no-guess", "--no-overwrite-ignore", *how)

    def worktrees(self) -> list[Worktree]:
        """Return every working tree of the repository, the main one first."""
        out = self.ask("worktree", "list", "--porcelain", "-z")
        return [parse_worktree(block) for block in out.split("\0\0") if block.strip("\0")]

    def forget_section(self, section: str) -> None:
        """Remove a section of git's own configuration, where it is there."""
        with contextlib.suppress(RefusedError):
            self.ask("config", "--remove-section", section)

    def config(self, key: str) -> str | None:
        """Return a value of git's own configuration, the last where there are several."""
        values = self._settings.get(_canonical(key))
        return values[-1] if values else None

    def config_of_branches(self, key: str) -> dict[str, str]:
        """Return the value of one key for every branch that git's own configuration has it for."""
        end = f".{key.lower()}"
        return {
            name.removeprefix("branch.").removesuffix(end): values[-1]
            for name, values in self._settings.items()
            if name.startswith("branch.") and name.endswith(end)
        }

    def values_of(self, key: str) -> list[str]:
        """Return every value of a key in git's own configuration."""
        return list(self._settings.get(_canonical(key), ()))

    @property
    def _settings(self) -> dict[str, list[str]]:
        """Git's whole configuration, read once until a command of ours may have changed it."""
        if self._read is None:
            found: dict[str, list[str]] = {}
            answer = run(self.root, ("config", "-z", "--list"), LOCAL_LIMIT)
            for item in answer.out.split("\0"):
                name, _, value = item.partition("\n")
                found.setdefault(name, []).append(value)
            self._read = found
        return self._read

    def look_again(self) -> None:
        """Forget what was read of git's configuration: others may have changed it."""
        self._read = None

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
        odd = name.startswith("-") or len(name.encode()) > 200
        meant = _MEANINGFUL.fullmatch(name) or name.partition("/")[0] in self.remote_names
        if (
            odd
            or meant
            or name.upper() == "HEAD"
            or not self.run("check-ref-format", f"refs/heads/{name}").ok
        ):
            raise InvalidError(
                f"{name[:80]!r} cannot be the name of a branch.",
                reason="bad_branch_name",
                suggestions=["Name another: ctx tasks start ID --branch NAME"],
            )
        return name

    @cached_property
    def remote_names(self) -> list[str]:
        """The names of the remotes."""
        return self.ask("remote").split()

    @cached_property
    def base(self) -> Remote | None:
        """The remote that has the main branch, None without one."""
        return base_remote(self)

    def push_to(self, branch: str) -> Remote | None:
        """Return the remote that a branch is pushed to: the base's own object where it is that."""
        found = push_remote(self, branch) or self.base
        return self.base if found and self.base and found.name == self.base.name else found

    @cached_property
    def asking(self) -> Asking:
        """The programs that git may ask for a password."""
        return Reaching(self).asking()

    @cached_property
    def unattended(self) -> dict[str, str]:
        """The environment of a git that reaches a remote while nobody is at the terminal."""
        return Reaching(self).unattended()

    def main_branch(self, wanted: str | None, *, ask: bool = True) -> str:
        """Return the short name of the main branch: `wanted` where it exists, else the default.

        Without `ask` the remote is not asked, and what is known here decides.
        """
        base = self.base
        if wanted and (
            self.commit_of(f"refs/heads/{wanted}") or (base is not None and base.tracked(wanted))
        ):
            return wanted
        if base is not None and (name := base.default(ask=ask)):
            return name
        local = self.branches()
        for name in (self.config("init.defaultBranch"), "main", "master", _only(local)):
            if name and (name in local or (base is not None and base.tracked(name))):
                return name
        if not local and not self.refs("refs/remotes"):
            raise RefusedError(
                "This repository has no commit yet.",
                reason="no_commits",
                suggestions=["Commit something first: git commit --allow-empty -m Begin"],
            )
        raise RefusedError(
            "It is not clear which branch is the main one.",
            reason="no_main_branch",
            suggestions=["ctx config set git_main_branch NAME"],
        )

    def others_with(self, commit: str, *without: str) -> list[str]:
        """Return the refs that contain a commit, except the named ones and claims, which go."""
        out = self.ask("for-each-ref", "--format=%(refname)", f"--contains={commit}")
        names = (name for name in out.splitlines() if not name.startswith("refs/cortex/claims/"))
        return [name for name in names if name not in without]


def _only(names: dict[str, str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def _discover(folder: Path) -> tuple[str, str, str, bool]:
    """Return the tree's folder, git's for all trees, git's for this one, and whether it is bare."""
    places = ("--git-common-dir", "--absolute-git-dir")
    answer = run(folder, ("rev-parse", "--show-toplevel", *places), LOCAL_LIMIT)
    lines = answer.out.splitlines()
    if answer.ok and len(lines) == 3:
        return lines[0], lines[1], lines[2], False
    bare = run(folder, ("rev-parse", "--is-bare-repository", *places), LOCAL_LIMIT)
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


def _canonical(key: str) -> str:
    """Return a key as git lists it: in lower case but for the name in its middle."""
    section, _, rest = key.partition(".")
    middle, dot, name = rest.rpartition(".")
    return f"{section.lower()}.{middle}{dot}{name.lower()}"
