"""A call through a mount of an SDK server beside the direct call, and FastMCP's proxy beside both.

All hold an SDK server of their own as a child, over stdio; one run, in turn. The mount speaks
2026-07-28 with its server, whichever era its client speaks: that era's calls cost the SDK more.
One mounts the server's command, another its object (`server = "./sdk.py:one"`). A third has the
host bound to one processor and the server to another, where there is `taskset`: some systems run
what wakes each other on one processor, where each takes the other's caches.
"""

import argparse
from collections.abc import Sequence
from statistics import median

from .candidates import MOUNT, MOUNT_OBJECT, SDK, mounts
from .clients import ERAS, Era
from .lane import measure
from .start import ratio
from .table import show

BAR = 1.45
"""At most × the direct call."""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only mount")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=30, help="calls per round")
    options = parser.parse_known_args(argv)[0]
    with mounts() as everyone:
        for era in ERAS:
            _report(era, measure(everyone, "stdio", era, options.rounds, options.calls))


def _report(era: Era, trips: dict[str, list[float]]) -> None:
    ratios = {name: ratio(found, trips[SDK]) for name, found in trips.items()}
    rows = [(name, f"{1e6 * median(trips[name]):.0f}", f"{ratios[name]:.2f}") for name in trips]
    show(f"One call over stdio, {era}", ("", "p50 µs", "× direct"), rows)
    for name in (MOUNT, MOUNT_OBJECT):
        verdict = "met" if ratios[name] <= BAR else "MISSED"
        print(f"target {verdict}: {name}: {ratios[name]:.2f} (at most {BAR:.2f}) × the direct call")
