"""The `ctx` command. It starts fast: the module of a command is imported when it is run."""

import gc
import sys
from collections.abc import Sequence

SELDOM = 100_000
"""After how many new objects the collector looks for circles: most commands end before that."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, which tells the class of error.

    Without `argv` it is the process's own command line, and the process is to end with it.
    """
    if argv is not None:
        return _run(argv)
    gc.set_threshold(SELDOM)
    code = _run(sys.argv[1:])
    gc.freeze()  # or the interpreter looks at every object on its way out, for 12 ms
    return code


def _run(argv: Sequence[str]) -> int:
    from .run import run  # here, so that the collector does not look at what it imports

    return run(list(argv))
