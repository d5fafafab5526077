"""`mcp-host bundle`: chosen packs with the host, in a form that clients and registries install."""

from .command import bundle

__all__ = ["bundle"]
