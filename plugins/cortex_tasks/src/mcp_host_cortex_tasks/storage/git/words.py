"""What git's complaints mean, in an error of ours."""

import re

from ...errors import RefusedError
from ...model.redaction import redact
from .process import Answer


def refusal(answer: Answer, what: str, *, reason: str = "git_refused") -> RefusedError:
    """The error for a git command that said no, with git's own words."""
    said = answer.complaint.strip() or answer.out.strip() or f"exit status {answer.status}"
    return RefusedError(f"{what}: {redact(said[-2000:])}", reason=reason)


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
