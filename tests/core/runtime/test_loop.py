"""A pack's event loop is asyncio's, and is woken by other threads."""

import asyncio
import sys
import threading

import pytest
from mcp_host.runtime.loop import PackLoop

WAKINGS = 10_000
"""More than are read at once."""


@pytest.mark.skipif(sys.platform == "win32", reason="the loop is another one there")
def test_asyncio_has_what_a_packs_loop_does_in_another_way() -> None:
    own = vars(asyncio.selector_events.BaseSelectorEventLoop)
    for name in ("_read_from_self", "_write_to_self", "_make_socket_transport"):
        assert name in own, (
            f"asyncio's selector loop has no `{name}` any more: look in its module what does that, "
            "and name it in runtime/loop.py"
        )


def test_all_that_other_threads_post_is_called_however_much_it_is() -> None:
    loop, done, held = PackLoop("p"), threading.Event(), threading.Event()
    called: list[int] = []
    loop.start()
    loop.post(held.wait)
    for number in range(WAKINGS):
        loop.post(called.append, number)
    held.set()
    loop.post(done.set)

    assert done.wait(60)
    assert called == list(range(WAKINGS))
    loop.stop()
