"""Work on a team's tasks from git: an MCP pack, and the `ctx` command."""

__version__ = "0.1.0"
