"""What is known of a pack: where it was found, and what it has declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..declarations.handle import PackHandle
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..errors import McpHostError
from ..settings.tables import PackTable
from .conditions import Condition
from .words import cut

if TYPE_CHECKING:
    from .apart import Apart


@dataclass(frozen=True)
class Offer:
    """An installed distribution that offers a pack; read from metadata, nothing is imported."""

    name: str
    module: str
    distribution: str
    version: str


@dataclass(frozen=True, eq=False)
class Declared:
    """What a loaded pack has declared; plain data and functions, nothing is open yet.

    `apart` is its process, where it has one; then its functions stand for those over there.
    """

    name: str
    offer: Offer
    table: PackTable
    settings: Any = None
    settings_model: Any = None
    opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]] | None = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    errors: Mapping[type[BaseException], str] = field(default_factory=dict)
    acts_as_server_user: bool = False
    checks: tuple[Callable[[], Any], ...] = ()
    apart: Apart | None = None


class LoadError(McpHostError):
    """A pack cannot be served: a stable code, a reason for people, and what to do."""

    def __init__(self, code: str, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.condition = Condition("failed", code, cut(reason), cut(remedy))


Outcome: TypeAlias = Declared | Condition
"""What came of loading a pack: what it declares, or why it has failed."""
