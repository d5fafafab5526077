"""What is not set up yet, seen without starting anything."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import CortexError, LoginNeededError
from ..storage.config import LOCAL, config_path, read_config
from ..storage.head import git_folder


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing, and the command that makes it."""

    reason: str
    remedy: str


def what_is_missing(folder: Path, home: Path | None, error: CortexError | None) -> Missing | None:
    """Return what keeps the pack from all of its work; `error` is how the last call ended."""
    if git_folder(folder) is None:
        return Missing(f"{folder} is not a git repository", f"git init {folder}")
    if isinstance(error, LoginNeededError):
        return Missing("there is no login that the backend accepts", "ctx auth login")
    try:
        config = read_config(home / "config.json" if home else config_path())
        if config.text("url") is None:
            return Missing(
                "no backend is set",
                "ctx config set url http://HOST:8000/api/v1"
                " (or, without any server: ctx config set url local)",
            )
        local = config.url == LOCAL
        logged_in = local or config.flag("keyring") or config.text("access_token")
    except CortexError as problem:
        return Missing(problem.message, "ctx config list")
    return None if logged_in else Missing("nobody is logged in", "ctx auth login")
