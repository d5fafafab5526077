"""The `mcp-host` command. `serve` goes a short way of its own, past what is made for people."""

from __future__ import annotations

import sys


def main() -> None:
    """Run one command and end the process with its exit code."""
    if sys.argv[1:2] == ["serve"]:
        from .cli.serve import main as serve

        serve(sys.argv[2:])
    from .cli.app import main as run

    run()


if __name__ == "__main__":
    main()
