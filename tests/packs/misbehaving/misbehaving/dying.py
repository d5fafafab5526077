"""A pack that takes its process down, or does to it what no thread can be kept from doing."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager

from mcp_host import Context, hookimpl, tool

KEPT = []


@tool(read_only=True)
def who() -> int:
    """Return the process that the pack lives in."""
    return os.getpid()


@tool(read_only=True)
def wait(context: Context) -> str:
    """Say that the call has begun, and wait for ever."""
    context.progress(1)
    threading.Event().wait()
    return "never"


@tool
def exits(code: int) -> None:
    """End the process."""
    os._exit(code)


@tool
def segfaults() -> None:
    """Read what is nobody's memory."""
    ctypes.string_at(0)


@tool(timeout=0.5)
def holds() -> None:
    """Hold the interpreter for an hour."""
    ctypes.PyDLL(None).sleep(3600)


@tool
def closes(after: float = 0) -> None:
    """Close every descriptor, so many seconds after the call began."""
    time.sleep(after)
    os.closerange(0, 65536)


@tool
def eats(megabytes: int) -> int:
    """Use so much memory, and keep it."""
    KEPT.append(bytearray(os.urandom(1024)) * (megabytes * 1024))
    return len(KEPT[-1])


@tool
def burns() -> None:
    """Take all of a processor, for as long as there is one."""
    while True:
        pass


@tool
def opens(files: int) -> int:
    """Open so many files."""
    KEPT.extend(os.open("/dev/null", os.O_RDONLY) for _ in range(files))
    return files


@tool
def breeds(children: int) -> int:
    """Start so many processes."""
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(3600)"]
    KEPT.extend(subprocess.Popen(sleep) for _ in range(children))
    return children


@tool
def leaves(path: str) -> None:
    """Leave a process behind that has left its group and session, and holds a fifo open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.open(path, os.O_WRONLY)
            threading.Event().wait()
        os._exit(0)


@tool
def keeps(path: str) -> None:
    """Hold a fifo open."""
    KEPT.append(os.open(path, os.O_RDWR))


@tool
def speaks_nonsense() -> int:
    """Write to every descriptor that takes it; how many did."""
    taken = 0
    for descriptor in range(3, 8192):
        try:
            taken += os.write(descriptor, b"\xff" * 64) > 0
        except OSError:
            continue
    return taken


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    yield None


@hookimpl
def mcp_host_tools():
    return [
        *(who, wait, exits, segfaults, holds, closes),
        *(eats, burns, opens, breeds, leaves, keeps, speaks_nonsense),
    ]
