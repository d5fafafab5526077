"""The pack as a server of its own: HTTP on port 8080 unless told, or stdio.

A client may be shown the saved catalogue before anything else of the pack is imported: how the
settings are read comes with `variables`, when they are.
"""

from __future__ import annotations

from mcp_host import Standalone

from . import __version__

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# What the settings are made of; how to log is asked elsewhere as well, and shows in no list.
VARIABLES = (
    "TASKY_MCP_TIMEOUT_SECONDS",
    "TASKY_MCP_MAX_CONCURRENT_REQUESTS",
    "TASKY_MCP_PROJECT_PATH",
    "TASKY_MCP_HOST",
    "TASKY_MCP_PORT",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve; ends the process with its exit code."""
    server().main(arguments)


def server() -> Standalone:
    return Standalone(
        pack="tasky",
        module="mcp_host_tasky.plugin",
        server_name="tasky",
        version=__version__,
        program="tasky-mcp",
        description="A project plan that several agents share. "
        "`tasky project init` makes the project.",
        distribution="mcp-host-tasky",
        transport="http",
        started="tasky: serving on stdio",
        tables=tables,
        variables=VARIABLES,
    )


def tables(environment: Mapping[str, str]) -> Mapping[str, Any]:
    from . import variables

    return variables.tables(environment)
