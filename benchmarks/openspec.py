"""The OpenSpec pack beside the reference tool, in one run, where Node is there.

Measured is processor time: of a command from start to end, and of a warm server per call.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from . import openspec_sessions
from .clients import StdioClient
from .openspec_trees import CHANGES_SHOWN, SPEC_SHOWN, many_changes, many_specs
from .table import show

REFERENCE = "@fission-ai/openspec@1.13.2"
OURS = str(Path(sys.executable).with_name("openspec"))
SETTLED = 0.3  # seconds until an edit's time stamp is relied on
LONG_ENOUGH = 0.4  # seconds of processor time per figure; the system counts in hundredths


@dataclass(frozen=True)
class Task:
    """One thing to ask for: as a command, and as a call of a tool."""

    name: str
    command: tuple[str, ...]
    tool: str
    arguments: Mapping[str, Any]
    target: float
    """At most this part of the reference tool's processor time, with a warm server."""


OF_SPECS = (
    Task("validate all", ("validate", "--all", "--json"), "validate", {}, 1 / 4),
    Task("list specs", ("list", "--specs", "--json"), "list", {"specs": True}, 1 / 7),
    Task(
        "validate one spec",
        ("validate", SPEC_SHOWN, "--type", "spec", "--json"),
        "validate",
        {"name": SPEC_SHOWN, "type": "spec"},
        1 / 20,
    ),
    Task(
        "show one spec",
        ("show", SPEC_SHOWN, "--type", "spec", "--json"),
        "show",
        {"name": SPEC_SHOWN, "type": "spec"},
        1 / 20,
    ),
)
OF_CHANGES = (
    Task("validate all", ("validate", "--all", "--json"), "validate", {}, 1 / 4),
    Task("list changes", ("list", "--json"), "list", {}, 1 / 7),
    Task(
        "validate one change",
        ("validate", CHANGES_SHOWN, "--type", "change", "--json"),
        "validate",
        {"name": CHANGES_SHOWN, "type": "change"},
        1 / 20,
    ),
    Task(
        "show one change",
        ("show", CHANGES_SHOWN, "--type", "change", "--json"),
        "show",
        {"name": CHANGES_SHOWN},
        1 / 20,
    ),
)


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only openspec")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--openspec", help="the reference tool; else it is installed for the while")
    parser.add_argument(
        "--trees", type=Path, help="a folder of projects, for the first call of sessions on them"
    )
    parser.add_argument("--only-sessions", action="store_true", help="leave out all else")
    options = parser.parse_known_args(argv)[0]
    with TemporaryDirectory(prefix="mcp-host-bench-") as scratch:
        folder = Path(scratch)
        reference = options.openspec or _installed(folder / "node")
        specs = many_specs(folder / "specs")
        changes = many_changes(folder / "changes")
        if not options.only_sessions:
            _measure("400 specs", specs, OF_SPECS, reference, options.rounds)
            _measure("200 changes", changes, OF_CHANGES, reference, options.rounds)
        trees = {"400 specs": specs, "200 changes": changes}
        if options.trees is not None:
            trees = {each.name: each for each in sorted(options.trees.iterdir()) if each.is_dir()}
        if reference is not None:
            openspec_sessions.measure(
                trees,
                lambda project: _command(reference, OF_SPECS[0], project, options.rounds),
                options.rounds,
            )


def _installed(folder: Path) -> str | None:
    """The reference tool, installed into a folder; None where that cannot be done."""
    if not (shutil.which("node") and shutil.which("npm")):
        print("no Node here: the reference tool is left out")
        return None
    folder.mkdir()
    done = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", REFERENCE],
        cwd=folder,
        capture_output=True,
    )
    tool = folder / "node_modules/.bin/openspec"
    if done.returncode or not tool.exists():
        print(f"{REFERENCE} cannot be installed here: the reference tool is left out")
        return None
    return str(tool)


def _measure(
    title: str, project: Path, tasks: Sequence[Task], reference: str | None, rounds: int
) -> None:
    rows, verdicts = [], []
    with _server(project) as server:
        for task in tasks:
            theirs = _command(reference, task, project, rounds) if reference else None
            worked_out = _command(OURS, task, project, rounds, OPENSPEC_CACHE="0")
            command = _command(OURS, task, project, rounds)
            first = _first_call(task, project)
            time.sleep(SETTLED)
            warm = _server_call(server, task, lambda: None)
            edited = _server_call(server, task, lambda: _edit_one(project), most=60)
            fresh = _server_call(server, task, lambda: _edit_all(project), most=4)
            rows.append(
                (
                    task.name,
                    _ms(theirs),
                    *(
                        _ms(figure) + _part(figure, theirs)
                        for figure in (worked_out, command, first, fresh, edited, warm)
                    ),
                )
            )
            if theirs is not None:
                verdict = "met" if warm <= task.target * theirs else "MISSED"
                verdicts.append(
                    f"target {verdict}: {title}, {task.name}: {_part(warm, theirs).strip(' ()')} "
                    f"(at most 1/{round(1 / task.target)})"
                )
    show(
        f"{title}: processor time in ms (and part of the reference tool's)",
        (
            "",
            "reference command",
            "our command, worked out",
            "our command, kept",
            "first call of a server",
            "warm server, all files edited",
            "one file edited",
            "nothing edited",
        ),
        rows,
    )
    for verdict in verdicts:
        print(verdict)


def _command(program: str, task: Task, project: Path, rounds: int, **variables: str) -> float:
    """Processor time of a command from start to end: the median of the rounds.

    From the second round on ours says what it kept, unless a variable forbids it.
    """
    spent = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [program, *task.command],
            cwd=project,
            env={**_environment(project), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(spent)


def _server(project: Path) -> StdioClient:
    command = (OURS, "mcp", "--root", str(project), "--log-level", "error")
    server = StdioClient("2025-11-25", command, _environment(project))
    server.open()
    return server


def _first_call(task: Task, project: Path) -> float:
    """Processor time of a server from its first answer to the end of its first call."""
    with _server(project) as server:
        begin = server.processor_time()
        server.ask("tools/call", {"name": task.tool, "arguments": dict(task.arguments)})
        return server.processor_time() - begin


def _server_call(
    server: StdioClient, task: Task, edit: Callable[[], object], most: int = 2000
) -> float:
    """Processor time of one call, the edit before it left out but what it makes the server do."""
    call = {"name": task.tool, "arguments": dict(task.arguments)}
    server.ask("tools/call", call)
    begin, calls = server.processor_time(), 0
    while calls < most and (server.processor_time() - begin < LONG_ENOUGH or calls < 3):
        edit()
        answer, _ = server.ask("tools/call", call)
        assert json.loads(answer["content"][0]["text"])
        calls += 1
    return (server.processor_time() - begin) / calls


def _edit_all(project: Path) -> None:
    for path in (project / "openspec").rglob("*.md"):
        _edit(path)


def _edit_one(project: Path) -> None:
    _edit(next((project / "openspec/specs").rglob("spec.md")))


def _edit(path: Path) -> None:
    """Give a file other content, so that no answer about it can be an old one."""
    text = path.read_text()
    path.write_text(text[:-1] if text.endswith("\n\n") else f"{text}\n")


def _environment(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "OPENSPEC_TELEMETRY": "0",
        "DO_NOT_TRACK": "1",
        "OPENSPEC_NO_UPDATE_CHECK": "1",
        "CI": "1",
        "NO_COLOR": "1",
    }


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.1f}"


def _part(ours: float, theirs: float | None) -> str:
    return "" if not theirs or not ours else f" (1/{theirs / ours:.1f})"
