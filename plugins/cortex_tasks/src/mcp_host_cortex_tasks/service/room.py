"""Where a task is worked on: in the folder at hand, or in a worktree of its own."""

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidError
from ..storage.git import Checkout, State, Worktree
from .work import OWN_SESSION, Work

INCLUDE = ".worktreeinclude"


@dataclass(frozen=True, slots=True)
class Taken:
    """Why a folder is not free for another task."""

    why: str
    files: tuple[str, ...] = ()


def taken_by_another(work: Work, state: State, task_id: int) -> Taken | None:
    """Return what keeps the folder at hand from this task, None where it is free.

    It is taken by another task's branch with changes, or by one that another session began.
    """
    number = work.task_of(state.branch) if state.branch else None
    if state.branch is None or number in (None, task_id):
        return None
    changes = (*state.changed, *state.untracked, *state.conflicted)
    files = tuple(path for path in changes if not work.is_left_out(path))
    if files and not work.keep:
        named = ", ".join(files[:10])
        return Taken(f"task {number} has changes here that are in no commit: {named}", files)
    began = work.checkout.config(f"branch.{state.branch}.{OWN_SESSION}")
    if work.session and began and began != work.session:
        return Taken(f"another session works on task {number} here")
    return None


def place_of(work: Work, trees: list[Worktree], name: str) -> Path:
    """Return where a task's worktree goes: by the settings, else beside the repository."""
    home = trees[0].path
    if home.name in (".bare", ".git"):  # a bare repository in the folder of its worktrees
        home = home.parent
    setting = work.here.text("worktree_folder")
    folder = home.parent / f"{home.name}-worktree"
    if setting is not None:
        folder = (home / Path(setting).expanduser()).resolve()
    return folder / name


def furnish(work: Work, source: Path, place: Path) -> list[str]:
    """Make a new worktree work at once: copy what it includes, run the person's set-up command.

    Return what went wrong, a sentence each: the worktree is there all the same.
    """
    if not place.is_dir():
        return []
    return [*_copy_included(work.checkout, source, place), *_set_up(work, place)]


def _copy_included(git: Checkout, source: Path, place: Path) -> list[str]:
    """Copy the ignored files that `.worktreeinclude` names (patterns as in `.gitignore`)."""
    patterns = source / INCLUDE
    if not patterns.is_file():
        return []
    listing = ("ls-files", "-z", "--others", "--ignored")
    named = git.run(*listing, f"--exclude-from={patterns}", at=source)
    ignored = git.run(*listing, "--exclude-standard", at=source)
    wrong: list[str] = []
    for path in sorted({*named.out.split("\0")} & {*ignored.out.split("\0")} - {""}):
        target = place / path
        if target.is_symlink() or target.exists():
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / path, target, follow_symlinks=False)
        except OSError as error:
            wrong.append(f"{path} was not copied into the worktree: {error.strerror}.")
    return wrong


def _set_up(work: Work, place: Path) -> list[str]:
    command = work.here.text("worktree_setup")
    if command is None:
        return []
    try:
        done = subprocess.run(
            shlex.split(command),
            cwd=place,
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=work.here.seconds("git_timeout"),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return [f"worktree_setup did not end within {error.timeout:g} s and was stopped."]
    except (OSError, ValueError) as error:
        return [f"worktree_setup cannot be run: {error}"]
    if done.returncode == 0:
        return []
    said = done.stderr.decode("utf-8", "replace").strip()[-500:]
    return [f"worktree_setup ended with {done.returncode}: {said}"]


def wanted_room(work: Work, asked: bool | None) -> str:
    """Return `auto`, `always` or `never`: as asked, else as the session or the settings say."""
    if asked is not None:
        return "always" if asked else "never"
    if work.room is None:
        return "always" if work.here.flag("use_worktree") else "never"
    if work.room not in ("auto", "always", "never"):
        raise InvalidError(f"CORTEX_WORKTREE must be auto, always or never, not {work.room!r}.")
    own = work.room == "auto" and work.here.values.get("use_worktree") is not None
    return "always" if own and work.here.flag("use_worktree") else work.room
