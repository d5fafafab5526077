"""What a pack offers while it serves, on the host's side: entries of the catalog."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..packs.catalog import Catalog
from ..packs.conditions import Condition
from ..packs.declared import Declared, LoadError
from ..packs.entry import Entry
from ..packs.naming import Naming
from ..packs.told import contribution_of
from .messages import ListChange, Offered, Withdrawn

log = logging.getLogger("mcp_host.packs")

Whose: TypeAlias = str | None


class OfferedEntries:
    """The entries of what one pack offers; every method belongs to the host's loop.

    `let_go` hears the key of an entry that nothing refers to any more: neither the catalog nor a
    call. What cannot be taken in is refused and logged, and `refusal` says it until the pack has
    withdrawn it or offered something else under the name. A pack that `may_replace` also withdraws
    and replaces what it has declared; that comes back where the pack ends.
    """

    def __init__(
        self,
        catalog: Catalog,
        declared: Declared,
        naming: Naming,
        let_go: Callable[[str], None],
        *,
        may_replace: bool = False,
    ) -> None:
        self._catalog = catalog
        self._declared = declared
        self._naming = naming
        self._let_go = let_go
        self._may_replace = may_replace
        self._replaced: list[Entry] = []
        self._entries: dict[tuple[Whose, str], list[Entry]] = {}
        self._refused: dict[tuple[Whose, str], Condition] = {}

    @property
    def refusal(self) -> Condition | None:
        """The first of what is refused now; None where nothing is."""
        return next(iter(self._refused.values()), None)

    def apply(self, changes: Sequence[ListChange]) -> None:
        """Take in what was offered, and take out what was withdrawn, in this order."""
        for change in changes:
            if isinstance(change, Withdrawn):
                self._withdraw(change)
            else:
                self._offer(change)

    def clear(self) -> bool:
        """Take everything out; return whether there was anything."""
        entries = [entry for each in self._entries.values() for entry in each]
        self._entries.clear()
        self._refused.clear()
        for entry in entries:
            self._catalog.withdraw(entry)
        replaced, self._replaced = self._replaced, []
        for entry in replaced:
            self._catalog.restore(entry)
        return bool(entries or replaced)

    def leave(self, whose: str) -> bool:
        """Take out what was offered to a caller who has gone; return whether there was anything."""
        gone = [key for key in self._entries if key[0] == whose]
        for key in gone:
            for entry in self._entries.pop(key):
                self._catalog.withdraw(entry)
        for key in [key for key in self._refused if key[0] == whose]:
            del self._refused[key]
        return bool(gone)

    def _withdraw(self, change: Withdrawn) -> None:
        key = change.whose, change.name
        self._refused.pop(key, None)
        offered = self._entries.pop(key, None)
        if offered is None and change.whose is None:
            offered = self._declared_as(change.name, change.kind)
            self._replaced += offered
        for entry in offered or ():
            self._catalog.withdraw(entry)

    def _declared_as(self, name: str, kind: str) -> list[Entry]:
        """Return what the pack has declared under a name, where it may replace that."""
        if not self._may_replace:
            return []
        kinds = {"tool": Tool, "prompt": Prompt, "resource": Resource}
        return self._catalog.declared_by(self._declared.name, name, kinds.get(kind, object))

    def _offer(self, change: Offered) -> None:
        try:
            contribution = contribution_of(change.data)
            key = change.whose, contribution.offered_name
            before = [
                entry
                for entry in self._entries.get(key, ())
                if type(entry.contribution) is type(contribution)
            ]
            declared = []
            if not before and change.whose is None:
                declared = self._declared_as(contribution.offered_name, str(change.data["kind"]))
            before = before or declared
            entry = self._catalog.offer(
                self._declared,
                contribution,
                self._naming,
                target=change.key,
                whose=change.whose,
                instead_of=before[0] if before else None,
            )
        except LoadError as error:
            self._refuse(change, error.condition)
            self._let_go(change.key)
            return
        except (KeyError, TypeError, ValueError) as error:
            self._refuse(change, Condition("degraded", "declaration_invalid", str(error)))
            self._let_go(change.key)
            return
        self._replaced += declared
        if entry.withheld:
            log.warning("pack %s: %s is withheld: %s", entry.pack, entry.name, entry.refusal)
        weakref.finalize(entry, self._let_go, change.key).atexit = False
        kept = [one for one in self._entries.get(key, ()) if one not in before]
        self._entries[key] = [*kept, entry]
        self._refused.pop(key, None)

    def _refuse(self, change: Offered, why: Condition) -> None:
        name = str(change.data.get("uri") or change.data.get("name"))
        reason = f"it offered {name}, which was refused: {why.reason}"
        log.warning("pack %s: %s", self._declared.name, reason, extra={"code": why.code})
        self._refused[change.whose, name] = Condition("degraded", why.code, reason, why.remedy)
