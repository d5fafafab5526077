"""What a page's handlers are asked, and what they answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of the page: its path, query, cookies, body, and headers by lower-case names."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """Return the body as JSON; `ValueError` where it is none."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class PageResponse:
    """An answer to the page: text, bytes, or data that is sent as JSON."""

    body: Any = ""
    status: int = 200
    media_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()

    @property
    def type(self) -> str:
        """The media type: as it was given, else by what the body is."""
        if self.media_type:
            return self.media_type
        return "text/plain" if isinstance(self.body, str | bytes) else "application/json"
