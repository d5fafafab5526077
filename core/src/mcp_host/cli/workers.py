"""`mcp-host serve --workers N`: so many processes serve at one socket, and are started again."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from socket import socket
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..serving.addresses import listening_socket, refuse_open_address
from ..startup.worker import VARIABLE

if TYPE_CHECKING:
    from types import FrameType

    from ..settings.loading import Settings

EARLY = 5.0
"""Seconds in which a worker that ends by itself, with an error, is one that cannot serve."""
REST = 1.0
"""Seconds until a worker that ended is started again."""
EXIT_REQUIRED_PACK = 3


def serve_by_workers(count: int, arguments: Sequence[str], settings: Settings) -> int:
    """Serve by so many processes until a signal comes; return the exit code."""
    if settings.http.metrics:
        raise SettingsError(
            "http.metrics: each of several workers would tell of itself alone; send metrics by "
            "[host] telemetry instead"
        )
    refuse_open_address(settings.http)
    listening = listening_socket(settings.http.host, settings.http.port)
    os.set_inheritable(listening.fileno(), True)
    life, _held = os.pipe()  # its other end is closed when this process ends, however it does
    told = {
        "life": life,
        "descriptor": listening.fileno(),
        "workers": count,
        "state_key": settings.host.state_key or secrets.token_hex(),
    }
    return _Workers(count, arguments, told, listening).run()


class _Workers:
    """The workers of one server. `_ending` is set by the first signal that ends them."""

    def __init__(
        self, count: int, arguments: Sequence[str], told: dict[str, Any], listening: socket
    ) -> None:
        self._count = count
        self._listening = listening
        self._argv = [sys.executable, "-m", "mcp_host", "serve", *arguments]
        self._told = told
        self._running: dict[subprocess.Popen[bytes], float] = {}
        self._ending = False
        self._is_closed = False
        self._code = 0

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        if hasattr(signal, "SIGUSR1"):
            signal.signal(signal.SIGUSR1, self._pass_on)
        while not self._ending and len(self._running) < self._count:
            self._start()
        while self._running:
            ended, code = self._wait()
            began = self._running.pop(ended)
            if self._ending:
                self._code = self._code or code
            elif code == EXIT_REQUIRED_PACK or (code > 0 and time.monotonic() - began < EARLY):
                self._code = code or 1
                self._end(signal.SIGTERM)
            else:
                print(f"worker {ended.pid} ended with {code}: another is started", file=sys.stderr)
                time.sleep(REST)
                if not self._ending:
                    self._start()
        return self._code

    def _start(self) -> None:
        worker = subprocess.Popen(
            self._argv,
            env={**os.environ, VARIABLE: json.dumps(self._told)},
            pass_fds=[self._told["descriptor"], self._told["life"]],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a terminal's Ctrl-C comes by this process alone
        )
        self._running[worker] = time.monotonic()

    def _wait(self) -> tuple[subprocess.Popen[bytes], int]:
        while True:
            if self._ending and not self._is_closed:
                self._is_closed = True  # else clients would wait at a socket that nobody serves
                self._listening.close()
            for worker in self._running:
                if (code := worker.poll()) is not None:
                    return worker, code
            time.sleep(0.1)

    def _end(self, number: int, _: FrameType | None = None) -> None:
        self._ending = True
        self._pass_on(signal.SIGTERM)

    def _pass_on(self, number: int, _: FrameType | None = None) -> None:
        for worker in list(self._running):
            worker.send_signal(number)
