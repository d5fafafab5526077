"""JSON-RPC with one server: requests and their replies, whatever carries them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .links import LinkError, Message
from .long_lines import AROUND, LONGEST, SHORT, id_of, least_bytes

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
PARSE_ERROR = -32700
CONNECTION_CLOSED = -32000
TOO_LONG = -32099
"""Of an error that is made here, with the `bytes` of an answer and its `limit`."""

LONG_NUMBER = 19
"""Digits of a number that nobody was given."""

Reply = Callable[[Message], None]


class ServerError(Exception):
    """The server has answered a request with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", "")))
        self.code = error.get("code")
        self.data = error.get("data")


class Peer:
    """The server as one who is asked and asks; replies are heard in the link's thread.

    `on_request` hears what the server asks, and `on_notification` what it tells. After `end` no
    reply will come, and all that is waited for is told so.
    """

    def __init__(
        self, on_request: Callable[[Message], None], on_notification: Callable[[Message], None]
    ) -> None:
        self.send: Callable[[Message], None] = _nobody
        self._on_request = on_request
        self._on_notification = on_notification
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[Reply, int]] = {}
        self._why = ""

    def request(
        self, method: str, params: Mapping[str, Any], on_reply: Reply, longest: int = LONGEST
    ) -> int:
        """Send a request; `on_reply` hears the message that answers it, or why none will.

        An answer of more than `longest` bytes is an error in its place.
        """
        number = next(self._numbers)
        self._waiting[number] = on_reply, longest
        try:
            if self._why:
                raise LinkError(self._why)
            self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        except LinkError as error:
            self._lose(number, str(error))
        return number

    def ask(self, method: str, params: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its result; never in the link's thread.

        Raises `ServerError`, and `LinkError` where no answer comes in time.
        """
        there, replies = threading.Event(), list[Message]()

        def heard(message: Message) -> None:
            replies.append(message)
            there.set()

        number = self.request(method, params, heard)
        if not there.wait(seconds):
            self.forget(number)
            raise LinkError(f"{method} was not answered within {seconds:g} s")
        (message,) = replies
        if "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            is_none = "lost" in error or "limit" in error
            raise LinkError(str(error.get("message"))) if is_none else ServerError(error)
        result = message.get("result")
        return result if isinstance(result, dict) else {}

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tell the server something; silent where it is gone."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        self._say(message if params is None else {**message, "params": params})

    def answer(self, request: Message, result: Mapping[str, Any]) -> None:
        """Answer a request of the server."""
        self._say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Message, code: int, words: str) -> None:
        """Answer a request of the server with an error."""
        error = {"code": code, "message": words}
        self._say({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def forget(self, number: int) -> bool:
        """Wait no longer for the reply to a request; return whether it was waited for."""
        return self._waiting.pop(number, None) is not None

    def hear(self, message: Message) -> None:
        """Take in a message of the server; one that is none of JSON-RPC's is passed over."""
        if "method" in message:
            if not isinstance(message["method"], str) or not _has_params(message):
                return
            if "id" not in message:
                self._on_notification(message)
            elif isinstance(message["id"], int | str):
                self._on_request(message)
            return
        given = message.get("id")
        number = given if type(given) is int else number_of(given)
        waiting = self._waiting.pop(number, None) if number is not None else None
        if waiting is not None:
            waiting[0](message)

    def refuses(self, line: bytes) -> bool:
        """Whether a line is too long to be parsed; whoever waits for it is told so."""
        if len(line) <= SHORT:
            return False
        number = id_of(line)
        heard, longest = self._waiting.get(number or 0, (None, LONGEST))
        if least_bytes(line) <= longest + AROUND:
            return False
        if heard is not None:
            words = f"The answer is {len(line)} bytes long; {longest} are allowed"
            error = {"code": TOO_LONG, "message": words, "bytes": len(line), "limit": longest}
            self.hear({"id": number, "error": error})
        return True

    def unreadable(self, line: bytes) -> bool:
        """Whether a line that cannot be parsed answers a request; whoever waits for it is told."""
        number = id_of(line)
        if number not in self._waiting:
            return False
        error = {"code": PARSE_ERROR, "message": "The server's answer is JSON that cannot be read"}
        self.hear({"id": number, "error": error})
        return True

    def begin_anew(self) -> None:
        """Take requests again after `end`: there is another link."""
        self._why = ""

    def end(self, why: str) -> None:
        """Note that the server is gone, and tell everybody who waits."""
        self._why = why
        for number in list(self._waiting):
            self._lose(number, why)

    def _lose(self, number: int, why: str) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            waiting[0](
                {"id": number, "error": {"code": CONNECTION_CLOSED, "message": why, "lost": 1}}
            )

    def _say(self, message: Message) -> None:
        try:
            self.send(message)
        except LinkError:
            return  # whoever waits for a reply is told otherwise


def number_of(named: object) -> int | None:
    """Return the number of ours that a server names; some write it as a text, or with a point."""
    if (
        isinstance(named, str)
        and named.isascii()
        and named.isdecimal()
        and len(named) < LONG_NUMBER
    ):
        return int(named)
    if isinstance(named, float) and named.is_integer():
        return int(named)
    return named if isinstance(named, int) and not isinstance(named, bool) else None


def _has_params(message: Message) -> bool:
    """Whether the parameters of a message are a table, as all of the protocol's are, or none."""
    return isinstance(message.get("params"), dict | None)


def _nobody(_: Message) -> None:
    raise LinkError("the server is not connected")
