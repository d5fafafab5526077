"""The process of the warm host, as a front starts it: `python -m mcp_host.serving.warm`.

Its standard error is its log; the lock and the listening socket are descriptors 3 and 4.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys

LOCK, LISTENING = 3, 4


def main() -> None:
    """Serve until nobody needs this host any more."""
    place, name, path = sys.argv[1:]
    sys.path[:] = json.loads(path)
    gc.disable()  # nothing of what is imported goes away again
    from ..event_loop import new_event_loop
    from ..start import leave
    from .process import WarmProcess

    process = WarmProcess(place, name, LOCK, LISTENING)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(process.run())
    finally:
        leave(0)


if __name__ == "__main__":
    main()
