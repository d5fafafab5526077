"""The Cortex server alone, `cortex-mcp`: the five tools over stdio, or over HTTP.

A client may get its first answers from the saved catalogue, before the pack is imported.
"""

from collections.abc import Sequence
from typing import NoReturn

from mcp_host import Standalone

from . import __version__

SERVER = Standalone(
    pack="cortex",
    module="mcp_host_cortex_tasks.plugin",
    server_name="cortex",
    version=__version__,
    program="cortex-mcp",
    description="Work on a team's tasks from git, over MCP.",
    distribution="mcp-host-cortex-tasks",
    place="mcp_host_cortex_tasks.server:SERVER",
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serve as the command line says, that of the process by default, and end the process."""
    SERVER.main(arguments)
