"""One call on its way through the middleware: the shapes that every middleware knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .context import Context

if TYPE_CHECKING:
    from .asking import Answers
    from .catalog import Entry

Kind = Literal["tool", "resource", "prompt"]
Live: TypeAlias = "Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]"
"""Sends one question to a client that can be asked during a call, and brings its raw answer."""


class Call:
    """A request for a tool, a resource or a prompt.

    `name` is what the client sent (for a resource, its URI); `entry` is None when nothing has that
    name. `values` are the checked arguments, there once validation has passed.
    """

    def __init__(
        self,
        kind: Kind,
        name: str,
        entry: Entry | None,
        arguments: Mapping[str, Any],
        context: Context,
        answers: Answers | None = None,
        live: Live | None = None,
    ) -> None:
        self.kind, self.name, self.entry = kind, name, entry
        self.arguments, self.context = arguments, context
        self.answers, self.live = answers, live
        self.values: dict[str, Any] = {}


Wire: TypeAlias = dict[str, Any]
Next: TypeAlias = Callable[[Call], Awaitable[Wire]]
Middleware: TypeAlias = Callable[[Call, Next], Awaitable[Wire]]
