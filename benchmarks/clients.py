"""Thin clients: bytes out, bytes in, so that the client's own cost does not hide the server's.

Only the time from writing a request to having its whole answer is measured; the answer is parsed
afterwards, and one that is no success ends the benchmark.
"""

import json
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import psutil

Era = Literal["2025-11-25", "2026-07-28"]
ERAS: tuple[Era, ...] = ("2025-11-25", "2026-07-28")
Params = dict[str, Any]

HANDSHAKE: Params = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
ENVELOPE: Params = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LONGEST_START = 60.0
IDLE = 1.0  # seconds; servers close a connection that is not used for five


class Client:
    """A server process and one connection to it; `ask` returns the result and the seconds of it."""

    def __init__(self, era: Era, process: subprocess.Popen[bytes]) -> None:
        self.era = era
        self.process = process
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def open(self) -> None:
        """Shake hands, in the era that does."""
        if self.era == "2025-11-25":
            self.ask("initialize", HANDSHAKE)
            self.tell("notifications/initialized")

    def ask(self, method: str, params: Params) -> tuple[Params, float]:
        self._number += 1
        if self.era == "2026-07-28":
            params = params | {"_meta": ENVELOPE}
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        answer, seconds = self._exchange(message)
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method} failed: {answer}")
        return answer["result"], seconds

    def tell(self, method: str) -> None:
        raise NotImplementedError

    def _exchange(self, message: Params) -> tuple[Params, float]:
        raise NotImplementedError

    def processor_time(self) -> float:
        """Seconds of processor time that the server has used so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def memory(self) -> int:
        """Bytes of memory that the server holds (RSS)."""
        return int(psutil.Process(self.process.pid).memory_info().rss)


class StdioClient(Client):
    def __init__(self, era: Era, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(
            era,
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ),
        )
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin, self.process.stdout

    def tell(self, method: str) -> None:
        self._in.write(_json({"jsonrpc": "2.0", "method": method}) + b"\n")
        self._in.flush()

    def _exchange(self, message: Params) -> tuple[Params, float]:
        line = _json(message) + b"\n"
        start = time.perf_counter()
        self._in.write(line)
        self._in.flush()
        while True:
            answered = self._out.readline()
            seconds = time.perf_counter() - start
            if not answered:
                raise RuntimeError(f"the server ended: {self.process.args!r}")
            answer = json.loads(answered)
            if answer.get("id") == message["id"]:
                return answer, seconds


class HttpClient(Client):
    """HTTP/1.1 by hand, on one connection that is made anew when it was idle between rounds."""

    def __init__(
        self, era: Era, command: Sequence[str], environment: Mapping[str, str], port: int
    ) -> None:
        super().__init__(
            era,
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
        )
        self._port = port
        self._session = ""
        self._socket = self._connect()
        self._used = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        super().__exit__()

    def _connect(self) -> socket.socket:
        until = time.monotonic() + LONGEST_START
        while True:
            try:
                connected = socket.create_connection(("127.0.0.1", self._port), timeout=30)
            except ConnectionRefusedError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise RuntimeError(f"no server came up: {self.process.args!r}") from None
                time.sleep(0.02)
            else:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connected

    def tell(self, method: str) -> None:
        self._socket.sendall(self._request({"jsonrpc": "2.0", "method": method}))
        self._receive()

    def _exchange(self, message: Params) -> tuple[Params, float]:
        request = self._request(message)
        if time.monotonic() - self._used > IDLE:
            self._socket.close()
            self._socket = self._connect()
        start = time.perf_counter()
        self._socket.sendall(request)
        head, body = self._receive()
        seconds = time.perf_counter() - start
        self._used = time.monotonic()
        if session := re.search(rb"mcp-session-id: *(\S+)", head, re.IGNORECASE):
            self._session = session[1].decode()
        answer = body if body.startswith(b"{") else re.findall(rb"^data: *(\{.*)$", body, re.M)[-1]
        return json.loads(answer), seconds

    def _request(self, message: Params) -> bytes:
        body = _json(message)
        headers = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}",
        ]
        if self.era == "2026-07-28":
            headers += [f"MCP-Protocol-Version: {self.era}", f"Mcp-Method: {message['method']}"]
            if "name" in message.get("params", {}):
                headers.append(f"Mcp-Name: {message['params']['name']}")
        elif self._session:
            headers += [f"MCP-Protocol-Version: {self.era}", f"Mcp-Session-Id: {self._session}"]
        return "\r\n".join([*headers, "", ""]).encode() + body

    def _receive(self) -> tuple[bytes, bytes]:
        """One response: its head, and its body with the marks of chunks left in."""
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._more()
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        while not (len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")):
            body += self._more()
        return head, body

    def _more(self) -> bytes:
        got = self._socket.recv(65536)
        if not got:
            raise RuntimeError(f"the server hung up: {self.process.args!r}")
        return got


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _json(message: Params) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
