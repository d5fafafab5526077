"""The host that `mcp-host dev` runs, and what it needs to know of the pack that is written."""
