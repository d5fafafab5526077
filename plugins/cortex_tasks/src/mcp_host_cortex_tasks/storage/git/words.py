"""What git's complaints mean, in an error of ours."""

import re
import time
from pathlib import Path

from ...errors import RefusedError
from ...model.redaction import redact
from .process import Answer

_LOCKED = re.compile(
    r"Unable to create '(.+?\.lock)': File exists|could not lock config file (.+?): File exists"
)


def refusal(answer: Answer, what: str, *, reason: str = "git_refused") -> RefusedError:
    """The error for a git command that said no, with git's own words."""
    said = answer.complaint.strip() or answer.out.strip() or f"exit status {answer.status}"
    if found := _LOCKED.search(said):
        return _locked(Path(found[1] or found[2]))
    return RefusedError(f"{what}: {redact(said[-2000:])}", reason=reason)


def _locked(path: Path) -> RefusedError:
    age = age_of(path)
    since = "" if age is None else f" for {age:.0f} s"
    return RefusedError(
        f"Another git is at work, or one that was killed left its lock: {path} has been there"
        f"{since}.",
        reason="git_locked",
        suggestions=["Wait for it, then run this again.", f"If no git is at work here: rm {path}"],
        details={"lock": str(path), "age": age},
    )


def cause(complaint: str) -> str:
    """Return why a remote failed: the first line of git's complaint, whose last ones are advice."""
    for line in complaint.splitlines():
        said = re.sub(r"^(?:(?:fatal|error|remote|ERROR): ?)+", "", line.strip())
        if said and not line.startswith(("warning:", "hint:", "To ", "Warning:")):
            return said.rstrip(".")
    return ""


def way_out(doing: str) -> str:
    """Return the command that ends an operation that is under way."""
    return "git bisect reset" if doing == "bisect" else f"git {doing} --abort"


def age_of(path: Path) -> float | None:
    """Return the seconds since a file was written, None where it is gone."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None
