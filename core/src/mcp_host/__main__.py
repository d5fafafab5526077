"""The `mcp-host` command. `serve` goes a short way of its own, past what is made for people."""

from __future__ import annotations

import gc
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working folder: what lies there is nothing to import

EXIT_INTERRUPTED = 130
"""As shells have it, and as typer ends a command on Ctrl-C."""


def main() -> None:
    """Run one command and end the process with its exit code."""
    if sys.argv[1:2] == ["serve"] and not {"--help", "-h"} & set(sys.argv):
        from .cli.serve import main as serve

        serve(sys.argv[2:])
    gc.disable()  # a command ends soon, and looking for garbage costs it a tenth
    try:
        from .cli.app import main as run

        run()
    except KeyboardInterrupt:  # before there was a command that could be told
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
