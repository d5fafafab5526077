"""The `ctx` command. It starts fast: the module of a command is imported when it is run."""

import sys
from collections.abc import Sequence

from .run import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, which tells the class of error."""
    return run(list(sys.argv[1:] if argv is None else argv))
