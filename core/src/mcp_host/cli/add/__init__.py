"""`mcp-host add` and `mcp-host remove`: packs into the environment of the host, and out again."""
