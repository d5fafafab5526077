"""What a process of its own costs a pack: a call against one in threads, and the child's memory."""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mcp_host.testing import Hosted, hosted

from .table import show

PACK = {"adder": "benchmarks.servers.adder"}
MOST_MORE = 150e-6
"""Seconds that a call may take more than in threads."""
MOST_FORKED = 12.0
"""MiB that an idle child shares with no other process."""
MOST_SPAWNED = 6.0
"""MiB that a spawned child has beside what asyncio and pydantic take in any interpreter."""
IMPORTS = "import asyncio; from pydantic import BaseModel, Field, TypeAdapter"


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only isolation")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=25)
    given = parser.parse_known_args(argv)[0]
    asyncio.run(_measure(given.rounds, given.calls))


async def _measure(rounds: int, calls: int) -> None:
    times: dict[str, list[float]] = {"thread": [], "process": []}
    async with AsyncExitStack() as stack:
        hosts: dict[str, Hosted] = {}
        for name in times:
            host = hosted(PACK, {"packs": {"adder": {"isolation": name}}})
            hosts[name] = await stack.enter_async_context(host)
        pid = hosts["process"].host.running["adder"].worker.pid  # type: ignore[attr-defined]
        private = _private(pid)
        for host in hosts.values():
            await _calls(host, calls)
        for _ in range(rounds):
            for name, host in hosts.items():
                times[name].append(await _calls(host, calls))
    more = median(
        there - here for here, there in zip(times["thread"], times["process"], strict=True)
    )
    show(
        f"A call within the host, µs (medians of {rounds} rounds of {calls})",
        ("", "µs"),
        [(name, f"{1e6 * median(times[name]):.0f}") for name in hosts],
    )
    _judge("a call in a process, µs more", 1e6 * more, 1e6 * MOST_MORE)
    _judge("an idle forked child, MiB private", private, MOST_FORKED)
    spawned, imports = await _spawned(), _of_imports()
    _judge("an idle spawned child, MiB more than its imports", spawned - imports, MOST_SPAWNED)


async def _spawned() -> float:
    """The private memory of a child in an environment of its own, which offers the same pack."""
    with TemporaryDirectory() as folder, patched_environment(PYTHONPATH=folder):
        _install_adder(Path(folder))
        async with hosted({"adder": ""}, {"packs": {"adder": {"python": sys.executable}}}) as host:
            assert await host.value("adder_add", a=1, b=1) == 2
            return _private(host.host.running["adder"].worker.pid)  # type: ignore[attr-defined]


def _install_adder(folder: Path) -> None:
    source = Path(__file__).with_name("servers") / "adder.py"
    (folder / "adder_pack.py").write_text(source.read_text("utf-8"), "utf-8")
    about = folder / "adder_pack-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: adder-pack\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mcp_host.packs]\nadder = adder_pack\n")


@contextmanager
def patched_environment(**variables: str) -> Iterator[None]:
    """Set variables meanwhile."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _of_imports() -> float:
    """The private memory of an interpreter that has imported asyncio and pydantic."""
    program = f"{IMPORTS}; print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        private = _private(process.pid)
        process.stdin.write(b"\n")
        process.stdin.close()
        return private


async def _calls(host: Hosted, calls: int) -> float:
    """Make calls one after the other; the seconds of the median one."""
    taken = []
    for number in range(calls):
        began = time.perf_counter()
        assert await host.value("adder_add", a=number, b=1) == number + 1
        taken.append(time.perf_counter() - began)
    return median(taken)


def _private(pid: int) -> float:
    """The memory that a process shares with no other, in MiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = (line.split() for line in lines if line.startswith("Private_"))
    return sum(int(size[1]) for size in sizes) / 1024


def _judge(what: str, found: float, target: float) -> None:
    verdict = "met" if found <= target else "MISSED"
    print(f"target {verdict}: {what}: {found:.1f} (at most {target:.1f})")
