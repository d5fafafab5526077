"""A pack for mcp-host: what thermometers showed."""
