"""Lock files that a git left which did not end by itself."""

import os
from collections.abc import Iterator
from pathlib import Path

from .repository import Repository

_NAMES = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock")


def locks_of(git: Repository, *branches: str) -> list[Path]:
    """Return the lock files that stand in the way of a command on these branches."""
    places = [folder / name for folder in (git.private, git.common) for name in _NAMES]
    for branch in branches:
        places.append(git.common / "refs" / "heads" / f"{branch}.lock")
    return [path for path in dict.fromkeys(places) if path.exists()]


def is_git_at_work(git: Repository) -> bool:
    """Tell whether any git is at work in this repository; where that cannot be known, it is."""
    if not Path("/proc/self/cwd").exists():
        return True
    places = {git.root.resolve(), git.common.resolve(), git.private.resolve()}
    return any(
        place in places or any(one in places for one in place.parents)
        for place in _where_gits_are()
    )


def _where_gits_are() -> Iterator[Path]:
    """Yield the folders that the processes of git are in."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            program = (process / "cmdline").read_bytes().split(b"\0")[0]
            if os.path.basename(program).startswith(b"git"):  # noqa: PTH119  bytes
                yield (process / "cwd").readlink()
        except OSError:
            continue  # it has ended, or is another user's
