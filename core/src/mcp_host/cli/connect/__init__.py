"""`mcp-host connect` and `clients`: from this host to a client that can really start it."""
