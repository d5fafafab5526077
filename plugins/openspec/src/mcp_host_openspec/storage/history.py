"""What git knows of the files of a tree, where the tree is in a repository.

Only commits and their files are read: neither the index nor the working tree, and nothing that a
repository's own configuration names is run.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from .files import Identity
from .repository import common_folder, git_folder, line_of

_SECONDS: Final = 10
_HARMLESS: Final = (
    "--no-optional-locks",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "core.sshCommand=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
)
"""A repository's configuration may name programs: none of them is run, and nothing is fetched."""

_LOG: Final = (
    "log",
    "--topo-order",
    "--reverse",
    "--relative",
    "--find-renames",
    "-z",
    "--name-status",
    "--no-ext-diff",
    "--no-textconv",
    "--format=%x01%H %P",
    "--",
    "changes",
    "specs",
)


class Version(NamedTuple):
    """A file as one commit left it."""

    commit: str
    parent: str | None
    """The commit before; None for the first of a repository."""
    path: str
    """Relative to the tree, as it was called then."""


def blob_id(data: bytes) -> str:
    """What git calls a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class History:
    """The commits that touched the files of one tree, read again when there are new ones."""

    def __init__(self, openspec: Path) -> None:
        self._folder = openspec
        self._mark: object = None
        self._versions: dict[str, list[Version]] = {}
        self._contents: dict[str, bytes | None] = {}

    def mark(self) -> tuple[object, ...]:
        """What tells one state of the repository from another; empty where there is none."""
        git = git_folder(self._folder)
        if git is None:
            return ()
        head = line_of(git / "HEAD")
        shared = common_folder(git)
        name = head.removeprefix("ref: ")
        return (
            str(git),
            head,
            line_of(shared / name) if name != head else "",
            _identity(shared / "packed-refs"),
            _identity(shared / "shallow"),
        )

    def versions(self, path: str) -> list[Version]:
        """The versions of a file, oldest first, back to when it was made; followed by renames.

        Empty where git does not know the file, or does not know all of its past.
        """
        mark = self.mark()
        if mark != self._mark:
            self._versions = self._read_log() if mark and mark[-1] is None else {}
            self._contents = {}
            self._mark = mark
        return self._versions.get(path, [])

    def contents(self, wanted: Iterable[tuple[str, str]]) -> list[bytes | None]:
        """What files held at commits, each given as (commit, path); None where there was none."""
        names = [f"{commit}:./{path}" for commit, path in wanted]
        self._fetch(name for name in names if name not in self._contents and "\n" not in name)
        return [self._contents.get(name) for name in names]

    def blob(self, name: str) -> bytes | None:
        """The content that git keeps under this name, if it keeps it."""
        if git_folder(self._folder) is None:
            return None
        if name not in self._contents:
            self._fetch([name])
        return self._contents.get(name)

    def _fetch(self, names: Iterable[str]) -> None:
        asked = list(dict.fromkeys(names))
        if not asked:
            return
        answer = self._git("cat-file", "--batch", given="".join(f"{n}\n" for n in asked).encode())
        at = 0
        for name in asked:
            head, newline, _ = (answer or b"")[at:].partition(b"\n")
            words = head.split(b" ")
            at += len(head) + len(newline)
            if len(words) == 3 and words[1] == b"blob":
                size = int(words[2])
                self._contents[name] = (answer or b"")[at : at + size]
                at += size + 1
            else:
                self._contents[name] = None

    def _read_log(self) -> dict[str, list[Version]]:
        versions: dict[str, list[Version]] = {}
        told = self._git(*_LOG) or b""
        for entry in told.decode("utf-8", "surrogateescape").split("\x01")[1:]:
            head, _, files = entry.partition("\0")
            commit, _, parents = head.partition(" ")
            parent = parents.split(" ")[0] or None
            words = iter(files.strip("\n").split("\0"))
            for status in words:
                if not status:
                    break
                path = next(words)
                before: list[Version] = []
                if status[0] in "RC":
                    old, path = path, next(words)
                    before = versions.get(old, [])
                elif status[0] != "A":
                    before = versions.get(path, [])
                if status[0] == "D":
                    versions.pop(path, None)
                else:
                    versions[path] = [*before, Version(commit, parent, path)]
        return versions

    def _git(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """The output of one git command; None where it fails."""
        import subprocess  # only here: a tree without a repository would pay for it

        try:
            done = subprocess.run(
                ["git", *_HARMLESS, *arguments],
                cwd=self._folder,
                input=given,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
                env=_environment(),
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout


def _identity(path: Path) -> Identity | None:
    try:
        return Identity.of(path.stat())
    except (OSError, ValueError):
        return None


def _environment() -> dict[str, str]:
    """What git needs of ours; nothing that would point it at another repository."""
    kept = ("PATH", "HOME", "SYSTEMROOT", "XDG_CONFIG_HOME")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **variables,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }
