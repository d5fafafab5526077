"""The `ctx` command. It starts fast: each command imports what it needs, when it is run."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, which tells the class of error."""
    from mcp_host_cortex_tasks.cli.run import run

    return run(list(sys.argv[1:] if argv is None else argv))
