"""What a pack does while it is imported."""

import builtins
import itertools
import sys
import threading
import time

from hostile.registry import CHANGES, ENDS, HOLDS, at_import
from hostile.ways.errors import Unsayable, chain


@at_import()
def interrupts() -> None:
    """Raises KeyboardInterrupt."""
    raise KeyboardInterrupt


@at_import()
def exits() -> None:
    """Raises SystemExit."""
    sys.exit(7)


@at_import()
def raises_what_has_no_text() -> None:
    """Raises an exception whose text raises itself."""
    raise Unsayable


@at_import()
def raises_a_huge_text() -> None:
    """Raises an exception with a text of 50 MB."""
    raise RuntimeError("long " * 10_000_000)


@at_import()
def raises_what_steers_terminals() -> None:
    """Raises a text that clears the screen and renames the window."""
    raise RuntimeError("\x1b[2J\x1b]0;mine now\x07\r\nand a second line")


@at_import()
def raises_a_long_chain() -> None:
    """Raises an exception with 50,000 causes."""
    raise chain(50_000)


@at_import()
def raises_a_deep_group() -> None:
    """Raises exception groups in each other, 300 deep."""
    group: Exception = ValueError("at the bottom")
    for _ in range(300):
        group = ExceptionGroup("inside", [group])
    raise group


@at_import()
def recurses() -> None:
    """Calls itself without an end."""
    recurses()


@at_import()
def hangs() -> None:
    """Waits for ever."""
    threading.Event().wait()


@at_import()
def spins() -> None:
    """Computes for ever in Python."""
    while True:
        pass


@at_import()
def imports_slowly_what_the_host_imports() -> None:
    """Takes a second, then imports the SDK as the host does at that moment."""
    time.sleep(1)
    __import__("mcp.server.lowlevel.server")


@at_import()
def imports_what_is_not_there() -> None:
    """Imports a module that nobody has installed."""
    __import__("a_module_that_nobody_has")


@at_import()
def puts_something_else_in_its_place() -> None:
    """Replaces its own module by a number in `sys.modules`."""
    sys.modules["hostile.pack"] = 7  # type: ignore[assignment]


@at_import()
def reads_the_input() -> None:
    """Reads standard input to its end, where the protocol comes in."""
    sys.stdin.read()


@at_import()
def prints_much() -> None:
    """Prints 5 MB to standard output."""
    for _ in range(50_000):
        print("x" * 100)


@at_import(HOLDS)
def computes_in_c() -> None:
    """Raises a number to a power for many seconds, in C, holding the interpreter."""
    _ = 7**60_000_000


@at_import(HOLDS)
def computes_in_c_for_ever() -> None:
    """Computes for ever in C, holding the interpreter."""
    sum(itertools.repeat(0))


@at_import(ENDS)
def crashes() -> None:
    """Reads memory that is not there."""
    import ctypes

    ctypes.string_at(0)


@at_import(CHANGES)
def replaces_a_builtin() -> None:
    """Replaces `isinstance` by a function that raises."""

    def isinstance(*given: object) -> bool:
        raise RuntimeError("isinstance is mine")

    builtins.isinstance = isinstance  # type: ignore[assignment]


@at_import(CHANGES)
def replaces_json() -> None:
    """Replaces `json.dumps` and `json.loads` by functions that raise."""
    import json

    def refuses(*given: object, **named: object) -> str:
        raise RuntimeError("json is mine")

    json.dumps = json.loads = refuses


@at_import(CHANGES)
def forgets_modules() -> None:
    """Takes the modules of asyncio, json, pydantic and the SDK out of `sys.modules`."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("asyncio", "json", "pydantic", "mcp"):
            del sys.modules[name]


@at_import(CHANGES)
def breaks_imports() -> None:
    """Empties `sys.path`, `sys.meta_path` and `sys.path_hooks`."""
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
