"""Any MCP server as a pack: its worker speaks MCP, as a client, with the server."""
