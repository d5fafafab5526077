"""What authors of packs use while they write: commands beside those of the host.

`recorded` reads what `mcp-host dev --record FILE` wrote, for tests.
"""

from .recording import RecordedCall, recorded

__all__ = ["RecordedCall", "recorded"]
