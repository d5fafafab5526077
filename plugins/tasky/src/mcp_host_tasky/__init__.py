"""A project plan that several agents share: an MCP pack, and the `tasky` command."""

__version__ = "0.1.0"
