"""Texts that come from elsewhere."""


def shown(text: str) -> str:
    """Somebody's text as it may be printed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
