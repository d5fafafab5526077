"""A page and a terminal that follow one host, until a signal comes or the host ends."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_host import LiveFeed

from .page import Page
from .printing import RED, Printer

Hear = Callable[[Mapping[str, Any]], None]


def follow(
    feed: LiveFeed,
    page: Page,
    printer: Printer,
    *,
    hear: Sequence[Hear] = (),
    beside: Callable[[threading.Event], None] | None = None,
) -> None:
    """Show every event of the feed, and serve the page; close the feed at the end.

    `hear` gets every event as well. `beside` runs in a thread of its own, until the event that it
    is given is set.
    """
    ended = threading.Event()

    def show() -> None:
        for event in feed:
            for tell in (printer.event, page.tell, *hear):
                tell(event)
        if not ended.is_set():
            printer.note("the host has ended", RED)
            page.stop()

    threads = [threading.Thread(target=show, daemon=True)]
    if beside is not None:
        threads.append(threading.Thread(target=beside, args=(ended,), daemon=True))
    for thread in threads:
        thread.start()
    try:
        page.serve()
    finally:
        ended.set()
        feed.close()
        for thread in threads:
            thread.join()
