"""What a pack does to the interpreter: its limits, its hooks, its collector, its modules."""

import asyncio
import atexit
import codecs
import gc
import sys
import threading
import time
from importlib.abc import MetaPathFinder
from typing import Any

from hostile.registry import CHANGES, HOLDS, at_import, in_call
from hostile.ways.errors import Burden

SLOW = 20


@at_import(CHANGES)
def recursion_is_limited() -> None:
    """Allows no more than 60 calls in each other."""
    sys.setrecursionlimit(60)


@in_call()
def recursion_is_unlimited() -> str:
    """Allows a million calls in each other."""
    sys.setrecursionlimit(1_000_000)
    return "done"


@in_call()
def recursion_is_deep() -> None:
    """Recurses 20,000 deep through C, having raised the limit."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(25_000)
    nested: list[Any] = []
    for _ in range(20_000):
        nested = [nested]
    try:
        repr(nested)
    finally:
        sys.setrecursionlimit(usual)


@in_call()
def switching_is_rare() -> str:
    """Has threads switch once in 1,000 s, and one that computes for ever in Python."""
    sys.setswitchinterval(1_000)
    return "done"


@in_call(HOLDS)
def switching_is_rare_and_it_computes() -> None:
    """Has threads switch once in 1,000 s, then computes for ever in Python."""
    sys.setswitchinterval(1_000)
    while True:
        pass


@in_call()
def collector_is_off() -> str:
    """Turns the garbage collector off."""
    gc.disable()
    return "done"


@in_call()
def collector_is_eager() -> str:
    """Has the garbage collector run at every object."""
    gc.set_threshold(1, 1, 1)
    return "done"


@in_call()
def collector_calls_back() -> str:
    """Has the garbage collector call a function that takes 20 s."""
    gc.callbacks.append(lambda *given: time.sleep(SLOW))
    return "done"


@in_call()
def garbage_dies_slowly() -> str:
    """Leaves circles of garbage with objects whose `__del__` takes 20 s."""
    for _ in range(50):
        burden = Burden()
        burden.itself = burden  # type: ignore[attr-defined]
    return "done"


@in_call()
def garbage_raises() -> str:
    """Leaves 1,000 objects whose `__del__` raises."""

    class Raising:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    for _ in range(1_000):
        Raising()
    return "done"


@at_import()
def exit_handler_hangs() -> None:
    """Has a handler at the interpreter's exit that waits for ever."""
    atexit.register(threading.Event().wait)


@in_call()
def unraisable_hook_hangs() -> str:
    """Has `sys.unraisablehook` and `sys.excepthook` wait for ever, and an object that needs one."""

    class Raising:
        def __del__(self) -> None:
            raise ValueError("in __del__")

    sys.unraisablehook = sys.excepthook = lambda *given: threading.Event().wait() and None
    threading.Thread(target=Raising, daemon=True).start()
    return "done"


@in_call()
def threads_are_traced() -> str:
    """Has every new thread traced and profiled by slow functions."""

    def trace(*given: Any) -> None:
        time.sleep(0.001)

    threading.settrace(trace)
    threading.setprofile(trace)
    return "done"


@in_call()
def its_thread_is_traced() -> str:
    """Has its own thread traced by a function that raises."""

    def trace(*given: Any) -> Any:
        raise RuntimeError("traced")

    sys.settrace(trace)
    return "done"


@in_call(CHANGES)
def audit_hook_raises() -> str:
    """Adds an audit hook that raises at whatever is opened or imported."""

    def audit(event: str, given: Any) -> None:
        if event in ("open", "import", "os.listdir"):
            raise RuntimeError("not allowed")

    sys.addaudithook(audit)
    return "done"


class Finder(MetaPathFinder):
    """Takes its time to find nothing."""

    def find_spec(self, *given: Any) -> None:
        time.sleep(SLOW)


@at_import(CHANGES)
def finder_is_slow() -> None:
    """Puts a finder before all others that takes 20 s for every import."""
    sys.meta_path.insert(0, Finder())


@in_call()
def codec_hangs() -> str:
    """Registers a codec search that waits for ever, and a handler of errors that does."""
    codecs.register(lambda name: threading.Event().wait() and None)
    return "done"


@at_import(CHANGES)
def policy_gives_no_loops() -> None:
    """Sets a policy of asyncio that makes no event loops."""

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> Any:
            raise RuntimeError("no loop for anybody")

    asyncio.set_event_loop_policy(Policy())


@in_call()
def digits_are_limited() -> str:
    """Allows texts of numbers no more than 640 digits."""
    sys.set_int_max_str_digits(640)
    return "done"


@in_call(CHANGES)
def time_stands_still() -> str:
    """Replaces `time.monotonic` and `time.sleep`."""
    time.monotonic = lambda: 0.0
    time.sleep = lambda seconds: None
    return "done"


@at_import(CHANGES)
def sdk_is_patched() -> None:
    """Replaces a method of the SDK's server by a function that raises."""
    import mcp.server.lowlevel.server as server

    def refuses(*given: Any, **named: Any) -> None:
        raise RuntimeError("patched")

    server.Server.get_capabilities = refuses  # type: ignore[method-assign]


@in_call(CHANGES)
def host_is_patched() -> str:
    """Replaces the method of the host that every call passes."""
    from mcp_host.middleware.chain import Chain

    async def refuses(*given: Any, **named: Any) -> None:
        raise RuntimeError("patched")

    Chain.__call__ = refuses  # type: ignore[method-assign]
    return "done"
