"""From spawning a server to its first list of tools, and to its first answered call (stdio)."""

import argparse
import time
from collections.abc import Sequence
from statistics import median

from .candidates import HOST_ALL, HOST_TASKY, HOST_TEN, NO_CATALOGUE, SDK, Candidate, starters
from .table import show

SAVED, NOT_SAVED, NO_LATER = 0.10, 0.35, 1.05
"""At most × the SDK's first list with and without a catalogue; × the first call without one."""
ONE_PACK, ALL_PACKS = 0.70, 1.15
"""At most × the SDK's first call, with one pack and with all of this repository."""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only start")
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_known_args(argv)[0].rounds
    with starters() as everyone:
        lists: dict[str, list[float]] = {candidate.name: [] for candidate in everyone}
        calls: dict[str, list[float]] = {candidate.name: [] for candidate in everyone}
        for candidate in everyone:  # once unmeasured: caches of the disk and of bytecode are warm
            _start(candidate)
        for number in range(rounds):
            for candidate in _rotated(everyone, number):
                first_list, first_call = _start(candidate)
                lists[candidate.name].append(first_list)
                calls[candidate.name].append(first_call)
    show(
        f"Spawn to first answer over stdio, ms (medians of {rounds})",
        ("", "first tools/list", "× SDK", "first call", "× SDK"),
        [
            (
                name,
                f"{1e3 * median(lists[name]):.0f}",
                f"{ratio(lists[name], lists[SDK]):.2f}",
                f"{1e3 * median(calls[name]):.0f}",
                f"{ratio(calls[name], calls[SDK]):.2f}",
            )
            for name in lists
        ],
    )
    for name in (HOST_TEN, HOST_ALL):
        without = name + NO_CATALOGUE
        _judge(f"{name}: first list × SDK", ratio(lists[name], lists[SDK]), SAVED)
        _judge(f"{without}: first list × SDK", ratio(lists[without], lists[SDK]), NOT_SAVED)
        _judge(f"{name}: first call × without", ratio(calls[name], calls[without]), NO_LATER)
    for name, target in ((HOST_TASKY, ONE_PACK), (HOST_ALL, ALL_PACKS)):
        _judge(f"{name}: first call × SDK", ratio(calls[name], calls[SDK]), target)


def _judge(what: str, found: float, target: float) -> None:
    verdict = "met" if found <= target else "MISSED"
    print(f"target {verdict}: {what}: {found:.2f} (at most {target:.2f})")


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the rounds' ratios: what slows one round down slows both sides of it."""
    return median(here / there for here, there in zip(ours, theirs, strict=True))


def _start(candidate: Candidate) -> tuple[float, float]:
    start = time.perf_counter()
    with candidate.over_stdio("2025-11-25") as client:
        client.open()
        client.ask("tools/list", {})
        first_list = time.perf_counter() - start
        client.ask("tools/call", candidate.call)
        return first_list, time.perf_counter() - start


def _rotated(everyone: list[Candidate], number: int) -> list[Candidate]:
    turn = number % len(everyone)
    return everyone[turn:] + everyone[:turn]
