"""Serves the skills of packs by the MCP extension for skills (SEP-2640)."""
