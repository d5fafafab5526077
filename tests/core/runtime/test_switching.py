"""The interpreter is taken from who holds it late where many calls end soon, and else early."""

import asyncio
import sys
import threading

import pytest
from mcp_host.runtime.interval import LONG
from mcp_host.runtime.switching import MANY, SwitchInterval
from mcp_host.runtime.thread_worker import ThreadWorker
from mcp_host.testing import hosted

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell"),
]
SHORT = 0.0005


async def test_the_interval_is_long_while_many_calls_run_and_nothing_computes() -> None:
    async with hosted({"sample": "sample_pack.plugin"}) as host:
        worker = host.host.running["sample"].worker
        assert isinstance(worker, ThreadWorker) and worker.loop is not None
        interval = SwitchInterval(SHORT, lambda: [worker.loop] if worker.loop else [])
        assert interval.look() == SHORT

        calls = [asyncio.create_task(host.value("sample_hold", gate="many")) for _ in range(MANY)]
        await becomes(interval, LONG)
        over = threading.Event()
        held = threading.Thread(target=compute, args=(over,))
        held.start()
        await becomes(interval, SHORT)
        over.set()
        held.join()
        await becomes(interval, LONG)
        worker.service.let("many")
        await asyncio.gather(*calls)

        assert interval.look() == SHORT


def compute(over: threading.Event) -> None:
    while not over.is_set():
        sum(range(1000))


async def becomes(interval: SwitchInterval, wanted: float) -> None:
    """Look again and again, a moment apart."""
    async with asyncio.timeout(60):
        while interval.look() != wanted:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)
