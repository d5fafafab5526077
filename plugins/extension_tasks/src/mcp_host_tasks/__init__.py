"""Long calls as tasks, by the MCP extension for tasks (SEP-2663)."""
