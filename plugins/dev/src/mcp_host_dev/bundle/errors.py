"""What keeps a bundle from being made."""

from mcp_host import SettingsError


class BundleError(SettingsError):
    """The bundle cannot be made; the message says why and what to do."""
