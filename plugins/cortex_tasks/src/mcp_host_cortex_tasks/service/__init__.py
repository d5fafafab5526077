"""What can be done: the work of `ctx`, and the `ctx` that the MCP tools run."""
