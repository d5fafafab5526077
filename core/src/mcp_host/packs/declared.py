"""What is known of a pack: where it was found, and what it has declared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Any, TypeAlias

from ..declarations.bus import OpenBus
from ..declarations.extension import Extension
from ..declarations.handle import PackHandle
from ..declarations.needs import Needs
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..errors import McpHostError
from ..settings.tables import PackTable
from ..startup.dataclass import dataclass
from .conditions import Condition
from .skills import FoundSkills
from .words import cut


@dataclass(frozen=True)
class Offer:
    """An installed distribution that offers a pack; read from metadata, nothing is imported.

    `requires` are the versions of the host that it is made for, empty where it does not say. A pack
    that is a `file` has no distribution and no version, but the file's `digest`; `instead_of` are
    the distributions that offer an installed pack of its name.
    """

    name: str
    module: str
    distribution: str
    version: str
    requires: str = ""
    file: str = ""
    digest: str = ""
    instead_of: str = ""

    @property
    def source(self) -> str:
        """Where the pack is from, for people."""
        return self.file or self.distribution or self.module

    @property
    def about(self) -> dict[str, str]:
        """The same as plain data: a file, or a distribution and its version."""
        if self.file:
            return {"file": self.file}
        return {"distribution": self.distribution, "version": self.version}


@dataclass(frozen=True, eq=False)
class Declared:
    """What a loaded pack has declared; plain data and functions, nothing is open yet.

    Invariants: it never changes. Of a pack in a process of its own, the functions only stand for
    those that are there, and `settings` and `opens` are None.
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
    extensions: tuple[Extension, ...] = ()
    bus: OpenBus | None = None
    needs: Needs = field(default_factory=Needs)
    skills: FoundSkills = field(default_factory=FoundSkills)

    @property
    def sends(self) -> dict[str, str]:
        """The extension of each notification that running calls may send to their clients."""
        return {name: one.identifier for one in self.extensions for name in one.sends}

    @property
    def file(self) -> str | None:
        """The file of the outermost module that the pack is in."""
        if self.offer.file:
            return self.offer.file
        module = sys.modules.get(self.offer.module.partition(":")[0].partition(".")[0])
        return getattr(module, "__file__", None)

    @property
    def is_apart(self) -> bool:
        """Whether the pack has a process of its own."""
        return False

    @property
    def is_brought(self) -> bool:
        """Whether what another distribution brings stands for it, such as a mounted server."""
        return False

    def discard(self) -> None:
        """Give up what loading has begun: the pack is not served."""


class LoadError(McpHostError):
    """A pack cannot be served: a stable code, a reason for people, and what to do."""

    def __init__(self, code: str, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.condition = Condition("failed", code, cut(reason), cut(remedy))


Outcome: TypeAlias = Declared | Condition
"""What came of loading a pack: what it declares, or why it has failed."""
