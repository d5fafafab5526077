"""The pack as a server of its own: HTTP on port 8080 unless told, or stdio."""

from collections.abc import Mapping, Sequence

from mcp_host import Standalone

from . import __version__


def tables(environment: Mapping[str, str]) -> Mapping[str, object]:
    """Return settings, in the shape of mcp-host.toml, from the server's variables."""
    # Imported here: a client may be shown the saved catalogue before the settings are read.
    from .settings.environment import tables_of

    return tables_of(environment)


SERVER = Standalone(
    pack="tasky",
    module="mcp_host_tasky.plugin",
    server_name="tasky",
    version=__version__,
    program="tasky-mcp",
    description="A project plan that several agents share. `tasky project init` makes the project.",
    distribution="mcp-host-tasky",
    place="mcp_host_tasky.server:SERVER",
    transport="http",
    started="tasky: serving on stdio",
    tables=tables,
    # What the settings are made of; how to log is asked elsewhere as well, and shows in no list.
    variables=(
        "TASKY_MCP_TIMEOUT_SECONDS",
        "TASKY_MCP_MAX_CONCURRENT_REQUESTS",
        "TASKY_MCP_PROJECT_PATH",
        "TASKY_MCP_HOST",
        "TASKY_MCP_PORT",
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve; ends the process with its exit code."""
    SERVER.main(arguments)
