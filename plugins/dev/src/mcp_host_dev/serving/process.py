"""The host of `mcp-host dev`: a process of its own on a port of this machine."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_host import LiveHost, SettingsError

LISTENING = "listening on "
PROGRAM = """
import os, signal, sys, threading
def end():  # with this command, however it ends: then the pipe is closed
    os.read(alive, 1)
    os.kill(os.getpid(), signal.SIGTERM)
alive = int(sys.argv.pop(1))
os.set_inheritable(alive, False)
threading.Thread(target=end, daemon=True).start()
sys.argv[0] = "mcp-host"
from mcp_host.__main__ import main
main()
"""
STARTING = 60.0
ENDING = 15.0


class HostProcess:
    """A host that serves a settings file over HTTP on loopback, from `start` to `stop`.

    `said` hears each line that it writes to standard error, in a thread.
    """

    def __init__(
        self,
        settings: Path,
        folder: Path,
        port: int,
        said: Callable[[str], None],
        path: Sequence[str] = (),
    ) -> None:
        self._said = said
        self._url = ""
        self._ready = threading.Event()
        alive, writing = os.pipe()
        self._alive: int | None = writing
        argv = [sys.executable, "-P", "-c", PROGRAM, str(alive), "serve", "--transport", "http"]
        argv += ["--host", "127.0.0.1", "--port", str(port), "--config", str(settings)]
        self._process = subprocess.Popen(
            [*argv, "--no-catalogue", "--log-level", "warning"],
            cwd=folder,
            env={**_environment(path), "PYTHONDONTWRITEBYTECODE": "1", "MCP_HOST_WARM": "0"},
            pass_fds=[alive],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl+C reaches this command, which then ends the host
        )
        os.close(alive)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_ready(self) -> tuple[str, LiveHost]:
        """Wait until it listens; return the endpoint's URL, and the host to look at."""
        if not self._ready.wait(STARTING) or not self._url:
            self.stop()
            raise SettingsError("the host did not start; what it said stands above")
        return self._url, LiveHost(self._process.pid)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def stop(self) -> None:
        """End it, and wait for that."""
        self._process.terminate()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._alive is not None:
            os.close(self._alive)
            self._alive = None
        self._reader.join(ENDING)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for raw in self._process.stderr:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            _, found, url = line.partition(LISTENING)
            if found and not self._url:
                self._url = url.strip()
                self._ready.set()
            else:
                self._said(line)
        self._ready.set()


def _environment(path: Sequence[str]) -> dict[str, str]:
    """Ours, with these folders before the others that are imported from."""
    before = os.environ.get("PYTHONPATH", "")
    whole = os.pathsep.join([*path, *filter(None, [before])])
    return {**os.environ, **({"PYTHONPATH": whole} if path else {})}
