"""A pack at work, on its own side of the border."""
