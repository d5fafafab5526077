"""A machine whose sessions are served by a warm host, of which none is left behind."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from core_home import Home
from mcp_host.startup.warm import hosts
from mcp_host.startup.warm.place import Place
from mcp_host.testing import StdioClient

PACK = '''
import asyncio
import os
import sys
import threading
import time
from pathlib import Path

from mcp_host import Context, Needs, hookimpl, tool


class Count:
    def __init__(self, pack):
        self.calls = 0
        self.run = pack.run


@tool(read_only=True)
def process() -> int:
    """Return the number of the process."""
    return os.getpid()


@tool
def count(counted: Count, /) -> int:
    """Count calls."""
    counted.calls += 1
    return counted.calls


@tool
async def child_variables(counted: Count, /) -> list[str]:
    """Tell what a program sees of two variables."""
    script = "import os; print(os.environ['PROBE_CHILD'], os.environ['SSH_AUTH_SOCK'])"
    done = await counted.run([sys.executable, "-c", script])
    return done.stdout.decode().split()


@tool
def note(path: str, text: str) -> str:
    """Append a line to a file."""
    with open(path, "a") as file:
        file.write(text + "\\n")
    return text


@tool
def large(length: int, fill: str = "x") -> str:
    """Return a long text."""
    return fill * length


@tool
async def wait(path: str) -> str:
    """Say that it has begun, in a file, and wait until another is there."""
    Path(path).write_text("begun")
    while not Path(path + ".go").exists():
        await asyncio.sleep(0.01)
    return "waited"


@tool(read_only=True)
async def look(path: str) -> str:
    """As `wait`, changing nothing that matters."""
    with open(path, "a") as file:
        file.write("begun\\n")
    while not Path(path + ".go").exists():
        await asyncio.sleep(0.01)
    return "looked"


@tool
def leave() -> str:
    """End the process."""
    os._exit(7)


@tool
def hold(seconds: float, path: str) -> str:
    """Hold the interpreter: nothing else can run."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    Path(path).touch()
    sys.setswitchinterval(1000)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    sys.setswitchinterval(usual)
    return "held"


@tool
def say(context: Context) -> str:
    """Write a line of the log."""
    context.log("info", "said")
    return str(context.caller.connection)


@hookimpl
def mcp_host_open(settings, pack):
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def opened():
        yield Count(pack)

    return opened()


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=("PROBE_KEY",), child_environment=("PROBE_CHILD",))


@hookimpl
def mcp_host_tools():
    return [process, count, child_variables, note, large, wait, look, leave, hold, say]
'''
SETTINGS = "[packs.probe]\nenabled = true\n"
LONGEST = 60.0
ONE_SESSION = 5.0


class WarmHome:
    """A user's machine with a pack called `probe`, and its warm hosts."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.more: dict[str, str] = {}

    @property
    def place(self) -> Path:
        return self.home.folder / "cache" / "mcp-host" / "warm"

    def stdio(
        self, *arguments: str, env: Mapping[str, str] | None = None, **how: Any
    ) -> AbstractAsyncContextManager[StdioClient]:
        """A client of `mcp-host serve`, by the warm host where that can be."""
        given = {"MCP_HOST_WARM": "1", **self.more, **(env or {})}
        return self.home.stdio("--config", "mcp-host.toml", *arguments, env=given, **how)

    async def learn(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        """Have a session served alone, which leaves a saved catalogue behind that is new.

        On a busy machine a pack may be imported late, and the catalogue is saved only then: so the
        session stays until it has been. None is saved of what was edited meanwhile, as what is
        known of a mounted server may be: then the next session saves it.
        """
        command = ("--config", "mcp-host.toml", "--no-warm", *arguments)
        before = self._catalogues()
        ends_at = time.monotonic() + LONGEST
        while not self._catalogues() - before:
            assert time.monotonic() < ends_at, "no catalogue was saved"
            async with self.home.stdio(*command, env={**self.more, **(env or {})}):
                with suppress(AssertionError):
                    new = partial(eventually, lambda: self._catalogues() - before, ONE_SESSION)
                    await asyncio.to_thread(new)

    def _catalogues(self) -> set[tuple[str, int]]:
        folder = self.home.folder / "cache" / "mcp-host" / "catalogues"
        return {(path.name, path.stat().st_mtime_ns) for path in folder.glob("*.json")}

    def hosts(self, question: str = "status") -> list[dict[str, Any]]:
        """What every warm host tells of itself."""
        if not self.place.exists():
            return []
        place = Place.opened(str(self.place))
        try:
            told = [hosts.asked(place, name, question) for name in hosts.running(place)]
        finally:
            place.close()
        return [each for each in told if each is not None]

    def alone(self) -> str:
        """Why a session was last served alone; empty where none was."""
        file = self.place / "alone"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        """End every process that belongs to this machine, also one that just becomes a host."""
        while found := [each.pid for each in psutil.process_iter(["cmdline"]) if self._owns(each)]:
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                eventually(lambda: has_ended(process))  # noqa: B023 - called at once

    def _owns(self, process: psutil.Process) -> bool:
        try:
            if has_ended(process.pid):
                return False
            if str(self.place) in (process.info["cmdline"] or ()):
                return True
            cache = process.environ().get("XDG_CACHE_HOME") if process.ppid() == 1 else None
            return cache == str(self.home.folder / "cache")
        except psutil.Error:
            return False


def has_ended(process: int) -> bool:
    """Whether a process is no more; whoever is to hear of its end may not have heard yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def eventually(true: Any, longest: float = LONGEST) -> None:
    """Wait until something is so."""
    ends_at = time.monotonic() + longest
    while not true():
        assert time.monotonic() < ends_at, "it did not come about"
        time.sleep(0.01)


@pytest.fixture
def warm(home: Home) -> Iterator[WarmHome]:
    home.add_pack("probe", PACK)
    home.write(SETTINGS)
    made = WarmHome(home)
    yield made
    made.end()


def frame(request_id: int, method: str, **params: Any) -> bytes:
    """A request as a line."""
    told = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return json.dumps(told).encode() + b"\n"
