"""`make conformance`: the official MCP conformance suite against the whole host.

Installs Node and the suite into `.tools/`, runs every server scenario of both protocol eras over
HTTP, and replays what was said over stdio, alone and through a front of the warm host; then runs
all scenarios without a version, those of extensions as well; once with the lane and once without.
Exit code 0 only when every expected check has passed and every replayed answer is equal. With
`--mounted`, the scenarios run against a host that mounts another one, over stdio and over HTTP.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import mounted
import served
from relay import Line, Relay
from replay import Played, replay
from suite import SUITE, VERSION, CannotInstall, Suite, Verdict, install

TOOLS = Path(__file__).resolve().parents[2] / ".tools" / "conformance"
LANES = {"on": "1", "off": "0"}
EXPECTED = {"2025-11-25": 84, "2026-07-28": 152}
EXPECTED_OF_ALL = 276
"""The checks of all scenarios that there are, those of extensions as well."""


def main() -> int:
    arguments = _arguments()
    try:
        suite = install(TOOLS)
    except CannotInstall as error:
        if arguments.where_possible:
            print(f"SKIPPED: conformance was NOT checked, because Node cannot be had here: {error}")
            return 0
        print(f"Conformance cannot be checked: {error}", file=sys.stderr)
        return 1
    print(f"{SUITE} {VERSION} on Node {suite.node_version()}")
    try:
        if arguments.mounted:
            return max(_run_mounted(suite, way) for way in mounted.WAYS)
        codes = [_run_with(suite, lane) for lane in LANES if arguments.lane in (lane, "both")]
    except served.HostFailed as error:
        print(f"Conformance: {error}", file=sys.stderr)
        return 1
    return max(codes)


def _run_with(suite: Suite, lane: str) -> int:
    """Run everything with the lane on or off."""
    print(f"With the lane {lane}:", flush=True)
    with TemporaryDirectory(prefix="mcp-host-conformance-") as scratch:
        environment = served.environment(Path(scratch)) | {"MCP_HOST_LANE": LANES[lane]}
        return asyncio.run(_run(suite, environment))


def _run_mounted(suite: Suite, way: str) -> int:
    """Run every scenario against a mount; those about the outer transport are named apart."""
    print(f"Mounted over {way}:", flush=True)
    with TemporaryDirectory(prefix="mcp-host-conformance-") as scratch:
        environment = served.environment(Path(scratch))
        return asyncio.run(_scenarios_of_mount(suite, way, environment, Path(scratch)))


async def _scenarios_of_mount(
    suite: Suite, way: str, environment: Mapping[str, str], scratch: Path
) -> int:
    good = True
    for spec_version, expected in mounted.EXPECTED.items():
        async with mounted.over_http(way, environment, scratch) as address:
            found = await suite.run(f"http://{address}/mcp", spec_version)
        print(f"{spec_version}: {found}", *found.failures, sep="\n  ", flush=True)
        if not found.meets(expected):
            good = False
            print(f"  expected: {expected} passed, 0 failed", flush=True)
    for name, reason in mounted.OUTER_TRANSPORT.items():
        print(f"left out: {name}: {reason}")
    return 0 if good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument(
        "--where-possible",
        action="store_true",
        help="skip, and say so, where Node cannot be installed",
    )
    parser.add_argument(
        "--lane",
        choices=[*LANES, "both"],
        default="both",
        help="with the lane, without it, or both",
    )
    parser.add_argument(
        "--mounted",
        action="store_true",
        help="against a host that mounts the one with the pack, over stdio and over HTTP",
    )
    return parser.parse_args()


async def _run(suite: Suite, environment: Mapping[str, str]) -> int:
    good, lines = True, list[Line]()
    for spec_version, expected in EXPECTED.items():
        async with served.over_http(environment) as address:
            relay = Relay(address)
            async with relay.listening() as relayed:
                verdict = await suite.run(f"http://{relayed}/mcp", spec_version)
        lines += relay.lines
        good = _judge(spec_version, verdict, expected) and good
    # Tasks have ids and times of their own in each run, so what is said here is not replayed.
    async with served.over_http(environment, served.EXTENSIONS) as address:
        verdict = await suite.run(f"http://{address}/mcp", None)
    good = _judge("without a version", verdict, EXPECTED_OF_ALL) and good
    played = await replay(lines, served.command("stdio"), environment)
    good = _tell("stdio", played) and good
    if sys.platform == "linux":
        async with served.warm(environment) as warm:
            through_a_front = await replay(lines, served.command("stdio"), warm)
            good = _tell("stdio through a front", through_a_front) and good
    return 0 if good else 1


def _judge(what: str, verdict: Verdict, expected: int) -> bool:
    print(f"{what}: {verdict}", flush=True)
    if verdict.meets(expected):
        return True
    print(f"  expected: {expected} passed, 0 failed", *verdict.failures, sep="\n  ")
    print(verdict.said if not verdict.failures else "")
    return False


def _tell(how: str, played: Played) -> bool:
    print(f"{how}: {played}")
    for reason, count in sorted(played.left_out.items()):
        print(f"  {count} left out: {reason}")
    for difference in played.differences:
        print(f"  {difference}")
    return played.good


if __name__ == "__main__":
    sys.exit(main())
