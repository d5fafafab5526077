"""`todo-db-mcp init-db`: the making of the table."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from mcp_host import SettingsError, Standalone

from .errors import TodoError
from .settings import TodoDbSettings
from .storage import create_tables, read_url


def main(alone: Standalone, arguments: Sequence[str]) -> int:
    """Make the table and its indexes, and say so; the exit code."""
    (variable,) = alone.variables
    parser = argparse.ArgumentParser(
        prog="todo-db-mcp init-db",
        description=f"Make the table tasks in the database of {variable} or of a settings file.",
    )
    parser.add_argument("--config", type=Path, help="the settings file")
    given = parser.parse_args(arguments)
    try:
        settings: TodoDbSettings = alone.pack_settings(given.config)
        if settings.url is None:
            raise SettingsError(f"which database? Set {variable}, or name a file with --config")
        address = read_url(settings.url.get_secret_value())
        made = asyncio.run(create_tables(address, connect_timeout=settings.connect_timeout))
    except (SettingsError, TodoError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one clear line
        return 1
    what = "made the table tasks" if made else "the table tasks is there already"
    print(f"{address.place}: {what}")  # noqa: T201 - what the person wants to know
    return 0
