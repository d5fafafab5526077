"""The page `docs/reference/containment.md`, made of the registry of ways and what was measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import Expected, Measured
from hostile.registry import Way, ways

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PAGE = HERE.parents[1] / "docs" / "reference" / "containment.md"

HEAD = (
    "# What the host contains\n\n"
    "{total} ways for a pack to misbehave, each run by `make torture` in a host of its own, beside "
    "a good pack that is called all the time. {contained} of them are contained: the good pack "
    "goes on answering, the end of input ends the process with exit code 0, nothing foreign stands "
    "in the protocol, and `doctor` answers. The other {rest} are beyond "
    "[what one process can hold](../../SECURITY.md#what-one-process-cannot-hold): {ends} end the "
    "process, {holds} hold the interpreter, and {changes} change the interpreter itself. For what "
    "holds the interpreter the log names the pack.\n\n"
    "`python tests/containment/run.py --write` makes this page. In its tables, *neighbour* is the "
    "good pack's slowest answer in seconds, *caller* is what the call to the misbehaving pack "
    "brought, *state* is how `host://packs` shows that pack, and *doctor* is what the command says "
    "of it, where it comes as far as the misbehaving.\n"
)
COLUMNS = ("way", "what it does", "neighbour", "caller", "state", "doctor")


def kept() -> dict[str, dict[str, Any]]:
    """What the last run measured, by the way's name."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def keep(measured: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what was measured, and write the page."""
    known = {name: measured[name] for name in ways() if name in measured}
    MEASURED.write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(text(known))


def is_as_expected(way: Way, found: Measured) -> bool:
    """Whether a way did no more than is expected of it."""
    if way.expected is Expected.CONTAINED:
        return found.outcome == Expected.CONTAINED
    if way.expected is Expected.HOLDS:
        return "hostile" in found.named
    return True


def row(way: Way, found: Mapping[str, Any]) -> str:
    """One line of the table."""
    slowest = found["slowest"]
    if found["ended_early"]:
        felt = "the process ended"
    elif found["lost"] or slowest is None:
        felt = "no answer"
    else:
        felt = f"{slowest:.2f}"
    state = f"{found['state']} ({found['reason']})" if found["reason"] else found["state"]
    cells = (f"`{way.name}`", way.does, felt, found["answer"], state, found["doctor"])
    return "| " + " | ".join(cell or "–" for cell in cells) + " |"


def text(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page."""
    every = ways().values()
    count = {expected: sum(way.expected is expected for way in every) for expected in Expected}
    parts = [
        HEAD.format(
            total=len(every),
            contained=count[Expected.CONTAINED],
            rest=len(every) - count[Expected.CONTAINED],
            ends=count[Expected.ENDS],
            holds=count[Expected.HOLDS],
            changes=count[Expected.CHANGES],
        )
    ]
    for expected in Expected:
        parts += ["", f"## {expected.capitalize()}", "", _line(COLUMNS), "|---" * 6 + "|"]
        parts += [row(way, measured[way.name]) for way in every if _is(way, expected, measured)]
    return "\n".join(parts) + "\n"


def _is(way: Way, expected: Expected, measured: Mapping[str, object]) -> bool:
    return way.expected is expected and way.name in measured


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
