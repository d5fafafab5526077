"""Names of a server's tools and prompts as clients take them, no two of them the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LONGEST = 64
"""The most characters of a name that clients see, its prefix included."""
TAKEN = re.compile(r"[A-Za-z0-9_-]+")
"""What all clients take for a name."""


def named(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return what each of a server's own names is here; the host puts the prefix before it.

    A name stays as it is where clients take it. Of several that would be one, that which has the
    prefix already keeps it, then that which stays as it is; the others get six characters at their
    end that hang on the server's own name alone, so that they are the same at every start.
    """
    here: dict[str, str] = {}
    taken: set[str] = set()
    for own in sorted(set(names), key=lambda own: (_rank(own, prefix), own)):
        name = re.sub(r"[^A-Za-z0-9_-]", "_", own)
        if len(public(name, prefix)) > LONGEST or public(name, prefix) in taken:
            room = LONGEST - len(public(name, prefix)) + len(name) - 7
            name = f"{name[:room]}_{hashlib.sha256(own.encode()).hexdigest()[:6]}"
        taken.add(public(name, prefix))
        here[own] = name
    return here


def public(name: str, prefix: str) -> str:
    """Return a name as clients see it; the host's own rule."""
    if not prefix or name.startswith((f"{prefix}_", f"{prefix}-")):
        return name
    return f"{prefix}_{name}"


def _rank(own: str, prefix: str) -> int:
    """How much a name is to stay as it is: the less, the more."""
    if not TAKEN.fullmatch(own):
        return 2
    return 0 if public(own, prefix) == own else 1
