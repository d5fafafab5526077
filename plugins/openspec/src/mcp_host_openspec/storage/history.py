"""What git knows of a file, where the tree is in a repository."""

import os
import subprocess
from pathlib import Path
from typing import Final

_SECONDS: Final = 5


def content_when_written(file: Path, other: Path) -> bytes | None:
    """What `other` held in the commit that last touched `file`.

    None where git does not know: no repository, no git, or `file` has changes that are not
    committed, so that nothing says which state of `other` its author saw.
    """
    folder = file.parent
    if _git(folder, "status", "--porcelain", "--", str(file)) != b"":
        return None
    commit = _git(folder, "log", "-1", "--format=%H", "--", str(file))
    if not commit:
        return None
    top = _git(folder, "rev-parse", "--show-toplevel")
    if not top:
        return None
    try:
        relative = other.resolve().relative_to(Path(os.fsdecode(top.strip())).resolve())
    except ValueError:
        return None
    return _git(folder, "show", f"{commit.decode().strip()}:{relative.as_posix()}")


def _git(folder: Path, *arguments: str) -> bytes | None:
    """The output of one git command; None where it fails."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            env=_environment(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _environment() -> dict[str, str]:
    """What git needs of ours; nothing that would point it at another repository."""
    kept = ("PATH", "HOME", "SYSTEMROOT", "XDG_CONFIG_HOME")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    return {**variables, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
