"""Which git repository a folder belongs to, read from git's own files; nothing is run."""

from pathlib import Path


def git_folder(folder: Path) -> Path | None:
    """Where the repository, or the worktree, around a folder keeps what is its own."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return git
        if (pointer := line_of(git)).startswith("gitdir: "):
            return place / pointer.removeprefix("gitdir: ")
    return None


def common_folder(git: Path) -> Path:
    """What all worktrees of a repository share, given what one of them keeps."""
    shared = line_of(git / "commondir")
    return (git / shared).resolve() if shared else git.resolve()


def same_repository(one: Path, other: Path) -> bool:
    """Whether two folders are in worktrees of one repository, each known to it."""
    repositories = [_repository(folder) for folder in (one, other)]
    return repositories[0] is not None and repositories[0] == repositories[1]


def _repository(folder: Path) -> Path | None:
    """The repository of a folder; None where a worktree claims one that does not know of it."""
    git = git_folder(folder)
    if git is None:
        return None
    if not line_of(git / "commondir"):
        return git.resolve()
    back = Path(line_of(git / "gitdir"))
    known = back.parent.resolve() if back.is_absolute() else (git / back).parent.resolve()
    return common_folder(git) if folder.resolve().is_relative_to(known) else None


def line_of(path: Path) -> str:
    """The one line of a file; empty where there is none."""
    try:
        return path.read_text("utf-8", "surrogateescape").strip()
    except (OSError, ValueError):
        return ""
