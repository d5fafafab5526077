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
    found = _module(place)
    for part in name.split("."):
        found = getattr(found, part)
    if inspect.isfunction(found):
        found = found()
    if hasattr(found, "create_initialization_options"):
        asyncio.run(_lowlevel(found))
        return
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


async def _lowlevel(server: Any) -> None:
    from mcp.server.stdio import stdio_server  # in the environment of the server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _module(place: str) -> Any:
    here = sys.path[0]
    if not place.endswith(".py"):
        sys.path.remove(here)
        return importlib.import_module(place)
    sys.path[0] = os.path.dirname(place)  # noqa: PTH120 - as Python does for a script
    spec = importlib.util.spec_from_file_location("mounted_server", place)
    if spec is None or spec.loader is None:
        sys.exit("no module can be made of " + place)
    module = sys.modules["mounted_server"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:3])
