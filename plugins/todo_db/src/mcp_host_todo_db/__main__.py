"""`todo-db-mcp`: the to-do list as an MCP server of its own, and the making of its table."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_host import SettingsError, Standalone

from .settings import TodoDbSettings

VARIABLE = "DATABASE_URL"


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, or make the table with `init-db`; ends the process with its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["init-db"]:
        raise SystemExit(init_db(given[1:]))
    server().main(given)


def server() -> Standalone:
    """The pack as a server of its own."""
    return Standalone(
        pack="todo_db",
        module="mcp_host_todo_db.plugin",
        server_name="todo-db",
        version=version("mcp-host-todo-db"),
        program="todo-db-mcp",
        description="A to-do list for many users, on PostgreSQL or SQLite. "
        "`todo-db-mcp init-db` makes its table on PostgreSQL.",
        distribution="mcp-host-todo-db",
        tables=tables,
        variables=(VARIABLE,),
    )


def tables(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Settings from the variable that the pack's specification names."""
    if not environment.get(VARIABLE):
        return {}
    return {"packs": {"todo_db": {"settings": {"url": {"env": VARIABLE}}}}}


def init_db(arguments: Sequence[str]) -> int:
    """Make the table and its indexes, and say so; the exit code."""
    parser = argparse.ArgumentParser(
        prog="todo-db-mcp init-db",
        description=f"Make the table tasks in the database of {VARIABLE} or of a settings file.",
    )
    parser.add_argument("--config", type=Path, help="the settings file")
    given = parser.parse_args(arguments)
    # Heavy, and of no use to a server that is only listed.
    from .errors import TodoError
    from .storage import create_tables, read_url

    try:
        settings: TodoDbSettings = server().pack_settings(given.config)
        if settings.url is None:
            raise SettingsError(f"which database? Set {VARIABLE}, or name a file with --config")
        address = read_url(settings.url.get_secret_value())
        made = asyncio.run(create_tables(address, connect_timeout=settings.connect_timeout))
    except (SettingsError, TodoError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one clear line
        return 1
    what = "made the table tasks" if made else "the table tasks is there already"
    print(f"{address.place}: {what}")  # noqa: T201 - what the person wants to know
    return 0


if __name__ == "__main__":
    main()
