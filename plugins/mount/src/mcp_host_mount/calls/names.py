"""What the server itself calls its tools and prompts."""

from __future__ import annotations

from collections.abc import Mapping


class Names:
    """The server's own names, by what the host knows them as; exchanged as a whole."""

    def __init__(self, names: Mapping[str, Mapping[str, str]]) -> None:
        self.of = names

    def own(self, kind: str, name: str) -> str:
        """Return the server's name of a tool or a prompt."""
        return self.of.get(kind, {}).get(name, name)
