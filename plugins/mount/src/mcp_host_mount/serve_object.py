"""Serves a server object of Python on stdio: a FastMCP server, or one of the SDK's.

Runs in any interpreter, which need not have anything of this project.
"""

import asyncio
import importlib
import importlib.util
import inspect
import os
import sys
from typing import Any


def main(place: str, name: str) -> None:
    """Serve the object of this name in a module, or in a file that ends with .py."""
    found = _object(place, name)
    if hasattr(found, "create_initialization_options"):
        asyncio.run(_lowlevel(found))
        return
    if not callable(getattr(found, "run", None)):
        sys.exit(
            f"{place}:{name} must be a server of FastMCP or of the MCP SDK, or a function that "
            f"returns one, not {type(found).__name__}"
        )
    if "show_banner" in inspect.signature(found.run).parameters:
        found.run(transport="stdio", show_banner=False)
        return
    takes = inspect.signature(found.run).parameters.values()
    is_banner_known = any(each.kind is each.VAR_KEYWORD for each in takes)
    is_fastmcp = type(found).__module__.partition(".")[0] == "fastmcp"
    if is_fastmcp and is_banner_known:
        found.run(transport="stdio", show_banner=False)
    else:
        found.run("stdio")


def _object(place: str, name: str) -> Any:
    """Return the server; a function is called for it, also one that is awaited."""
    found = _module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            there = ", ".join(sorted(each for each in dir(found) if each[0] != "_"))
            sys.exit(f"{place} has no {name}; it has {there[:200] or 'nothing'}")
        found = getattr(found, part)
    if inspect.isfunction(found):
        found = found()
    return asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found


async def _awaited(found: Any) -> Any:
    return await found


async def _lowlevel(server: Any) -> None:
    from mcp.server.stdio import stdio_server  # in the environment of the server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _module(place: str) -> Any:
    here = sys.path[0]
    if not place.endswith(".py"):
        sys.path.remove(here)
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise  # it is there, and lacks another
            sys.exit(
                f"{place} must be a module that {sys.executable} finds; "
                f"a file is named as ./{place.replace('.', '/')}.py"
            )
    if not os.path.isfile(place):  # noqa: PTH113 - nothing is imported before the server
        sys.exit(f"there is no file {place}")
    sys.path[0] = os.path.dirname(place)  # noqa: PTH120 - as Python does for a script
    spec = importlib.util.spec_from_file_location("mounted_server", place)
    if spec is None or spec.loader is None:
        sys.exit("no module can be made of " + place)
    module = sys.modules["mounted_server"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:3])
