"""Lines that are too long to be parsed in the host's process, where a parse holds up everybody."""

from __future__ import annotations

import re

SHORT = 256 * 1024
"""Bytes of a line that is parsed whatever it is: it holds nobody up."""
LONGEST = 4 * 1024 * 1024
"""Bytes of the longest message that is parsed, unless an answer may be longer."""
AROUND = 64 * 1024
"""Bytes by which a line may be longer than the answer in it: names, and the server's own stamps."""
LOOKED_AT = 256
ESCAPED = 5
"""Bytes that one character of ASCII takes more where it is written as \\u0041."""
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,')
_LAST = re.compile(rb',\s*"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


def least_bytes(line: bytes) -> int:
    """Return how many bytes a line has at least, once it is written without waste."""
    spaces = sum(map(line.count, (b" ", b"\t", b"\r")))
    return len(line) - spaces - ESCAPED * line.count(b"\\u") - line.count(b"\\")


def id_of(line: bytes) -> int | None:
    """Return the number of the request that a line of JSON answers; None where it is not seen.

    It stands first or last in what servers write. Last in the line it can be nobody else's: the
    bracket behind it closes the message.
    """
    found = _FIRST.match(line[:LOOKED_AT]) or _LAST.search(line[-LOOKED_AT:])
    return int(found[1]) if found else None
