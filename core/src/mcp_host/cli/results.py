"""What a call has brought, as text for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .common import say


def as_text(result: Mapping[str, Any]) -> str:
    """The contents of a result, JSON in them indented, and of what is no text its type and size."""
    parts = list(result.get("content", ())) + list(result.get("contents", ()))
    parts += [message["content"] for message in result.get("messages", ())]
    return "\n".join(_part(part) for part in parts)


def complain(envelope: Mapping[str, Any]) -> None:
    """Say on standard error what went wrong, and what would work."""
    code = f" ({envelope['code']})" if "code" in envelope else ""
    say(f"error{code}: {envelope.get('error')}")
    for suggestion in envelope.get("suggestions", ()):
        say(f"  {suggestion}")


def _part(part: Mapping[str, Any]) -> str:
    if "text" in part:
        return _indented(str(part["text"]))
    if "resource" in part:
        return _part(part["resource"])
    data = part.get("data") or part.get("blob") or ""
    size = len(data) * 3 // 4 - data.count("=")
    return f"[{part.get('mimeType', part.get('type', 'data'))}, {size} bytes]"


def _indented(text: str) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return json.dumps(data, indent=2, ensure_ascii=False) if isinstance(data, dict | list) else text
