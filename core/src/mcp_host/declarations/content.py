"""What may be returned besides plain data. Each kind makes its own wire form."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ..startup.dataclass import dataclass

T = TypeVar("T")
Meta: TypeAlias = Mapping[str, Any]
Wire: TypeAlias = dict[str, Any]
"""Plain data as the protocol has it."""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _with_meta(wire: Wire, meta: Meta) -> Wire:
    return {**wire, "_meta": dict(meta)} if meta else wire


@dataclass(frozen=True)
class Text:
    """A text; `mime` counts where it is the content of a resource."""

    text: str
    mime: str | None = None
    meta: Meta = field(default_factory=dict)

    def wire(self) -> Wire:
        return _with_meta({"type": "text", "text": self.text}, self.meta)


@dataclass(frozen=True)
class Image:
    """A picture, as its file's bytes."""

    data: bytes
    mime: str = "image/png"
    meta: Meta = field(default_factory=dict)

    def wire(self) -> Wire:
        wire = {"type": "image", "data": _base64(self.data), "mimeType": self.mime}
        return _with_meta(wire, self.meta)


@dataclass(frozen=True)
class Audio:
    """A sound, as its file's bytes."""

    data: bytes
    mime: str = "audio/wav"
    meta: Meta = field(default_factory=dict)

    def wire(self) -> Wire:
        wire = {"type": "audio", "data": _base64(self.data), "mimeType": self.mime}
        return _with_meta(wire, self.meta)


@dataclass(frozen=True)
class Embedded:
    """A resource with its content: inside a result, or one of several contents of a resource."""

    uri: str
    body: str | bytes
    mime: str | None = None
    meta: Meta = field(default_factory=dict)

    def contents(self) -> Wire:
        if isinstance(self.body, str):
            body, usual = {"text": self.body}, "text/plain"
        else:
            body, usual = {"blob": _base64(self.body)}, "application/octet-stream"
        return _with_meta({"uri": self.uri, "mimeType": self.mime or usual, **body}, self.meta)

    def wire(self) -> Wire:
        return {"type": "resource", "resource": self.contents()}


@dataclass(frozen=True)
class Link:
    """A resource by name, to be read later."""

    uri: str
    name: str
    mime: str | None = None
    description: str | None = None

    def wire(self) -> Wire:
        wire = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.mime:
            wire["mimeType"] = self.mime
        if self.description:
            wire["description"] = self.description
        return wire


Content = Text | Image | Audio | Embedded | Link
CONTENT_TYPES = (Text, Image, Audio, Embedded, Link)


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    content: str | Content
    role: Literal["user", "assistant"] = "user"

    def wire(self) -> Wire:
        content = Text(self.content) if isinstance(self.content, str) else self.content
        return {"role": self.role, "content": content.wire()}


@dataclass(frozen=True)
class Result:
    """A tool's result in full, where plain data and content are not enough."""

    content: Sequence[Content]
    structured: Any = None
    meta: Meta = field(default_factory=dict)
    is_error: bool = False

    def wire(self) -> Wire:
        wire: Wire = {
            "content": [part.wire() for part in self.content],
            "isError": self.is_error,
        }
        if self.structured is not None:
            wire["structuredContent"] = self.structured
        return _with_meta(wire, self.meta)


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a longer list: `total` items in all, `next_cursor` where more remain.

    The first text is the array alone; a second one tells of the rest only where there is one, or
    where there are `notes`: plain data about the list as a whole, by names of the pack's own.
    A tool that returns `list[X] | Page[X]` answers a whole list as an array and nothing else.
    """

    items: Sequence[T]
    total: int
    next_cursor: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.total, int):
            kind = type(self.total).__name__
            raise TypeError(f"total of a Page must be an int, how many items there are, not {kind}")
        taken = self.notes.keys() & {"total", "truncated", "next_cursor", "result"}
        if taken:
            raise ValueError(
                f"notes of a Page must have names of their own, not {', '.join(sorted(taken))}"
            )

    @property
    def rest(self) -> Wire:
        """What a reader needs to know besides the items."""
        return {
            "total": self.total,
            "truncated": self.next_cursor is not None,
            "next_cursor": self.next_cursor,
            **self.notes,
        }


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes an encoder for every call that is not of its own style."""


def compact(value: Any) -> str:
    """Plain data as JSON without spaces: what models are charged for."""
    return _encode(value)
