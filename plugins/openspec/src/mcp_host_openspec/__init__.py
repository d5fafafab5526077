"""Spec-driven development on OpenSpec trees: an MCP pack, and the `openspec` command."""

__version__ = "0.1.0"
