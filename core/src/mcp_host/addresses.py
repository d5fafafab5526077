"""Which network addresses can be reached from this machine alone."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    return host == "localhost" or (is_address(host) and _parsed(host).is_loopback)


def is_address(name: str) -> bool:
    """Whether this is an IP address and no name; IPv6 may stand in brackets."""
    try:
        _parsed(name)
    except ValueError:
        return False
    return True


def _parsed(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(name.strip("[]"))
