"""The warm host beside today's way and a bare SDK server: first answers, memory, round trips."""

import argparse
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from .candidates import HOST_ALL, SDK, Candidate, starters
from .clients import Era, StdioClient
from .start import ratio
from .table import show

ERAS: tuple[Era, ...] = ("2025-11-25", "2026-07-28")
FIRST, SLOWER = 0.06, 1.05
"""At most × the bare SDK's start for the first list and call; × a round trip without a front."""
ONE_MORE, TWENTY, TEN_FOLDERS = 6.0, 250.0, 350.0
"""MiB of one more session, of 20 sessions on one root, and of 20 sessions in ten folders."""
SESSIONS, CALLS = 20, 50


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only warm")
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_known_args(argv)[0].rounds
    with starters() as everyone, TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        known = {candidate.name: candidate for candidate in everyone}
        alone, sdk = known[HOST_ALL], known[SDK]
        cache = {"XDG_CACHE_HOME": scratch}
        alone = replace(alone, environment={**alone.environment, **cache, "MCP_HOST_WARM": "0"})
        warm = replace(alone, environment={**alone.environment, "MCP_HOST_WARM": "1"})
        try:
            for candidate in (alone, warm, warm):  # a saved catalogue, and then a host
                _start(candidate)
            _starts(sdk, alone, warm, rounds)
            _round_trips(alone, warm, rounds)
            _memory(sdk, alone, warm, Path(scratch))
        finally:
            _end_hosts(Path(scratch))


def _starts(sdk: Candidate, alone: Candidate, warm: Candidate, rounds: int) -> None:
    found: dict[str, list[tuple[float, float]]] = {"sdk": [], "alone": [], "warm": []}
    for _ in range(rounds):
        for name, candidate in (("sdk", sdk), ("alone", alone), ("warm", warm)):
            found[name].append(_start(candidate))
    rows = []
    for name, times in found.items():
        ratios = [ratio([t[n] for t in times], [t[n] for t in found["sdk"]]) for n in (0, 1)]
        ms = [f"{1e3 * median(t[n] for t in times):.0f}" for n in (0, 1)]
        rows.append((name, ms[0], f"{ratios[0]:.3f}", ms[1], f"{ratios[1]:.3f}"))
        if name == "warm":
            for what, value in zip(("list", "call"), ratios, strict=True):
                _judge(f"first {what} × SDK", value, FIRST)
    show(
        f"Spawn to first answer over stdio, all four packs, ms (medians of {rounds})",
        ("", "first tools/list", "× SDK", "first call", "× SDK"),
        rows,
    )


def _start(candidate: Candidate) -> tuple[float, float]:
    begin = time.perf_counter()
    with candidate.over_stdio("2025-11-25") as client:
        client.open()
        client.ask("tools/list", {})
        first_list = time.perf_counter() - begin
        client.ask("tools/call", candidate.call)
        return first_list, time.perf_counter() - begin


def _round_trips(alone: Candidate, warm: Candidate, rounds: int) -> None:
    rows = []
    for era in ERAS:
        times: dict[str, list[float]] = {"alone": [], "warm": []}
        with alone.over_stdio(era) as one, warm.over_stdio(era) as two:
            for client in (one, two):
                client.open()
                _calls(client, alone, CALLS)
            time.sleep(8)  # the SDK loads behind
            for _ in range(3 * rounds):
                times["alone"].append(_calls(one, alone, CALLS))
                times["warm"].append(_calls(two, warm, CALLS))
        slower = ratio(times["warm"], times["alone"])
        micros = [f"{1e6 * median(times[name]):.0f}" for name in ("alone", "warm")]
        rows.append((era, *micros, f"{slower:.3f}"))
        _judge(f"{era}: call through a front × without", slower, SLOWER)
    show("Round trip of a call over stdio, µs (p50)", ("", "alone", "warm", "ratio"), rows)


def _calls(client: StdioClient, candidate: Candidate, count: int) -> float:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        client.ask("tools/call", candidate.call)
        times.append(time.perf_counter() - begin)
    return median(times)


def _memory(sdk: Candidate, alone: Candidate, warm: Candidate, scratch: Path) -> None:
    rows = []
    for name, candidate in (("sdk", sdk), ("alone", alone)):
        with _session(candidate) as client:
            rows.append((name, f"{_pss([client]):.0f}", "", ""))
    with ExitStack() as stack:
        clients = [stack.enter_context(_session(warm))]
        first = _pss_warm(clients, scratch)
        clients += [stack.enter_context(_session(warm)) for _ in range(SESSIONS - 1)]
        all_of_them = _pss_warm(clients, scratch)
    more = (all_of_them - first) / (SESSIONS - 1)
    rows.append(("warm", f"{first:.0f}", f"{all_of_them:.0f}", f"{more:.1f}"))
    _judge("MiB of one more session", more, ONE_MORE)
    _judge(f"MiB of {SESSIONS} sessions", all_of_them, TWENTY)
    folders = [scratch / f"folder-{number}" for number in range(10)]
    for folder in folders:
        folder.mkdir()
        with _session(_in(alone, folder)):
            pass  # leaves a saved catalogue
    with ExitStack() as stack:
        clients = [
            stack.enter_context(_session(_in(warm, folder))) for folder in folders for _ in range(2)
        ]
        in_ten = _pss_warm(clients, scratch)
    rows.append(("warm, ten folders", "", f"{in_ten:.0f}", ""))
    _judge(f"MiB of {SESSIONS} sessions in ten folders", in_ten, TEN_FOLDERS)
    show(
        "Memory after 20 calls in each session, all four packs, MiB (PSS)",
        ("", "1 session", f"{SESSIONS} sessions", "one more"),
        rows,
    )


def _in(candidate: Candidate, folder: Path) -> Candidate:
    return replace(candidate, stdio=(*candidate.stdio, "--root", str(folder)))


class _session:
    """A client that has listed and called."""

    def __init__(self, candidate: Candidate) -> None:
        self._client = candidate.over_stdio("2025-11-25")
        self._candidate = candidate

    def __enter__(self) -> StdioClient:
        client = self._client.__enter__()
        client.open()
        client.ask("tools/list", {})
        _calls(client, self._candidate, 20)
        return client

    def __exit__(self, *what: object) -> None:
        self._client.__exit__(*what)  # type: ignore[arg-type]


def _pss(clients: Sequence[StdioClient]) -> float:
    return sum(_pss_of(client.process.pid) for client in clients)


def _pss_warm(clients: Sequence[StdioClient], scratch: Path) -> float:
    return _pss(clients) + sum(map(_pss_of, _hosts(scratch)))


def _pss_of(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _hosts(scratch: Path) -> list[int]:
    place = str(scratch / "mcp-host" / "warm")
    return [p.pid for p in psutil.process_iter(["cmdline"]) if place in (p.info["cmdline"] or ())]


def _end_hosts(scratch: Path) -> None:
    for process in _hosts(scratch):
        os.kill(process, 9)
    shutil.rmtree(scratch, ignore_errors=True)


def _judge(what: str, found: float, target: float) -> None:
    verdict = "met" if found <= target else "MISSED"
    print(f"target {verdict}: {what}: {found:.3f} (at most {target:g})")
