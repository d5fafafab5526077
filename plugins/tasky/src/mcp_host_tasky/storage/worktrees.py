"""Where a folder stands in git: its linked worktree, and what git tracks there.

A linked worktree is read from its own files, as git lays them out (gitrepository-layout(5)); only
what git itself lists counts, so that no folder can point into a repository that knows nothing of
it. What git tracks is asked of git, by commands that start no other program.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .programs import program_environment

_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Worktree:
    """A linked worktree: its top folder, git's own folder of it, the repository's common folder,
    and the main worktree, which a bare repository does not have."""

    top: Path
    own: Path
    common: Path
    main: Path | None

    def shared(self, folder: Path) -> Path:
        """Return the folder that all worktrees share in place of this one, which is in `top`."""
        below = folder.relative_to(self.top)
        return (self.main or self.common / "tasky" / "plans") / below

    def holds(self, folder: Path) -> bool:
        return folder.is_relative_to(self.top)


def linked_worktree(folder: Path) -> Worktree | None:
    """Return the linked worktree that a folder is in; None in a main worktree and outside git."""
    found = _linked(folder)
    if found is None:
        return None
    top, own, common = found
    if _pointed_to(own / "gitdir") != (top / ".git").resolve():
        return None  # moved or copied by hand: git does not list it
    listed = _git(common, "worktree", "list", "--porcelain")
    if listed is None:
        return None
    first = listed.partition("\n\n")[0].splitlines()
    is_bare = "bare" in first
    main = Path(first[0].removeprefix("worktree "))
    return Worktree(top, own, common, None if is_bare else main)


def moved_worktree(folder: Path) -> Path | None:
    """Return the top of the linked worktree that a folder is in, where git knows it at a place that
    is there no longer: it was moved by hand."""
    found = _linked(folder)
    known = _pointed_to(found[1] / "gitdir") if found else None
    return found[0] if found and known and not known.exists() else None


def orphaned_worktree(folder: Path) -> tuple[Path, Path] | None:
    """Return the top of the linked worktree that a folder is in, and where its repository was, if
    that is there no longer."""
    top = _top(folder)
    own = _pointed_to(top / ".git", "gitdir:") if top else None
    if top is None or own is None or own.exists() or own.parent.name != "worktrees":
        return None
    common = own.parent.parent
    return top, common.parent if common.name == ".git" else common


def in_repository(folder: Path) -> tuple[Path, Path] | None:
    """Return a repository's common folder, and where in a worktree of it a folder is; None outside
    git."""
    top = _top(folder)
    if top is None:
        return None
    own = top / ".git" if (top / ".git").is_dir() else _pointed_to(top / ".git", "gitdir:")
    if own is None or not (own / "HEAD").exists():
        return None
    return _pointed_to(own / "commondir") or own, folder.relative_to(top)


def is_tracked(folder: Path, data: str) -> bool:
    """Whether git keeps the plan in this folder: it tracks something there, and does not ignore
    the plan's data, a name in the folder."""
    tracked = _git(folder, "ls-files", "--", ".")
    if not tracked:
        return False
    return bool(_git(folder, "ls-files", "--", data)) or _git(folder, "check-ignore", data) is None


def unmerged(folder: Path) -> dict[str, frozenset[int]]:
    """Return the files of a folder whose merge git was not told the end of, by their names, with
    the versions that it has of each: 1 is the common one, 2 ours, 3 theirs."""
    found: dict[str, frozenset[int]] = {}
    for line in (_git(folder, "ls-files", "--unmerged", "-z", "--", ".") or "").split("\0"):
        version, _, name = line.partition("\t")
        if name:
            found[name] = found.get(name, frozenset()) | {int(version.rpartition(" ")[2])}
    return found


def _linked(folder: Path) -> tuple[Path, Path, Path] | None:
    """Return the top of the linked worktree that a folder is in, git's own folder of it and the
    common one, as its files have them."""
    top = _top(folder)
    if top is None or (top / ".git").is_dir():
        return None
    own = _pointed_to(top / ".git", "gitdir:")
    common = _pointed_to(own / "commondir") if own else None
    if own is None or common is None or own.parent != common / "worktrees":
        return None  # a submodule, or a repository whose folder is elsewhere
    return top, own, common


def _top(folder: Path) -> Path | None:
    for one in (folder, *folder.parents):
        if (one / ".git").exists():
            return one
    return None


def _pointed_to(file: Path, mark: str = "") -> Path | None:
    """Return the path that a file of git's names, relative to the file."""
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith(mark):
        return None
    return (file.parent / text.removeprefix(mark).strip()).resolve()


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, or None where it refuses or is not there."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env={**program_environment(), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
