"""What a pack does while it is imported and asked for its lists, seen from a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .finding import ContractFinding

TIMEOUT = 60.0
"""Seconds that the process may take for all of it."""
_PROGRAM = (
    "import sys; sys.path[:0] = {path!r}; "
    "from mcp_host.testing.contract.probing import probe; probe()"
)
_WATCHED = {
    "socket.connect": "connects to the network",
    "socket.bind": "listens on the network",
    "socket.getaddrinfo": "looks up a name in the network",
    "subprocess.Popen": "starts a program",
    "os.system": "starts a program",
    "os.posix_spawn": "starts a program",
    "os.fork": "forks the process",
    "os.mkdir": "makes a folder",
    "os.remove": "deletes a file",
    "os.rename": "renames a file",
    "os.rmdir": "deletes a folder",
    "sqlite3.connect": "opens a database",
}
"""Events of the interpreter that a pack must not cause before it is opened."""
_LATER = "do it in mcp_host_open, which is called once the pack is needed"
_CURES = (
    ("the root logger", "leave it out: write by logging.getLogger(__name__), and the host logs it"),
    ("the working directory", "leave it out: every pack of the process shares it; join paths"),
    ("the handlers of signals", "leave it out: signals are the host's"),
    ("of the standard library", "leave it out: every pack of the process shares it"),
)
_SHARED = ("asyncio", "builtins", "json", "logging", "os", "socket", "subprocess", "time")
"""Modules whose functions are nobody's to replace."""


def probed(
    module: str,
    tables: Mapping[str, Any],
    place: tuple[Path, Mapping[str, str]],
    source: Path,
    *,
    seconds: float,
    mebibytes: float,
) -> Iterator[ContractFinding]:
    """Import a pack in a process of its own, ask it for its lists, and find what it must not do.

    `place` is a working directory, and an environment, that no import has changed. `seconds` of
    processor time and `mebibytes` are what its import may take. Relative paths in `tables` start at
    the folder of `source`.
    """
    seen = _run(module, tables, place, source)
    if seen.get("seconds", 0) > seconds:  # as it does when nothing has compiled it yet
        seen = _run(module, tables, place, source)
    if "ended" in seen:
        yield ContractFinding(
            "import",
            "",
            f"the process ended while it loaded the pack: {seen['ended']}",
            "let the import do nothing; open files and connections in mcp_host_open",
        )
        return
    if seen["seconds"] > seconds:
        yield ContractFinding(
            "import",
            "",
            f"the import takes {seen['seconds']:.1f} s, and clients wait for it ({seconds:g} s "
            "are allowed)",
            "import what is slow in mcp_host_open; `python -X importtime -c 'import …'` shows what",
        )
    if seen["mebibytes"] > mebibytes:
        yield ContractFinding(
            "import",
            "",
            f"the import takes {seen['mebibytes']:.0f} MiB of memory ({mebibytes:g} are allowed)",
            "import what is large in mcp_host_open",
        )
    if seen["stdout"]:
        yield ContractFinding(
            "stdout",
            "",
            f"the import writes to standard output: {seen['stdout']!r}",
            "use logging.getLogger(__name__), or print(…, file=sys.stderr)",
        )
    for what in seen["import"]:
        remedy = next((cure for words, cure in _CURES if words in what), _LATER)
        yield ContractFinding("import", "", f"the import {what}", remedy)
    for what in seen["hooks"]:
        yield ContractFinding(
            "lists",
            "",
            f"a hook for the lists {what}",
            "let the hooks return what depends on the settings alone, and do the rest in "
            "mcp_host_open",
        )


def _run(
    module: str, tables: Mapping[str, Any], place: tuple[Path, Mapping[str, str]], source: Path
) -> dict[str, Any]:
    program = _PROGRAM.format(path=[path for path in sys.path if path])
    with tempfile.TemporaryDirectory(prefix="mcp-host-check-") as folder:
        result = Path(folder, "result.json")
        about = json.dumps(
            {"module": module, "tables": tables, "source": str(source), "result": str(result)}
        )
        try:
            process = subprocess.run(
                [sys.executable, "-c", program],
                input=about,
                text=True,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
                cwd=place[0],
                env=place[1],
            )
        except subprocess.TimeoutExpired:
            return {"ended": f"it took longer than {TIMEOUT:g} s"}
        if not result.is_file():
            said = process.stderr.strip().splitlines()
            return {"ended": f"exit code {process.returncode}; {said[-1] if said else ''}"}
        seen: dict[str, Any] = json.loads(result.read_text())
        return seen


def probe() -> None:
    """Look at one pack in this process, which is for nothing else."""
    about = json.load(sys.stdin)
    target = Path(about["result"])
    from ...packs.declared import Offer  # before what is measured
    from ...packs.declaring import declare
    from ...packs.discovery import chosen
    from ...packs.hooks import Hooks
    from ...settings.loading import parse

    (name,) = about["tables"]["packs"]
    settings = parse(about["tables"], Path(about["source"]))
    watch = _Watch()
    phases: dict[str, Any] = {"import": [], "hooks": []}
    state: dict[str, Any] = {}
    output = tempfile.TemporaryFile()  # noqa: SIM115  # it ends with the process
    os.dup2(output.fileno(), 1)

    def step(what: str) -> None:
        if what.startswith("importing"):
            state.update(cpu=_processor_time(), memory=_memory())
            watch.begin()
        elif "cpu" in state and "seconds" not in phases:
            phases["seconds"] = _processor_time() - state["cpu"]
            phases["mebibytes"] = (_memory() - state["memory"]) / 2**20
            phases["import"] = watch.end()
            watch.begin()

    try:
        offers = {name: [Offer(name, about["module"], name, "0")]}
        declare(chosen(name, settings.packs[name], offers), settings, Hooks(), step)
    except Exception:
        phases.setdefault("seconds", 0.0)  # why it cannot be loaded is told by whoever loads it
        phases.setdefault("mebibytes", 0.0)
    phases["hooks"] = watch.end()
    sys.stdout.flush()
    output.seek(0)
    phases["stdout"] = output.read(200).decode("utf-8", "replace")
    target.write_text(json.dumps(phases))
    os._exit(0)  # whatever threads the pack has begun


class _Watch:
    """Notes what happens in the process between `begin` and `end`."""

    def __init__(self) -> None:
        self._events: list[str] = []
        self._is_on = False
        self._state: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        sys.addaudithook(self._hear)

    def begin(self) -> None:
        self._state, self._functions = _process_state(), _functions()
        self._events = []
        self._is_on = True

    def end(self) -> list[str]:
        """What happened, in words, each once."""
        self._is_on = False
        now = _process_state()
        changed = [f"changes {what}" for what, value in now.items() if value != self._state[what]]
        changed += [
            f"replaces {name} of the standard library"
            for name, function in _functions().items()
            if self._functions.get(name, function) is not function
        ]
        return list(dict.fromkeys([*self._events, *changed]))

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on:
            return
        words = _WATCHED.get(event)
        about = str(arguments[0])[:200] if arguments else ""
        if event == "open" and _writes(arguments):
            words = "writes to a file"
        elif event == "socket.connect":
            about = str(arguments[1])[:200]
        if words and "__pycache__" not in about and "__pycache__" not in str(arguments[1:2]):
            self._events.append(f"{words} ({about})")


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = (*arguments, None, None, None)[:3]
    if isinstance(path, int) or str(path) == os.devnull:
        return False
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def _process_state() -> dict[str, Any]:
    """What belongs to the whole process, and no pack may change."""
    import locale
    import logging
    import signal

    handled: Callable[[Any], Any] = signal.getsignal
    return {
        "the environment": dict(os.environ),
        "the working directory": str(Path.cwd()),
        "the handlers of signals": [handled(number) for number in signal.valid_signals()],
        "the limit of recursion": sys.getrecursionlimit(),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the handlers of the root logger": list(logging.getLogger().handlers),
        "the threads: it starts one": threading.active_count(),
    }


def _functions() -> dict[str, Any]:
    """The public functions and classes of modules that all packs use, by their dotted names."""
    return {
        f"{module}.{name}": value
        for module in _SHARED
        for name, value in vars(sys.modules.get(module, sys)).items()
        if callable(value) and not name.startswith("_")
    }


def _processor_time() -> float:
    import time

    return time.process_time()


def _memory() -> int:
    """Bytes that the process takes; 0 where that is not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
