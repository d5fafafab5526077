"""The page `docs/reference/containment.md`, made of the registry of ways and what was measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from harness import SLOWEST, Expected, Measured
from hostile.registry import Way, ways

Mode: TypeAlias = Literal["thread", "process"]
"""Where the misbehaving pack lives."""
Found: TypeAlias = Mapping[str, Mapping[str, Any]]

HERE = Path(__file__).parent
MEASURED: Mapping[Mode, Path] = {
    "thread": HERE / "measured.json",
    "process": HERE / "measured-in-a-process.json",
}
PAGE = HERE.parents[1] / "docs" / "reference" / "containment.md"

HEAD = (
    "# What the host contains\n\n"
    "{total} ways for a pack to misbehave, each run by `make torture` in a host of its own, beside "
    "a good pack that is called all the time; once with the misbehaving pack in threads of the "
    "host, and once in [a process of its own](../how-to/isolate-a-pack.md). A way is contained "
    "where the good pack goes on answering, the end of input ends the process with exit code 0, "
    "nothing foreign stands in the protocol, and `doctor` answers.\n\n"
    "In a process of its own, **{in_processes} of {total} are contained**. In threads, "
    "{contained} are. The other {rest} are beyond "
    "[what one process can hold](../../SECURITY.md#what-one-process-cannot-hold): {ends} end the "
    "process, {holds} hold the interpreter, and {changes} change the interpreter itself. For what "
    "holds the interpreter the log names the pack; what has ended the process is known to the next "
    "start, which gives it a process of its own.\n\n"
    "`python tests/containment/run.py --write` makes this page. In its tables, *neighbour* is the "
    "good pack's slowest answer in seconds, *caller* is what the call to the misbehaving pack "
    "brought, and *state* is how `host://packs` shows that pack; first in threads, then in a "
    "process. *doctor*, which opens every pack in a process, is what that command says of it, "
    "where it comes as far as the misbehaving.\n"
)
COLUMNS = (
    "way",
    "what it does",
    "neighbour, threads",
    "caller",
    "state",
    "neighbour, process",
    "caller",
    "state",
    "doctor",
)


def kept(mode: Mode) -> dict[str, dict[str, Any]]:
    """What the last run measured, by the way's name."""
    file = MEASURED[mode]
    return json.loads(file.read_text()) if file.exists() else {}


def keep(mode: Mode, measured: Found) -> None:
    """Keep what was measured, and write the page."""
    known = {name: measured[name] for name in ways() if name in measured}
    MEASURED[mode].write_text(json.dumps(known, indent=1) + "\n")
    PAGE.write_text(text(kept("thread"), kept("process")))


def is_as_expected(way: Way, found: Measured, mode: Mode = "thread") -> bool:
    """Whether a way did no more than is expected of it."""
    if way.expected is Expected.CONTAINED or mode == "process":
        return found.outcome == Expected.CONTAINED
    if way.expected is Expected.HOLDS:
        return "hostile" in found.named
    return True


def is_contained_in_time(found: Measured) -> bool:
    """Whether a way is contained, and the neighbour never waited for longer than it may."""
    is_contained = found.outcome == Expected.CONTAINED
    return is_contained and found.slowest is not None and found.slowest < SLOWEST


def row(way: Way, *found: Mapping[str, Any]) -> str:
    """One line of the table: what was measured in each mode."""
    cells = [f"`{way.name}`", way.does]
    for one in found:
        state = f"{one['state']} ({one['reason']})" if one["reason"] else one["state"]
        cells += [_felt(one), one["answer"], state]
    cells.append(found[-1]["doctor"])
    return _line(tuple(cell or "–" for cell in cells))


def _felt(found: Mapping[str, Any]) -> str:
    if found["ended_early"]:
        return "the process ended"
    if found["lost"] or found["slowest"] is None:
        return "no answer"
    return f"{found['slowest']:.2f}"


def text(threads: Found, processes: Found) -> str:
    """The whole page."""
    every = ways().values()
    count = {expected: sum(way.expected is expected for way in every) for expected in Expected}
    parts = [
        HEAD.format(
            total=len(every),
            in_processes=sum(is_contained_in_time(Measured(**one)) for one in processes.values()),
            contained=count[Expected.CONTAINED],
            rest=len(every) - count[Expected.CONTAINED],
            ends=count[Expected.ENDS],
            holds=count[Expected.HOLDS],
            changes=count[Expected.CHANGES],
        )
    ]
    known = threads.keys() & processes.keys()
    for expected in Expected:
        title = f"{expected.capitalize()}, in threads"
        parts += ["", f"## {title}", "", _line(COLUMNS), "|---" * len(COLUMNS) + "|"]
        parts += [
            row(way, threads[way.name], processes[way.name])
            for way in every
            if way.expected is expected and way.name in known
        ]
    return "\n".join(parts) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
