"""What a working tree holds that is in no commit, made a commit of, and the tree put back to HEAD.

The commit has the shape of a stash, so that git itself applies it: its parents are HEAD, a commit
of the index, and one of the untracked files. What is ignored is in none of them.
"""

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import RefusedError
from .git import Checkout, State, refusal

WHO = {
    "GIT_AUTHOR_NAME": "ctx",
    "GIT_AUTHOR_EMAIL": "ctx@localhost",
    "GIT_COMMITTER_NAME": "ctx",
    "GIT_COMMITTER_EMAIL": "ctx@localhost",
}


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Files of a tree that differ from HEAD: in the index, from the index, or new to git."""

    head: str
    staged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """Every path, once."""
        return sorted({*self.staged, *self.unstaged, *self.untracked})


def uncommitted(git: Checkout, state: State) -> Uncommitted | None:
    """Return what is uncommitted, None where nothing is; raise where it can be no commit.

    Repositories inside the tree are no part of it.
    """
    if state.head is None:
        raise RefusedError("There is no commit yet that work could be kept beside.")
    if state.conflicted:
        raise RefusedError(
            f"Conflicts are not solved: {', '.join(state.conflicted[:10])}", reason="conflicts"
        )
    options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
    found = Uncommitted(
        state.head,
        _names(git.ask("diff-index", "--cached", *options, state.head, "--")),
        _names(git.ask("diff-files", *options, "--")),
        tuple(
            path
            for path in _names(git.ask("ls-files", "--others", "--exclude-standard", "-z"))
            if not path.endswith("/")
        ),
    )
    return found if found.paths else None


def commit_of(git: Checkout, work: Uncommitted, message: str) -> str:
    """Return a new commit of what is uncommitted; the tree and its index stay as they are."""
    index = git.ask("write-tree")
    with tempfile.TemporaryDirectory(prefix="ctx-") as folder:
        apart = WHO | {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        both = _commit(git, apart, index, f"index of {message}", work.head)
        _must(git, apart, "read-tree", "--empty")
        untracked = _commit(git, apart, _tree_with(git, apart, work.untracked), f"new: {message}")
        _must(git, apart, "read-tree", index)
        tree = _tree_with(git, apart, work.unstaged)
        return _commit(git, apart, tree, message, work.head, both, untracked)


def files_of(git: Checkout, commit: str) -> tuple[set[str], set[str]]:
    """Return the files of such a commit: those it changed, and those that were new to git."""
    changed = git.ask("diff", "--name-only", "-z", "--no-renames", f"{commit}^1", commit)
    staged = git.ask("diff", "--name-only", "-z", "--no-renames", f"{commit}^1", f"{commit}^2")
    new = git.ask("ls-tree", "-r", "-z", "--name-only", f"{commit}^3")
    return {*_names(changed), *_names(staged)}, {*_names(new)}


def put_away(git: Checkout, paths: list[str], folder: Path) -> None:
    """Rename files of the tree into a folder, and put the tree and its index back to HEAD.

    The bytes stay as they are, whatever git's filters do and whoever writes meanwhile. Where git
    refuses, the files are put back.
    """
    moved: list[str] = []
    try:
        for path in paths:
            place = git.root / path
            if place.is_symlink() or place.is_file():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                place.rename(target)
                moved.append(path)
        for path in moved:
            _remove_empty(git.root, path)
        _must(git, {}, "-c", "submodule.recurse=false", "reset", "--quiet", "--hard", "HEAD")
    except BaseException:
        put_back(git.root, folder, moved)
        raise


def put_back(root: Path, folder: Path, paths: list[str]) -> None:
    """Rename files of a folder into the tree, where nothing else stands."""
    for path in paths:
        place = root / path
        if not (place.is_symlink() or place.exists()):
            place.parent.mkdir(parents=True, exist_ok=True)
            (folder / path).rename(place)


def apply(git: Checkout, commit: str) -> None:
    """Put what was uncommitted back into tree and index; raise `RefusedError` at conflicts."""
    answer = git.run("stash", "apply", "--quiet", "--index", commit)
    if not answer.ok:
        raise refusal(answer, "It cannot be put back whole", reason="restore_blocked")


def _tree_with(git: Checkout, apart: dict[str, str], paths: tuple[str, ...]) -> str:
    given = "".join(f"{path}\0" for path in paths)
    _must(git, apart, "update-index", "--add", "--remove", "-z", "--stdin", given=given)
    return _must(git, apart, "write-tree")


def _commit(git: Checkout, apart: dict[str, str], tree: str, message: str, *parents: str) -> str:
    named = [word for parent in parents for word in ("-p", parent)]
    return _must(git, apart, "commit-tree", *named, "-m", message, tree)


def _must(git: Checkout, apart: dict[str, str], *arguments: str, given: str | None = None) -> str:
    answer = git.run(*arguments, more=apart, given=given)
    if not answer.ok:
        raise refusal(answer, "What is uncommitted cannot be kept", reason="not_kept")
    return answer.out.strip()


def _remove_empty(root: Path, path: str) -> None:
    """Remove the folders above a path that hold nothing any more."""
    with contextlib.suppress(OSError):
        for parent in (root / path).parents:
            if parent == root:
                return
            parent.rmdir()


def _names(out: str) -> tuple[str, ...]:
    return tuple(path for path in out.split("\0") if path)
