"""What may stand in mcp-host.toml, and how it is read."""
