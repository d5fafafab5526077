"""An entry: one contribution under its public name, and the lists that show entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ..declarations.contribution import Contribution
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..settings.tables import RESERVED_PACK_NAME
from ..startup.dataclass import dataclass
from ..startup.protocol import LISTS as METHODS
from .transforms import Transform

What = Literal["tools", "resources", "resourceTemplates", "prompts"]
LISTS: tuple[What, ...] = tuple(METHODS.values())


@dataclass(frozen=True, eq=False)
class Entry:
    """One contribution under its public name (for a resource: its URI).

    `refusal` says why the settings keep a tool from everybody; empty when they do not. `target` is
    what the pack's side finds it by. `whose` is the identity of the one caller that it is for, None
    where it is for everybody. `transform` is what the settings make of a tool. `withheld` says in a
    word why a lock keeps it back, empty where none does. `reader` is the pack that gives it to
    callers, where that is another.

    Invariants: it never changes: what settings or a lock make of it is another. One that is
    `withheld` has a `refusal` as well.
    """

    pack: str
    name: str
    contribution: Contribution
    listed: Mapping[str, Any]
    refusal: str = ""
    target: str = ""
    whose: str | None = None
    transform: Transform | None = None
    withheld: str = ""
    reader: str = ""

    @property
    def is_hidden(self) -> bool:
        """Whether the settings take it away from everybody, as if it were not there."""
        return self.transform is not None and self.transform.hides

    @property
    def is_doubted(self) -> bool:
        """Whether the host does not go by what the tool's annotations say."""
        tool, hints = self.contribution, self.listed.get("annotations") or {}
        if not isinstance(tool, Tool):
            return False
        reads, repeats = hints.get("readOnlyHint") is True, hints.get("idempotentHint") is True
        return (reads and not tool.read_only) or (repeats and not tool.idempotent)

    @property
    def is_hosts_tool(self) -> bool:
        """Whether it is one of the host's own, which lead to others; those have their scopes."""
        return self.pack == RESERVED_PACK_NAME and isinstance(self.contribution, Tool)

    @property
    def has_name(self) -> bool:
        """Whether it goes by a name with a prefix, and not by a URI of the pack's own."""
        return not isinstance(self.contribution, Resource)

    @property
    def key(self) -> str:
        """What no other of its kind may have."""
        contribution = self.contribution
        return contribution.template.shape if isinstance(contribution, Resource) else self.name

    @property
    def scope(self) -> str:
        """The scope that a caller needs."""
        writes = isinstance(self.contribution, Tool) and not self.contribution.read_only
        return f"{self.pack}:{'write' if writes else 'read'}"


def list_of(contribution: Contribution) -> What:
    """The list that shows a contribution."""
    if isinstance(contribution, Resource):
        return "resourceTemplates" if contribution.is_template else "resources"
    return "tools" if isinstance(contribution, Tool) else "prompts"


def kind_of(contribution: Contribution) -> str:
    """What a contribution is, in a word."""
    if isinstance(contribution, Resource):
        return "resource"
    return "tool" if isinstance(contribution, Tool) else "prompt"
