"""What is wrong with a server's answer, which else clients or the way to them would lose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .written import write

NEEDED: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
"""Each kind of content by its `type`, with the texts that it must have."""


def fault(kind: str, result: Mapping[str, Any]) -> str:
    """Say what in the result of a tool, a prompt or a resource is none of the protocol's."""
    if kind == "tool":
        return _fault_of_parts(result["content"]) if "content" in result else ""
    if kind == "prompt":
        return _fault_of_messages(result.get("messages"))
    contents = result.get("contents")
    if type(contents) is not list:
        return "contents must be a list"
    return next(filter(None, map(_fault_of_contents, contents)), "")


def for_handshake(result: dict[str, Any]) -> None:
    """Have a tool's result be one of the handshake era, which knows tables of structure alone."""
    structure = result.get("structuredContent")
    if structure is None or type(structure) is dict:
        return
    del result["structuredContent"]
    if not result.get("content"):
        text = write(structure).decode()
        result["content"] = [{"type": "text", "text": text}]


def _fault_of_parts(content: object) -> str:
    if type(content) is not list:
        return "content must be a list"
    for part in content:
        if type(part) is not dict:
            return "a part of its content must be a table"
        kind = part.get("type")
        if kind == "text" and type(part.get("text")) is str:  # most answers
            continue
        if wrong := _fault_of_part(kind, part):
            return wrong
    return ""


def _fault_of_part(kind: object, part: Mapping[str, Any]) -> str:
    if kind == "resource":
        return _fault_of_contents(part.get("resource"))
    needed = NEEDED.get(kind) if type(kind) is str else None
    if needed is None:
        return f"its content has a part of the unknown type {str(kind)[:40]!r}"
    for key in needed:
        if type(part.get(key)) is not str:
            return f"{key} of a part of type {kind} must be a text"
    return ""


def _fault_of_contents(one: object) -> str:
    if type(one) is not dict or type(one.get("uri")) is not str:
        return "each of its contents must have a uri"
    if type(one.get("text")) is not str and type(one.get("blob")) is not str:
        return "each of its contents must have a text or a blob"
    return ""


def _fault_of_messages(messages: object) -> str:
    if type(messages) is not list:
        return "messages must be a list"
    for message in messages:
        if type(message) is not dict or message.get("role") not in ("user", "assistant"):
            return "each of its messages must have the role user or assistant"
        if wrong := _fault_of_parts([message.get("content")]):
            return wrong
    return ""
