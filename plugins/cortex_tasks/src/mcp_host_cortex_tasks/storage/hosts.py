"""Which hosts are this machine."""

import re

_LOOPBACK = re.compile(r"localhost|\[?::1\]?|127(?:\.[0-9]{1,3}){3}")


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine's own."""
    return _LOOPBACK.fullmatch(host) is not None
