"""The `openspec` command: the reference tool's verbs, flags, exit codes and JSON, without Node.

It starts fast: only what a command needs is imported, and a server needs nothing of the others.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    if arguments is None:
        import gc

        gc.disable()  # a command ends before there is anything worth collecting
        from .answers import COMMANDS, answered

        if given and given[0] in COMMANDS:
            return answered(given, _run)
    return _run(given)


def _run(arguments: Sequence[str]) -> int:
    from .run import run

    return run(arguments)
