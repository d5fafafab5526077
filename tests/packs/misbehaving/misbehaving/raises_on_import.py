"""A pack with a fault in it."""

raise RuntimeError("broken on purpose")
