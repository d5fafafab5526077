"""Texts for a terminal."""


def plain(text: str) -> str:
    """Return a text whose control characters cannot move the cursor or change colours."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
