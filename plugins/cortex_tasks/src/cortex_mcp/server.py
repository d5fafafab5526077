"""The Cortex server alone: `cortex-mcp`, or this file run by Python."""

from importlib.metadata import version

from mcp_host import Standalone

DISTRIBUTION = "mcp-host-cortex-tasks"


def main() -> None:
    """Serve the five tools over stdio, or over HTTP with `--transport http`."""
    Standalone(
        pack="cortex",
        module="mcp_host_cortex_tasks.plugin",
        server_name="cortex",
        version=version(DISTRIBUTION),
        program="cortex-mcp",
        description="Work on a team's tasks from git, over MCP.",
        distribution=DISTRIBUTION,
    ).main()


if __name__ == "__main__":
    main()
