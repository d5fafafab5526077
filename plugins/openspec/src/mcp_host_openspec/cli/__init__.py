"""The `openspec` command: the reference tool's verbs, flags, exit codes and JSON, without Node.

It starts fast: only what a command needs is imported, and a server needs nothing of the others.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["mcp"]:
        from .. import server

        server.main(given[1:])
    if given[:1] == ["__complete"]:
        from .completion import complete

        return complete(given[1:])
    from .run import run

    return run(given)
