"""The way back to the client of one call in the lane: its progress and its log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...declarations.context import LEVELS, Level
from . import frames
from .requests import Id


class LaneChannel:
    """The client's channel of one call; its methods belong to the host's loop.

    `send` takes frames, in order. `token` is None where the client wants no progress; `level` tells
    the least level of the log that it wants, and None where it wants no log.
    """

    def __init__(
        self,
        send: Callable[[bytes], object],
        token: Id | None,
        level: Callable[[], Level] | None = None,
    ) -> None:
        self._send: Callable[[bytes], object] | None = send
        self._token = token
        self._level = level

    @property
    def wants_progress(self) -> bool:
        """Whether the client has asked how far the call is."""
        return self._token is not None

    def close(self) -> None:
        """Say no more: the call has ended."""
        self._send = None

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far the call is."""
        if self._send is None or self._token is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._send(frames.notification("notifications/progress", params))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send the client a line of the log, unless its level is beneath what it asked for."""
        if self._send is None or self._level is None:
            return
        if LEVELS.index(level) < LEVELS.index(self._level()):
            return
        params: dict[str, Any] = {"level": level}
        if data is not None:
            params["data"] = data
        if logger is not None:
            params["logger"] = logger
        self._send(frames.notification("notifications/message", params))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension."""
        if self._send is not None:
            self._send(frames.notification(method, params))

    def close_stream(self) -> None:
        """There is no stream that could be opened again."""
