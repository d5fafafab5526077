"""The processor time of processes, and burners that take as much of it."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

PIECE = 0.004
"""Seconds that a burner works at a time."""


def processor_time(pid: int) -> float:
    """Seconds that a process and its living children have used so far."""
    seconds = 0.0
    first = psutil.Process(pid)
    for process in [first, *first.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds += times.user + times.system
    return seconds


def backend_time(postmaster: int) -> float:
    """Seconds that the processes of a PostgreSQL server have used so far, exact to less than 1 µs.

    Linux alone keeps this; each of them has one thread.
    """
    nanoseconds = 0
    for process in psutil.Process(postmaster).children():
        with suppress(OSError):
            nanoseconds += int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0])
    return nanoseconds / 1e9


@asynccontextmanager
async def burning(shares: Sequence[float]) -> AsyncIterator[None]:
    """Processes that take these shares of a processor each."""
    started = [
        await asyncio.create_subprocess_exec(sys.executable, __file__, f"{share:.3f}")
        for share in shares
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            await process.wait()


def burn(share: float) -> None:
    """Take a share of a processor, until the end; one that was kept from it catches up little."""
    while True:
        began, used = time.perf_counter(), time.process_time()
        while time.process_time() - used < PIECE:
            sum(range(500))
        rest = PIECE / share - (time.perf_counter() - began)
        time.sleep(max(0.0, rest))


if __name__ == "__main__":
    burn(min(1.0, max(0.01, float(sys.argv[1]))))
