"""What the commands share: which database, and how an error is told."""

import argparse
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_host import SettingsError, Standalone

from ..errors import TodoError
from ..settings import TodoDbSettings
from ..storage import Address, read_url

Work = Callable[[Address, TodoDbSettings], Awaitable[str]]
"""Does a command's work and returns the line that tells of it."""


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """The options that every command has."""
    made = argparse.ArgumentParser(prog=f"todo-db-mcp {name}", description=description)
    made.add_argument("--config", type=Path, help="the settings file")
    return made


async def told(server: Standalone, config: Path | None, work: Work) -> int:
    """Do the work on the database of the settings, say how it went, and return the exit code."""
    (variable,) = server.variables
    try:
        settings: TodoDbSettings = server.pack_settings(config)
        if settings.url is None:
            raise SettingsError(f"which database? Set {variable}, or name a file with --config")
        address = read_url(settings.url.get_secret_value())
        line = await work(address, settings)
    except (SettingsError, TodoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{address.place}: {line}")
    return 0
