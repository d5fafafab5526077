"""What a call costs in the lane, beside the bare SDK and FastMCP in the same run.

Every line is a median and its ratio to the bare SDK's; `start` has those of the first list and the
first call.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from .candidates import HOST_ONE, SDK, Candidate, callers
from .clients import ERAS, Client, Era
from .start import ratio
from .table import show

WARM_UP = 50
BARS = {
    ("stdio", "2025-11-25"): (0.33, 0.25),
    ("stdio", "2026-07-28"): (0.33, 0.25),
    ("HTTP", "2025-11-25"): (0.70, 0.70),
    ("HTTP", "2026-07-28"): (0.50, 0.50),
}
"""At most × the SDK's call, on asyncio's own loop and on uvloop."""
ROWS_BAR = 0.40
"""At most × the SDK's call that gives 500 rows over HTTP."""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only lane")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=30, help="calls per round")
    options = parser.parse_known_args(argv)[0]
    with callers() as (adders, givers):
        for (transport, era), bars in BARS.items():
            trips = measure(adders, transport, era, options.rounds, options.calls)  # type: ignore[arg-type]  # one of ERAS
            _report(f"One call over {transport}, {era}", trips, bars)
        for era in ERAS:
            trips = measure(givers, "HTTP", era, options.rounds, max(1, options.calls // 5))
            _report(f"500 rows over HTTP, {era}", trips, (ROWS_BAR, ROWS_BAR))


def measure(
    everyone: list[Candidate], transport: str, era: Era, rounds: int, calls: int
) -> dict[str, list[float]]:
    """The median of each round: short rounds in turn, so that a slow second slows all alike."""
    found: dict[str, list[float]] = {candidate.name: [] for candidate in everyone}
    with ExitStack() as stack:
        clients = [(c, stack.enter_context(_connect(c, transport, era))) for c in everyone]
        for candidate, client in clients:
            client.open()
            for _ in range(WARM_UP):
                client.ask("tools/call", candidate.call)
        for number in range(rounds):
            turn = number % len(clients)
            for candidate, client in clients[turn:] + clients[:turn]:
                trips = [client.ask("tools/call", candidate.call)[1] for _ in range(calls)]
                found[candidate.name].append(median(trips))
    return found


def _connect(candidate: Candidate, transport: str, era: Era) -> Client:
    return candidate.over_stdio(era) if transport == "stdio" else candidate.over_http(era)


def _report(title: str, trips: dict[str, list[float]], bars: tuple[float, float]) -> None:
    ratios = {name: ratio(found, trips[SDK]) for name, found in trips.items()}
    show(
        title,
        ("", "p50 µs", "× SDK"),
        [(name, f"{1e6 * median(trips[name]):.0f}", f"{ratios[name]:.2f}") for name in trips],
    )
    for name, bar in ((HOST_ONE, bars[0]), (HOST_ONE + ", uvloop", bars[1])):
        if name in ratios:
            verdict = "met" if ratios[name] <= bar else "MISSED"
            print(f"target {verdict}: {name}: {ratios[name]:.2f} (at most {bar:.2f}) × SDK")
