"""The commands of `todo-db-mcp` beside serving, one in a file."""

from collections.abc import Sequence

from mcp_host import Standalone

from . import init_db, migrate, undo


def run(server: Standalone, name: str, arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    command = {"init-db": init_db.main, "migrate": migrate.main, "undo": undo.main}[name]
    return command(server, arguments)
