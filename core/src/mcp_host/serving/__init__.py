"""From settings to a running server; the only room that imports the MCP SDK."""
