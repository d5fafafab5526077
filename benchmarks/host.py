"""What one call costs: round trip, processor time on the server, and the memory it holds."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from .candidates import HOST_ONE, HOST_TEN, SDK, Candidate, candidates
from .clients import ERAS, Client, Era
from .start import ratio
from .table import show

WARM_UP = 50
ROUND_TRIP_TARGET = 0.7
MEMORY_TARGET = 6.0


@dataclass
class Figures:
    """One candidate on one transport in one era. Seconds, and MiB."""

    round_trips: list[float] = field(default_factory=list)
    processor: float = 0.0
    memory: float = 0.0


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only host")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=200, help="calls per round")
    options = parser.parse_known_args(argv)[0]
    with candidates() as everyone:
        for transport, connect in (
            ("stdio", Candidate.over_stdio),
            ("HTTP", Candidate.over_http),
        ):
            for era in ERAS:
                figures = _measure(everyone, connect, era, options.rounds, options.calls)
                _report(transport, era, figures, options)


def _measure(
    everyone: list[Candidate],
    connect: Callable[[Candidate, Era], Client],
    era: Era,
    rounds: int,
    calls: int,
) -> dict[str, Figures]:
    """Everybody's server is up at the same time, and each round visits all of them."""
    figures = {candidate.name: Figures() for candidate in everyone}
    with ExitStack() as stack:
        clients = [(c, stack.enter_context(connect(c, era))) for c in everyone]
        for candidate, client in clients:
            client.open()
            for _ in range(WARM_UP):
                client.ask("tools/call", candidate.call)
            client.ask("tools/list", {})
            figures[candidate.name].processor = -client.processor_time()
        for number in range(rounds):
            turn = number % len(clients)
            for candidate, client in clients[turn:] + clients[:turn]:
                trips = [client.ask("tools/call", candidate.call)[1] for _ in range(calls)]
                figures[candidate.name].round_trips.append(median(trips))
        for candidate, client in clients:
            figures[candidate.name].processor += client.processor_time()
            figures[candidate.name].processor /= rounds * calls
            figures[candidate.name].memory = client.memory() / 2**20
    return figures


def _report(
    transport: str, era: Era, figures: dict[str, Figures], options: argparse.Namespace
) -> None:
    sdk = figures[SDK]
    show(
        f"One call over {transport}, {era} ({options.rounds} rounds of {options.calls} calls)",
        ("", "round trip µs", "× SDK", "server CPU µs", "× SDK", "RSS MiB", "- SDK"),
        [
            (
                name,
                f"{1e6 * median(f.round_trips):.0f}",
                f"{ratio(f.round_trips, sdk.round_trips):.2f}",
                f"{1e6 * f.processor:.0f}",
                f"{f.processor / sdk.processor:.2f}",
                f"{f.memory:.1f}",
                f"{f.memory - sdk.memory:+.1f}",
            )
            for name, f in figures.items()
        ],
    )
    for name in (HOST_ONE, HOST_TEN):
        more = figures[name].memory - sdk.memory
        _target(more <= MEMORY_TARGET, f"{name}: {more:+.1f} MiB (at most +{MEMORY_TARGET:.0f})")
        if transport == "stdio":
            found = ratio(figures[name].round_trips, sdk.round_trips)
            _target(
                found <= ROUND_TRIP_TARGET,
                f"{name}: round trip {found:.2f} (at most {ROUND_TRIP_TARGET:.2f}) × SDK",
            )


def _target(met: bool, text: str) -> None:
    print(f"target {'met' if met else 'MISSED'}: {text}")
