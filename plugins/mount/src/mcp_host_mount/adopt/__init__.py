"""`mcp-host adopt`: the servers of a client become packs of the host."""
