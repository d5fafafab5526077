"""`mcp-host install` and `uninstall`: the entry of the host in each client."""
