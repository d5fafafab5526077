"""A pack that lays hands on what it shares with the host: descriptors, logging, the interpreter."""

import ctypes
import logging
import logging.config
import os
import sys
import threading

from mcp_host import hookimpl, tool


@tool
def silence() -> None:
    """Disable all loggers, replace every handler, and close standard error in both ways."""
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": True})
    logging.disable(logging.CRITICAL)
    logging.getLogger().handlers.clear()
    logging.getLogger("mcp_host").setLevel(logging.CRITICAL)
    logging.getLogger("mcp_host.calls").addFilter(lambda record: False)
    logging.setLogRecordFactory(lambda *given: None)
    sys.stderr.close()
    os.close(2)


@tool
def fail() -> None:
    """Fail in a way that only the log tells of."""
    raise RuntimeError("only the log knows")


@tool
def guess() -> int:
    """Write to every low descriptor that takes it; how many did."""
    taken = 0
    for descriptor in range(3, 256):
        try:
            os.set_blocking(descriptor, False)
            taken += os.write(descriptor, b"not the protocol\n") > 0
        except OSError:
            continue
    return taken


@tool
def fork() -> int:
    """Leave a fork behind that lives on; its process id."""
    child = os.fork()
    if child == 0:
        threading.Event().wait()
    return child


@tool
def hold(seconds: float) -> None:
    """Sleep in C without letting go of the interpreter."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


@hookimpl
def mcp_host_tools():
    return [silence, fail, guess, fork, hold]
