"""The border's frames for workers that are written in Python, as plain blocking calls."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Any

from .frames import BORDER, Frames, frame

DESCRIPTOR = 3
PORTION = 64 * 1024
"""Bytes that are read at once; more would be mapped anew by the system for each message."""


class WorkerBorder:
    """A worker's end of the border: messages are objects of JSON, some with a body of bytes."""

    version = BORDER

    def __init__(self, descriptor: int = DESCRIPTOR) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._frames = Frames()
        self._sending = threading.Lock()

    def receive(self) -> tuple[dict[str, Any], bytes] | None:
        """Wait for the host's next message and its body; None where the host has gone."""
        while (one := self._frames.next()) is None:
            data = self._socket.recv(PORTION)
            if not data:
                return None
            self._frames.feed(data)
        return one

    def send(self, message: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message, in any thread."""
        data = frame(message, body)
        with self._sending:
            self._socket.sendall(data)
