"""The Cortex server alone: `cortex-mcp`, or this file run by Python."""

from mcp_host import Standalone
from mcp_host_cortex_tasks import __version__


def main() -> None:
    """Serve the five tools over stdio, or over HTTP with `--transport http`."""
    Standalone(
        pack="cortex",
        module="mcp_host_cortex_tasks.plugin",
        server_name="cortex",
        version=__version__,
        program="cortex-mcp",
        description="Work on a team's tasks from git, over MCP.",
        distribution="mcp-host-cortex-tasks",
    ).main()


if __name__ == "__main__":
    main()
