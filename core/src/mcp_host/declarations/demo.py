"""Where a pack shows itself: what `mcp-host demo` gives to a pack's demonstration.

A pack offers one by an entry point of the group `mcp_host.demos`, under the pack's name: a module
with `prepare(folder)`, which sets up a scratch project in an empty folder and returns the pack's
settings, and `async def play(demo)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

GROUP = "mcp_host.demos"


class Demo(Protocol):
    """A running host with this pack, a real client connected to it, and somebody who looks on."""

    folder: Path

    def say(self, text: str) -> None:
        """Tell the onlooker what comes next."""

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call one of the pack's tools by its own name; what it returned, or the error envelope."""

    async def read(self, uri: str) -> str:
        """Read a resource; its text."""

    async def prompt(self, name: str, /, **arguments: str) -> str:
        """Fill in one of the pack's prompts by its own name; its text."""


class DemoModule(Protocol):
    """The module behind an entry point of `mcp_host.demos`."""

    def prepare(self, folder: Path) -> Mapping[str, Any]:
        """Set up a scratch project; the pack's own settings."""

    async def play(self, demo: Demo) -> None:
        """Show the pack at work, an error or two included."""
