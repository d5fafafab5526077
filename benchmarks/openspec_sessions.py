"""The first `validate` of a session with the OpenSpec pack, alone and by the warm host.

Measured is processor time, from spawning the server to its answer, the list of tools before it
included; of a session of the warm host that of its front and what the host spends meanwhile.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from .clients import StdioClient
from .table import show

FIRST = 1 / 2.5
"""At most this part of the reference tool's processor time, in the median of the trees."""
BY_THE_HOST = 60.0
"""Seconds until a session is served by a host that another one has started."""
PROGRAM = str(Path(sys.executable).with_name("mcp-host"))
SETTINGS = "[packs.openspec]\nenabled = true\n"


@dataclass(frozen=True)
class Spent:
    """Seconds of processor time of one session: in all, and from the list to the answer."""

    whole: float
    call: float


def measure(trees: Mapping[str, Path], reference: Callable[[Path], float], rounds: int) -> None:
    """Measure a session on each tree; `reference` is the processor time of the reference tool."""
    rows: list[list[str]] = []
    parts: dict[str, list[float]] = {"alone": [], "warm": []}
    for name, project in trees.items():
        theirs = reference(project)
        row = [name, _ms(theirs)]
        for how, found in _sessions(project, rounds).items():
            parts[how].append(found.whole / theirs)
            row += [f"{_ms(found.whole)} (1/{theirs / found.whole:.1f})", _ms(found.call)]
        rows.append(row)
    show(
        f"The first validate of a session: processor time in ms (medians of {rounds})",
        ("", "reference command", "alone", "of it the call", "warm host", "of it the call"),
        rows,
    )
    for how, of_trees in parts.items():
        part = median(of_trees)
        verdict = "met" if part <= FIRST else "MISSED"
        print(f"target {verdict}: first validate, {how}: 1/{1 / part:.2f} (at most 1/{1 / FIRST})")


def _sessions(project: Path, rounds: int) -> dict[str, Spent]:
    with TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        folder = Path(scratch)
        config = folder / "mcp-host.toml"
        config.write_text(SETTINGS)
        command = [PROGRAM, "serve", "--config", str(config), "--root", str(project)]
        home = {"HOME": scratch, "XDG_CACHE_HOME": scratch, "PATH": os.environ["PATH"]}
        try:
            alone = {**home, "MCP_HOST_WARM": "0"}
            _session(command, alone, folder)  # saves the catalogue
            found = {"alone": _median(_session(command, alone, folder) for _ in range(rounds))}
            warm = {**home, "MCP_HOST_WARM": "1"}
            _wait_for_host(command, warm, folder)
            found["warm"] = _median(_session(command, warm, folder) for _ in range(rounds))
            return found
        finally:
            _end_hosts(folder)


def _session(command: list[str], environment: dict[str, str], folder: Path) -> Spent:
    """List and validate in a session of its own."""
    hosts = _hosts(folder)
    before = sum(map(_processor_time, hosts))
    with StdioClient("2025-11-25", command, environment) as client:
        processes = [client.process.pid, *hosts]
        client.open()
        client.ask("tools/list", {})
        listed = sum(map(_processor_time, processes))
        client.ask("tools/call", {"name": "openspec_validate", "arguments": {}})
        done = sum(map(_processor_time, processes))
    return Spent(done - before, done - listed)


def _wait_for_host(command: list[str], environment: dict[str, str], folder: Path) -> None:
    """Have the warm host started, and the tree read by it."""
    until = time.monotonic() + BY_THE_HOST
    while not _hosts(folder):
        if time.monotonic() > until:
            raise RuntimeError("no warm host came up")
        _session(command, environment, folder)
        time.sleep(0.2)
    time.sleep(5)  # it loads the SDK behind
    _session(command, environment, folder)


def _median(found: Iterable[Spent]) -> Spent:
    each = list(found)
    return Spent(median(one.whole for one in each), median(one.call for one in each))


def _processor_time(process: int) -> float:
    """Seconds of all threads of a process, to the nanosecond, where the system is Linux."""
    return time.clock_gettime((~process << 3) | 2)


def _hosts(folder: Path) -> list[int]:
    place = str(folder / "mcp-host" / "warm")
    return [p.pid for p in psutil.process_iter(["cmdline"]) if place in (p.info["cmdline"] or ())]


def _end_hosts(folder: Path) -> None:
    for process in _hosts(folder):
        os.kill(process, 9)
    shutil.rmtree(folder / "mcp-host", ignore_errors=True)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"
