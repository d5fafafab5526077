"""A client of the host over HTTP, of the stateless era: each request stands alone."""

import http.client
import json
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_host import SettingsError

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
METHODS = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}


class Client:
    """Asks the endpoint at a URL; every method may be called in any thread, several at once."""

    def __init__(self, url: str, name: str = "mcp-host dev") -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._path = parts.path
        self._name = name
        self._lock = threading.Lock()
        self._running: dict[str, http.client.HTTPConnection] = {}
        self._next = 0

    def call(
        self,
        kind: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        answers: Mapping[str, Any] | None = None,
        state: str | None = None,
        key: str = "",
    ) -> dict[str, Any]:
        """Call a tool, read a resource or get a prompt; return `result` or `error`.

        `answers` and `state` are those of an earlier result that asked. `key` is what `cancel`
        knows the call by.
        """
        params: dict[str, Any] = (
            {"uri": name} if kind == "resource" else {"name": name, "arguments": dict(arguments)}
        )
        if state is not None:
            params |= {"inputResponses": dict(answers or {}), "requestState": state}
        return self.ask(METHODS[kind], params, key)

    def ask(self, method: str, params: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Return the answer to a request: an object with `result` or `error`."""
        with self._lock:
            self._next += 1
            number = self._next
        meta = {
            META + "protocolVersion": VERSION,
            META + "clientCapabilities": CAPABILITIES,
            META + "clientInfo": {"name": self._name, "version": "0"},
        }
        frame = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        name = params.get("name") or params.get("uri")
        if name:
            headers["Mcp-Name"] = str(name).encode("utf-8").decode("latin-1")
        connection = http.client.HTTPConnection(self._host, self._port)
        if key:
            with self._lock:
                self._running[key] = connection
        try:
            connection.request("POST", self._path, json.dumps(frame).encode(), headers)
            return _answer(connection.getresponse(), number)
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = "it was cancelled" if key and key not in self._running else str(error)
            return {"error": {"code": 0, "message": f"There is no answer: {why}"}}
        finally:
            with self._lock:
                self._running.pop(key, None)
            connection.close()

    def cancel(self, key: str) -> None:
        """Give up a call that runs: the host hears that nobody waits any more."""
        with self._lock:
            connection = self._running.pop(key, None)
        if connection is not None and connection.sock is not None:
            connection.sock.shutdown(2)


def _answer(response: http.client.HTTPResponse, number: int) -> dict[str, Any]:
    """Read the frame that answers the request, from a body of JSON or a stream of events."""
    if "event-stream" not in (response.headers.get("content-type") or ""):
        frame = json.loads(response.read() or b"{}")
        if "result" in frame or "error" in frame:
            return _of(frame)
        raise SettingsError(f"the host answered with HTTP {response.status}")
    for line in response:
        if line.startswith(b"data:"):
            frame = json.loads(line[5:])
            if frame.get("id") == number:
                return _of(frame)
    raise ValueError("the stream ended")


def _of(frame: Mapping[str, Any]) -> dict[str, Any]:
    return {key: frame[key] for key in ("result", "error") if key in frame}
