"""What a repository's HEAD says, read as a file: for those who wait for it to change."""

from pathlib import Path


def read_head(folder: Path) -> str | None:
    """Return HEAD of the working tree that holds `folder`, None where there is none."""
    private = git_folder(folder)
    try:
        return None if private is None else (private / "HEAD").read_text("utf-8", "replace")
    except OSError:
        return None


def git_folder(folder: Path) -> Path | None:
    """Return the git folder of the working tree that holds `folder`, None where there is none."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a worktree or a submodule: the file names the folder
            named = git.read_text("utf-8", "replace").strip().removeprefix("gitdir: ")
            return (place / named).resolve()
    return None


def tree_stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes when something is staged or committed: no file of the tree is read."""
    private = git_folder(folder)
    if private is None:
        return ()
    stamps = []
    for name in ("index", "logs/HEAD"):
        try:
            stamps.append((private / name).stat().st_mtime_ns)
        except OSError:
            stamps.append(0)
    return tuple(stamps)
