"""A to-do list for many users, on PostgreSQL or SQLite: an MCP pack."""

__version__ = "0.1.0"
