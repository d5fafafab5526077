"""Serves a server object of Python on stdio: a FastMCP server, or one of the SDK's.

Runs in any interpreter, which need not have anything of this project.
"""

import asyncio
import importlib
import importlib.util
import inspect
import os
import select
import sys
from typing import Any

PORTION = 64 * 1024


def main(place: str, name: str) -> None:
    """Serve the object of this name in a module, or in a file that ends with .py."""
    _speak_without_threads()
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


class _Input:
    """Standard input as the SDK reads it, line by line; on the loop, and not in a thread.

    It is read while there is no line that waits, and `_is_read` says so.
    """

    def __init__(self, file: Any) -> None:
        self._file = file  # which else would be closed
        self._descriptor = file.fileno()
        self._lines: list[str] = []
        self._unended: list[bytes] = []
        self._is_read = self._has_ended = False
        self._there = asyncio.Event()

    def __aiter__(self) -> "_Input":
        return self

    async def __anext__(self) -> str:
        while not self._lines:
            if self._has_ended:
                raise StopAsyncIteration
            if not self._is_read:
                self._is_read = True
                asyncio.get_running_loop().add_reader(self._descriptor, self._read)
            self._there.clear()
            await self._there.wait()
        return self._lines.pop()

    def _read(self) -> None:
        if self._lines:
            self._stop()  # what comes waits in its pipe
            return
        data = os.read(self._descriptor, PORTION)
        self._has_ended = not data
        if self._has_ended:
            self._stop()
        first, *others = (data or b"\n").split(b"\n")
        self._unended.append(first)
        if others and (data or any(self._unended)):
            lines = [b"".join(self._unended), *others]
            self._unended = [lines.pop()]
            self._lines = [line.decode("utf-8", "replace") for line in reversed(lines)]
        if self._lines or self._has_ended:
            self._there.set()

    def _stop(self) -> None:
        self._is_read = False
        asyncio.get_running_loop().remove_reader(self._descriptor)


class _Output:
    """Standard output as the SDK writes it; a thread writes what its reader does not take."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._descriptor = file.fileno()
        self._writable = select.poll()
        self._writable.register(self._descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write a line."""
        data = text.encode("utf-8", "replace")
        while data and self._writable.poll(0):
            data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        if data:
            await asyncio.to_thread(self._write_all, data)

    async def flush(self) -> None:
        """Nothing is kept back."""

    def _write_all(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


class _Anyio:
    """What the SDK's module has of anyio, but for how it reads and writes files."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def wrap_file(self, file: Any) -> Any:
        """Return standard input or output as the SDK uses it."""
        return _Input(file) if file.readable() else _Output(file)


def _speak_without_threads() -> None:
    """Have the SDK read and write standard streams on its loop; its threads cost half a call.

    An SDK that has no such module, or another, goes its own way; so does Windows, whose loop reads
    no pipes.
    """
    if os.name == "nt":
        return
    here = sys.path.pop(0)  # where this file is
    try:
        stdio: Any = importlib.import_module("mcp.server.stdio")
    except ImportError:  # the object's own import says what is missing
        return
    finally:
        sys.path.insert(0, here)
    if hasattr(stdio, "anyio"):
        stdio.anyio = _Anyio(stdio.anyio)


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
