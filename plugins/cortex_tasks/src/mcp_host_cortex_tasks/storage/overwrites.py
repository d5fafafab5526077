"""Which files a move to another commit would overwrite, those among them that git does not mind.

Git guards changes that it sees. It does not guard ignored files (`switch` does with
`--no-overwrite-ignore`; `rebase`, `merge`, `reset --hard` and `cherry-pick` never do) and changes
under `assume-unchanged` and `skip-worktree`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from .git import Checkout, State


def overwritten_by(git: Checkout, state: State, target: str) -> list[str]:
    """Return the files of the tree that would be lost if it moved from its HEAD to `target`."""
    if state.head is None:
        return []
    out = git.ask("diff", "--name-status", "-z", "--no-renames", state.head, target)
    parts = out.split("\0")
    moves = dict(zip(parts[1::2], parts[0::2], strict=False))
    seen = {*state.changed, *state.untracked, *state.conflicted}
    lost = {path for path in seen if _meets(path, moves)}
    tracked = _tracked(git) if moves else {}
    for path, kind in moves.items():
        if kind == "A":
            lost.update(_in_the_way(git.root, path, tracked))
    lost.update(_changed_unseen(git, tracked, moves))
    return sorted(lost)


def _meets(path: str, moves: dict[str, str]) -> bool:
    """Tell whether a path, or a folder above it, is one of those that move."""
    return path in moves or any(str(parent) in moves for parent in Path(path).parents)


def _in_the_way(root: Path, path: str, tracked: dict[str, str]) -> Iterator[str]:
    """Yield what stands where `path` will be written, unless git tracks it."""
    for parent in reversed(Path(path).parents):
        place = root / parent
        if str(parent) != "." and (place.is_symlink() or (place.exists() and not place.is_dir())):
            if str(parent) not in tracked:
                yield str(parent)
            return
    place = root / path
    if place.is_dir() and not place.is_symlink():
        below = (str(found.relative_to(root)) for found in place.rglob("*") if not found.is_dir())
        yield from (name for name in below if name not in tracked)
    elif (place.is_symlink() or place.exists()) and path not in tracked:
        yield path


def _tracked(git: Checkout) -> dict[str, str]:
    """Return the paths of the index, each with git's letter for how it is looked at."""
    rows = git.ask("ls-files", "-v", "-z").split("\0")
    return {row[2:]: row[0] for row in rows if row}


def _changed_unseen(git: Checkout, tracked: dict[str, str], moves: Iterable[str]) -> Iterator[str]:
    """Yield files that differ from the index though git was told not to look at them."""
    for path in moves:
        letter = tracked.get(path, "H")
        place = git.root / path
        if (letter.islower() or letter == "S") and place.is_file():
            here = git.run("hash-object", "--", path)
            if here.out.strip() != git.run("rev-parse", f":{path}").out.strip():
                yield path
