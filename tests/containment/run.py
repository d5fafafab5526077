"""Runs every way of misbehaving, or those named, prints the table, and with --write keeps it.

python tests/containment/run.py [--write] [--mode thread|process] [--jobs N] [WAY or family …]
"""

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness
import page
from hostile.registry import Way, ways


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="WAY", help="ways or families; else all")
    parser.add_argument("--write", action="store_true", help="keep what was measured, and the page")
    parser.add_argument("--jobs", type=int, default=1, help="so many at once; 1 measures best")
    parser.add_argument("--mode", choices=page.MEASURED, help="where the pack lives; else both")
    parser.add_argument("--json", action="store_true", help="print all that was measured")
    given = parser.parse_args()
    chosen = [
        way
        for way in ways().values()
        if not given.names or way.name in given.names or way.family in given.names
    ]
    modes: list[page.Mode] = [given.mode] if given.mode else [*page.MEASURED]
    surprises = sum(_run(mode, chosen, given) for mode in modes)
    return 1 if surprises else 0


def _run(mode: page.Mode, chosen: list[Way], given: argparse.Namespace) -> int:
    """Run the ways in one mode; how many were not as expected."""
    measured = page.kept(mode)
    surprises = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        found_in_order = pool.map(lambda way: _measured(way, mode), chosen)
        for way, found in zip(chosen, found_in_order, strict=True):
            measured[way.name] = found.data()
            is_good = page.is_as_expected(way, found, mode)
            surprises += not is_good
            print(page.row(way, found.data()), "" if is_good else f"<- {found.outcome}", flush=True)
            if given.json:
                print(json.dumps(found.data()), flush=True)
            if given.write:
                page.keep(mode, measured)
    print(f"{mode}: {len(chosen)} ways, {surprises} not as expected")
    return surprises


def _measured(way: Way, mode: page.Mode) -> harness.Measured:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return harness.measure(way, Path(folder), in_a_process=mode == "process")


if __name__ == "__main__":
    sys.exit(main())
