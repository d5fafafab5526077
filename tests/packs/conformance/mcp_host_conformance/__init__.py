"""What the official MCP conformance suite asks of a server, as a pack."""
