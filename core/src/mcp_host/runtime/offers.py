"""What a pack offers while it serves, on the pack's side: safe in any of its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias
from uuid import uuid4

from ..declarations.content import compact
from ..declarations.context import Caller
from ..declarations.contribution import Contribution
from ..declarations.errors import DeclarationError
from ..declarations.extension import Method
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..errors import Unsupported
from ..packs.declared import Declared
from ..packs.told import tell_one
from .messages import ListChange, Offered, Withdrawn

MOST = 10_000
"""How much a pack may offer at once, for all callers together."""
LARGEST = 256 * 1024
"""Bytes of an entry of a list."""

Tell: TypeAlias = Callable[[ListChange], None]


class Offers:
    """Keeps the functions of what one pack offers, and tells the host all that it need know.

    Every contribution gets a key that is used once. It stays under its key until the host lets it
    go, so that calls which have begun find the very function that their caller saw.
    """

    def __init__(self, declared: Declared, tell: Tell) -> None:
        self._declared = declared
        self._tell = tell
        self._lock = threading.Lock()
        self._there: dict[str, Contribution] = {}
        self._series = uuid4().hex[:8]
        self._last = 0

    def offer(self, contribution: Contribution, caller: Caller | None) -> None:
        """Put a contribution into the lists, in place of what was offered under its name before.

        Raises `DeclarationError` where it cannot be served, and `Unsupported` for a caller whom
        nothing tells from others.
        """
        if not self._declared.needs.changes_lists:
            raise DeclarationError(
                "a pack that offers something while it serves must declare it: "
                "mcp_host_needs returns Needs(changes_lists=True)"
            )
        if not isinstance(contribution, Tool | Resource | Prompt) or isinstance(
            contribution, Method
        ):
            raise DeclarationError(
                f"what is offered must be made by @tool, @resource or @prompt, not {contribution!r}"
            )
        contribution.verify(has_service=self._declared.opens is not None)
        told = tell_one(contribution)
        size = len(compact(told))
        if size > LARGEST:
            raise DeclarationError(
                f"{contribution.name}: its entry must have at most {LARGEST} bytes, not {size}"
            )
        whose = _whose(caller)
        with self._lock:
            if len(self._there) >= MOST:
                raise DeclarationError(f"a pack may offer at most {MOST} entries at once")
            self._last += 1
            key = f"#{self._series}-{self._last}"
            self._there[key] = contribution
            self._tell(Offered(key, whose, told))  # in the order of the keys

    def withdraw(self, name: str, caller: Caller | None) -> None:
        """Take what was offered under a name (of a resource: its URI) out of the lists."""
        with self._lock:
            self._tell(Withdrawn(str(name), _whose(caller)))

    def get(self, key: str) -> Contribution | None:
        """Return the contribution of a key; None where the host has let it go."""
        return self._there.get(key)

    def forget(self, key: str) -> None:
        """Let a contribution go: it stands in no list, and no call is under way."""
        with self._lock:
            self._there.pop(key, None)

    def clear(self) -> None:
        """Let everything go, before the pack is opened once more."""
        with self._lock:
            self._there.clear()


def _whose(caller: Caller | None) -> str | None:
    if caller is None:
        return None
    if caller.identity is None:
        raise Unsupported(
            "This needs a caller who is known by a token or by a connection of their own",
            details={"reason": "caller_unknown"},
        )
    return caller.identity
