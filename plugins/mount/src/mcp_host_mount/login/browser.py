"""The browser's way back: an address of this machine that hears how a login has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

LOOPBACK = "127.0.0.1"
PATH = "/callback"
LONGEST_HEAD = 16 * 1024
PATIENCE = 5.0
"""Seconds in which a browser must have said what it wants."""
PAGE = (
    "<!doctype html><meta charset=utf-8><title>mcp-host</title>"
    "<p>{words} You can close this window.</p>"
)


class LoginError(Exception):
    """A login did not come to pass; the message says why."""


class Return:
    """Hears the browser that comes back with the `state` of this login, and no other."""

    def __init__(self) -> None:
        self.uri = ""
        self.state = ""
        self._result: asyncio.Future[AuthorizationCodeResult] = asyncio.Future()

    async def answered(self) -> AuthorizationCodeResult:
        """Wait until the browser has come back. Raises `LoginError` where the login was refused."""
        return await self._result

    async def _heard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            status, words = self._take(head.split(b" ", 2)[1].decode("ascii"))
            body = PAGE.format(words=words).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
                "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError):
            pass  # whoever it was did not speak HTTP
        finally:
            writer.close()

    def _take(self, target: str) -> tuple[str, str]:
        parts = urlsplit(target)
        given = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path != PATH or not self.state or given.get("state") != self.state:
            return "404 Not Found", "This is no answer to a login."
        if self._result.done():
            return "200 OK", "This login has been answered."
        if "code" not in given:
            why = given.get("error_description") or given.get("error") or "no reason was given"
            self._result.set_exception(LoginError(f"the login was refused: {why[:300]}"))
            return "200 OK", "The login was refused."
        self._result.set_result(
            AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss"))
        )
        return "200 OK", "You are logged in."


@asynccontextmanager
async def browser_return(port: int) -> AsyncIterator[Return]:
    """Listen for the browser on a port of this machine, 0 for a free one."""
    back = Return()
    try:
        server = await asyncio.start_server(back._heard, LOOPBACK, port, limit=LONGEST_HEAD)
    except OSError as error:
        raise LoginError(f"port {port} cannot be listened on: {error.strerror}") from None
    async with server:
        number = server.sockets[0].getsockname()[1]
        back.uri = f"http://{LOOPBACK}:{number}{PATH}"
        yield back
