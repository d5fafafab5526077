"""The file that says at any moment which packs of a process are at work, read after its death.

`packs/flight.py` writes it. A front reads it as well, which imports next to nothing.
"""

from __future__ import annotations

from .json_text import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SLOTS, WIDTH = 64, 256
"""How many works are kept at once, and the bytes of each; as many stand before them all."""
HEAD = WIDTH // 2
"""Bytes that tell of the process; as many after them tell how it left, by `os._exit`."""
LENGTH = (SLOTS + 1) * WIDTH


def works(data: bytes) -> Iterator[list[str]]:
    """Give what was at work: pack, phase, tool or other target, and id of the request."""
    for at in range(WIDTH, LENGTH, WIDTH):
        size = int.from_bytes(data[at : at + 2], "big")
        if size:
            yield data[at + 2 : at + 2 + size].decode("utf-8", "replace").split("\n", 3)


def named(data: bytes) -> frozenset[str]:
    """The packs that the end of the process may be laid to.

    That is the one that called `os._exit`, or else all that were at work.
    """
    try:
        left = loads(data[HEAD:WIDTH].strip(b"\0 "))
        if left["pack"]:
            return frozenset((str(left["pack"]),))
    except (ValueError, TypeError, KeyError):
        pass
    return frozenset(work[0] for work in works(data))
