"""The `tasky` command, for the people whose agents share a plan."""

import sys


def main() -> None:
    """Run the command; Ctrl+C ends it without a word, also while it starts."""
    try:
        # Imported here: this takes the longest, and somebody may end it meanwhile.
        from .app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


__all__ = ["main"]
