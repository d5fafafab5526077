"""Frames on a stream: a head of JSON and a body of bytes, each with its length before it.

A lone surrogate, which UTF-8 cannot write, crosses all the same: such a head is ASCII with escapes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

try:
    import pydantic_core as faster
except ImportError:  # an environment that lacks it says so in frames
    faster = None  # type: ignore[assignment]

HEADER = struct.Struct("!II")
LONGEST = 64 * 1024 * 1024
"""The longest head or body that is read."""

BORDER = 2
"""The version of what crosses the border; a side that speaks another is refused."""

Frame: TypeAlias = tuple[dict[str, Any], bytes]


def _write(head: Mapping[str, Any]) -> bytes:
    if faster is not None:  # a fourth of what `json` takes
        with suppress(ValueError):  # a lone surrogate, or deeper than that goes
            return faster.to_json(head, inf_nan_mode="constants")
    return json.dumps(head, separators=(",", ":")).encode("ascii")


def _read(head: bytes) -> Any:
    if faster is not None:
        with suppress(ValueError):
            return faster.from_json(head)
    return json.loads(head.decode("utf-8"))


def reread(head: Mapping[str, Any]) -> dict[str, Any]:
    """Return a head as it would be read in another process: plain data of its own."""
    read: dict[str, Any] = _read(_write(head))
    return read


class FrameError(ValueError):
    """What came is no frame."""


def frame(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Return the bytes of one frame."""
    data = _write(head)
    return HEADER.pack(len(data), len(body)) + data + body


class Frames:
    """Makes frames of the bytes of a stream, in whatever pieces they come."""

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in what was read."""
        self._buffer += data

    def __iter__(self) -> Iterator[Frame]:
        """Give every frame that is whole; `FrameError` where one can never be."""
        while (one := self.next()) is not None:
            yield one

    def next(self) -> Frame | None:
        """Return the next frame; None where it is not whole yet."""
        if len(self._buffer) < HEADER.size:
            return None
        head_size, body_size = HEADER.unpack_from(self._buffer)
        if head_size > self._limit or body_size > self._limit:
            raise FrameError(f"a frame of {head_size + body_size} bytes is too long")
        middle, end = HEADER.size + head_size, HEADER.size + head_size + body_size
        if len(self._buffer) < end:
            return None
        try:
            head = _read(bytes(self._buffer[HEADER.size : middle]))
        except (ValueError, RecursionError) as error:
            raise FrameError(f"the head of a frame is not JSON: {error}") from None
        if not isinstance(head, dict):
            raise FrameError("the head of a frame must be an object")
        body = bytes(self._buffer[middle:end])
        del self._buffer[:end]
        return head, body
