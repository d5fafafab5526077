"""A remote of the repository: reached in time, asked once, and pushed to without asking anybody."""

import contextlib
import os
import re
import shlex
from functools import cached_property
from pathlib import Path

from ...errors import TimedOutError
from .process import Answer, Asking, is_attended
from .repository import Repository
from .words import cause

_DEFAULT = re.compile(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)


class Remote:
    """One remote by its name. `told_default` is the default branch that it named last, `was_asked`
    whether it was asked for that at all."""

    def __init__(self, git: Repository, name: str) -> None:
        self._git = git
        self.name = name
        self.told_default: str | None = None
        self.was_asked = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def url(self) -> str | None:
        """The address as its owner wrote it."""
        return self._git.config(f"remote.{self.name}.url")

    @cached_property
    def resolved_url(self) -> str | None:
        """The address that git goes to: `url` with what `insteadOf` puts in its place."""
        answer = self._git.run("remote", "get-url", "--", self.name)
        return answer.out.strip() or None if answer.ok else None

    def ref(self, branch: str) -> str:
        """Return the name of the ref that tells where we last saw its branch."""
        return f"refs/remotes/{self.name}/{branch}"

    def tracked(self, branch: str) -> str | None:
        """Return where we last saw its branch of this name."""
        return self._git.commit_of(self.ref(branch))

    # asking it

    def tips(self, *branches: str, refs: tuple[str, ...] = ()) -> dict[str, str] | None:
        """Return where it has these branches, and refs by their full names, now.

        None when it cannot be reached. It tells its default branch as well.
        """
        self.was_asked = True
        wanted = ["HEAD", *(f"refs/heads/{name}" for name in branches), *refs]
        try:
            answer = self._reach("ls-remote", "--symref", "--end-of-options", self.name, *wanted)
        except TimedOutError:
            return None
        if not answer.ok:
            return None
        if found := _DEFAULT.search(answer.out):
            self.told_default = found[1]
        rows = (line.split("\t", 1) for line in answer.out.splitlines())
        tips = {name: tip for tip, name in rows if not tip.startswith("ref: ")}
        head = tips.pop("HEAD", None)
        if head is not None and self.told_default is not None:
            tips.setdefault(f"refs/heads/{self.told_default}", head)
        return {name.removeprefix("refs/heads/"): tip for name, tip in tips.items()}

    def default(self, *, ask: bool) -> str | None:
        """Return the name of its default branch: as it tells, else as it was last seen here."""
        if ask and not self.was_asked:
            self.tips()
        if self.told_default is not None:
            return self.told_default
        head = self._git.run("symbolic-ref", "--quiet", self.ref("HEAD"))
        name = head.out.strip().removeprefix(self.ref(""))
        return name if head.ok and self.tracked(name) else None

    def fetch(self, *branches: str) -> str | None:
        """Bring these branches up to date here; return the reason when that cannot be."""
        specs = [f"+refs/heads/{name}:{self.ref(name)}" for name in branches]
        command = ("fetch", "--quiet", "--no-tags", "--end-of-options", self.name, *specs)
        try:
            answer = self._reach(*command)
            if not answer.ok and "cannot lock ref" in answer.complaint:  # another fetch is at it
                answer = self._reach(*command)
        except TimedOutError as error:
            return error.message
        if answer.ok:
            return None
        return cause(answer.complaint) or f"git fetch ended with {answer.status}"

    def fetch_commit(self, commit: str, *refs: str) -> None:
        """Bring one of its commits here, by its name or by refs that may hold it."""
        for one in (commit, *refs):
            if self._git.commit_of(commit):
                return
            self.fetch_refs(one)

    def fetch_refs(self, *specs: str) -> bool:
        """Fetch by refspecs as they are; whether that could be done."""
        try:
            return self._reach(
                "fetch", "--quiet", "--no-tags", "--end-of-options", self.name, *specs
            ).ok
        except TimedOutError:
            return False

    # changing it

    def push(self, *options: str, specs: tuple[str, ...], at: Path | None = None) -> Answer:
        """Push these refspecs to it; the answer is in git's porcelain format."""
        return self._reach(
            "push", "--porcelain", *options, "--end-of-options", self.name, *specs,
            limit=self._git.hook_limit, at=at,
        )  # fmt: skip

    # reaching it

    def _reach(self, *arguments: str, limit: float | None = None, at: Path | None = None) -> Answer:
        return self._git.run(
            *self._anchored,
            *arguments,
            limit=self._git.reach_limit if limit is None else limit,
            at=at,
            more=self._git.unattended,
            asking=self._git.asking,
        )

    @cached_property
    def _anchored(self) -> tuple[str, ...]:
        """Options for a git that reaches it from a worktree or past a setting that is in the way.

        A remote that is a relative path is one from the main tree, not from any other. A mirror
        takes no single refs.
        """
        unmirrored: tuple[str, ...] = ()
        if self._git.config(f"remote.{self.name}.mirror") == "true":
            unmirrored = ("-c", f"remote.{self.name}.mirror=false")
        if self.url is None or "://" in self.url or not self.url.startswith("."):
            return unmirrored
        home = self._git.worktrees()[0].path
        place = (home / self.url).resolve()
        if home == self._git.root:
            return unmirrored
        return (*unmirrored, "-c", f"url.{place}.insteadOf={self.url}")


class Reaching:
    """How a checkout's git reaches remotes where nobody is at the terminal."""

    def __init__(self, git: Repository) -> None:
        self._git = git

    def asking(self) -> Asking:
        """Return the programs that git may ask for a password."""
        named = (
            os.environ.get("GIT_ASKPASS"),
            self._git.config("core.askPass"),
            os.environ.get("SSH_ASKPASS"),
        )
        return Asking(tuple(one for one in named if one), self._git.reach_limit)

    def unattended(self) -> dict[str, str]:
        """Return the environment of a git whose ssh asks nobody."""
        if is_attended() or "GIT_SSH" in os.environ:
            return {}
        command = os.environ.get("GIT_SSH_COMMAND") or self._git.config("core.sshCommand") or "ssh"
        with contextlib.suppress(ValueError):
            if Path(shlex.split(command)[0]).stem == "ssh":
                return {"GIT_SSH_COMMAND": f"{command} -o BatchMode=yes"}
        return {}


def base_remote(git: Repository) -> Remote | None:
    """Return the remote that has the main branch, where work is merged.

    It is the `upstream` of a fork; else what git's own settings name for the main branch; else
    `origin`, or the only one.
    """
    names = git.remote_names
    if "upstream" in names:
        return Remote(git, "upstream")
    mains = (git.config("init.defaultBranch"), "main", "master")
    of_main = (git.config(f"branch.{name}.remote") for name in mains if name)
    wanted = (*("origin",), *of_main)
    for name in wanted:
        if name in names:
            return Remote(git, name)
    others = [name for name in names if name not in ("fork", git.config("remote.pushDefault"))]
    return Remote(git, others[0]) if len(others) == 1 else None


def push_remote(git: Repository, branch: str) -> Remote | None:
    """Return the remote that a branch is pushed to: as git's own settings say, else by its role.

    None where neither tells one.
    """
    names = git.remote_names
    wanted = [
        git.config(f"branch.{branch}.pushRemote"),
        git.config("remote.pushDefault"),
        git.config(f"branch.{branch}.remote"),
        "fork",
        "origin",
    ]
    for name in wanted:
        if name in names:
            return Remote(git, name)
    return None
