"""Names: how what a pack calls its own becomes what clients know."""

from __future__ import annotations

import re

from .declared import Declared, LoadError

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONG_NAME = 49
SIBLING = re.compile(r"\{tool:([A-Za-z0-9_-]+)\}")


class Naming:
    """How a pack's own names become public ones."""

    def __init__(self, declared: Declared, prefixed: bool = True) -> None:
        given = declared.table.prefix
        self._prefix = (declared.name if given is None else given) if prefixed else ""
        self._tools = {tool.name for tool in declared.tools}
        self._renamed = {own: t.name for own, t in declared.table.tools.items() if t.name}
        self._where = declared.name

    def public(self, name: str) -> str:
        """The public name; one that begins with the prefix already is left alone."""
        if not self._prefix or name.startswith((f"{self._prefix}_", f"{self._prefix}-")):
            return name
        return f"{self._prefix}_{name}"

    def public_tool(self, name: str) -> str:
        """The public name of a tool, which the settings may call otherwise."""
        return self.public(self._renamed.get(name, name))

    def resolve(self, text: str) -> str:
        """A text with each `{tool:name}` replaced by that tool's public name."""
        return SIBLING.sub(self._sibling, text) if "{tool:" in text else text

    def _sibling(self, found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in self._tools:
            raise LoadError(
                "declaration_invalid",
                f"a text names {{tool:{name}}}, but {self._where} has no tool {name}",
            )
        return self.public_tool(name)
