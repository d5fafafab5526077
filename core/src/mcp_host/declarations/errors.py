"""What is wrong with a declaration."""

from ..errors import McpHostError


class DeclarationError(McpHostError):
    """A pack declares something that cannot work; the message says where and what is right."""
