"""A plugin module that answers nothing."""

"""Nothing here."""
