"""What there is: the packs of the settings file, loaded and asked, and the lists that they make.

Nothing runs yet, and no event loop is imported: this is all that the first lists need.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..declarations.handle import PackSkill
from ..errors import McpHostError
from ..settings.loading import Settings
from ..settings.tables import RESERVED_PACK_NAME, PackTable
from .catalog import Catalog
from .conditions import (
    DISABLED,
    LOADING,
    OPENING,
    Condition,
)
from .declared import Declared, LoadError, Offer, Outcome
from .entry import Entry
from .flight import Flight, NoFlight, leaves_traces, owner, settings_word
from .late import Follower, Late
from .lists import Lists
from .loading import Loading
from .naming import Naming
from .own_pack import own_pack
from .pack import Pack
from .usage import Usage

if TYPE_CHECKING:
    from ..declarations.context import Caller
    from .children.supervisor import Supervisor
    from .last_ends import LastEnd
    from .lock import Lock
    from .renewal import Renewal
    from .search_tools import SearchTools

log = logging.getLogger("mcp_host")


class RequiredPackError(McpHostError):
    """A pack without which the host must not serve has failed; the message says why."""


class Inventory:
    """Loads the packs that the settings enable; their names and lists.

    `alone` names the one pack of a stand-alone server: its names get no prefix and nothing of the
    host shows. `exposed` says that the host is reachable from other machines. `offers` tells where
    the packs are, in place of the metadata of what is installed. Where it `is_recorded`, a flight
    record tells a later start how the process ended, and packs that ended an earlier one get a
    process of their own.

    Invariants: from `load` on, `packs` has every pack of `settings`, and the host's own unless it
    is `alone`; `catalog` has the entries of those that are `declared`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        alone: str | None = None,
        exposed: bool = False,
        offers: Mapping[str, Sequence[Offer]] | None = None,
        is_recorded: bool = False,
    ) -> None:
        self.flight: Flight = NoFlight()
        ended: Mapping[str, LastEnd] = {}
        if is_recorded and sys.platform != "win32":
            whose = owner(settings, alone)
            if leaves_traces(whose):
                from .last_ends import last_ends  # as rarely needed as it is

                ended = last_ends(settings, whose)
            settings = settings.in_processes(ended)
            self.flight = Flight(whose, settings_word(settings))
        self._last_ends = ended
        self.settings = settings
        self.alone = alone
        self._exposed = exposed
        self._offers = offers
        self.catalog = Catalog(settings.secrets, lock_of(settings))
        self.packs: dict[str, Pack] = {}
        self.usage = Usage()
        self.fatal: str | None = None
        self._supervisor: Supervisor | None = None
        self._late = Late()
        self.search_tools = self._made_search_tools(settings) if alone is None else None
        self.lists = Lists(
            self.catalog,
            settings.host.page_size,
            lambda pack: pack in self.packs and self.packs[pack].condition.listed,
            order=[RESERVED_PACK_NAME, *settings.packs],
            exposed=self.search_tools.exposed if self.search_tools else None,
            skills=self._listed_skills,
        )

    def load(self) -> None:
        """Import, check and ask the enabled packs; may run in any thread.

        Raises `RequiredPackError`. A pack that fails, or is slow, does not hold up the others.
        """
        self.flight.begin()
        for name, table in self.settings.packs.items():
            self.packs[name] = self._not_loaded(name, table)
        if self.alone is None:
            self._take_in_own()
        for name, outcome in self._loading(self.settings, self._late).load().items():
            if outcome is not None:
                self.take_in(name, outcome)
        if self.fatal:
            raise RequiredPackError(self.fatal)

    def load_again(self, settings: Settings, names: Collection[str]) -> dict[str, Outcome]:
        """Load packs by other settings, beside those that are served; waits for the slow ones."""
        late = Late()
        packs = {name: table for name, table in settings.packs.items() if name in names}
        settings = settings.replace(packs=packs).in_processes(self._last_ends)
        found = self._loading(settings, late).load()
        came = late.all_of(sum(outcome is None for outcome in found.values()))
        return {name: outcome or came[name] for name, outcome in found.items()}

    def _loading(self, settings: Settings, late: Late) -> Loading:
        return Loading(
            settings,
            late.arrives,
            self._offers,
            supervisor=self._the_supervisor,
            prefixed=self.alone is None,
            flight=self.flight,
        )

    def renew(self, renewal: Renewal) -> None:
        """Serve what new settings make of the packs; those that are gone or loaded anew are new
        objects, the others the same.
        """
        settings = renewal.settings
        self.settings = settings.in_processes(self._last_ends)
        self.catalog.lock = lock_of(settings)
        for name in (*renewal.gone, *renewal.loaded, *renewal.relisted):
            self.catalog.remove(name)
        self._place_packs(renewal)
        self.lists.order([RESERVED_PACK_NAME, *self.settings.packs])
        for name, declared in renewal.relisted.items():
            self.packs[name].whole = declared
            declared = self._trimmed(declared)
            self.catalog.add(declared, prefixed=self.alone is None)
            self.packs[name].declared = declared
        for name, outcome in renewal.loaded.items():
            self.take_in(name, outcome)
        if renewal.searches_anew and self.alone is None:
            self.search_tools = self._made_search_tools(settings)
            self.lists.exposed = self.search_tools.exposed if self.search_tools else None
            self.catalog.remove(RESERVED_PACK_NAME)
            self._take_in_own()
        self.lists.forget()

    def _place_packs(self, renewal: Renewal) -> None:
        """Have `packs` in the order of the settings; those that go on are the same objects."""
        ended = {*renewal.gone, *renewal.loaded}
        kept = {name: pack for name, pack in self.packs.items() if name not in ended}
        self.packs.clear()
        if RESERVED_PACK_NAME in kept:
            self.packs[RESERVED_PACK_NAME] = kept[RESERVED_PACK_NAME]
        for name, table in self.settings.packs.items():
            self.packs[name] = kept.get(name) or self._not_loaded(name, table)
            self.packs[name].table = table

    def _not_loaded(self, name: str, table: PackTable) -> Pack:
        state = LOADING if table.enabled else DISABLED
        return Pack(name, table, state, self._last_ends.get(name))

    def _made_search_tools(self, settings: Settings) -> SearchTools | None:
        """The tools that find all others; None where all are listed."""
        if settings.host.expose == "all":
            return None
        from .search_tools import SearchTools  # a host that lists all starts without

        return SearchTools(settings.host, self._keywords)

    def _keywords(self, pack: str) -> tuple[str, ...]:
        """What the distribution of a pack says in its metadata that it is about."""
        from .discovery import keywords

        found = self.packs.get(pack)
        if found is None or found.declared is None:
            return ()
        return keywords(found.declared.offer.distribution)

    def _take_in_own(self) -> None:
        """Serve what the host contributes itself."""
        tools = self.search_tools
        more = () if tools is None else (tools.tools, tools.instructions)
        own = own_pack(self.report, self._usage, *more)
        self.packs[own.name] = Pack(own.name, own.table, OPENING)
        self.take_in(own.name, own)

    def _usage(self, caller: Caller) -> dict[str, Any]:
        """What a caller's model has been given: its costliest answers, and the lists it sees."""
        from .tokens import usage  # as rarely needed as it is

        return usage(list(self.packs), self.lists, self.usage, caller)

    def _the_supervisor(self) -> Supervisor:
        """Return what starts the packs' processes; there is none before a pack needs one."""
        if self._supervisor is None:
            from .children.supervisor import Supervisor  # as rarely needed as it is

            self._supervisor = Supervisor()
        return self._supervisor

    def close(self) -> None:
        """End the packs' processes."""
        if self._supervisor is not None:
            self._supervisor.close()

    @property
    def is_loading(self) -> bool:
        """Whether a pack is being imported still."""
        return any(pack.is_loading for pack in self.packs.values())

    def sends(self, pack: str) -> Mapping[str, str]:
        """The notifications that a pack's calls may send, and the extension of each."""
        found = self.packs.get(pack)  # a call may run on that began before its pack was taken away
        return found.declared.sends if found is not None and found.declared is not None else {}

    @property
    def extensions(self) -> dict[str, Mapping[str, Any]]:
        """The protocol extensions of listed packs: the settings of each, by its identifier."""
        found = self.catalog.extensions.items()
        return {name: told for name, (pack, told) in found if self.packs[pack].condition.listed}

    @property
    def may_change(self) -> bool:
        """Whether the lists may change soon: a pack is loading, or adds to them while it serves."""
        return any(
            pack.is_loading or (pack.declared is not None and pack.declared.needs.changes_lists)
            for pack in self.packs.values()
        )

    def wait_loaded(self) -> None:
        """Wait until every pack is imported or given up; after `load`, before `follow`."""
        loading = sum(pack.is_loading for pack in self.packs.values())
        for name, outcome in self._late.all_of(loading).items():
            self.take_in(name, outcome)

    def follow(self, follower: Follower) -> None:
        """Tell of each pack that is imported late, from any thread; of those there are at once."""
        self._late.follow(follower)

    def take_in(self, name: str, outcome: Outcome) -> None:
        """Add what a pack has declared, or note why it is not served."""
        pack = self.packs[name]
        if isinstance(outcome, Condition):
            self._refuse(pack, outcome)
            return
        pack.whole = outcome
        outcome = self._trimmed(outcome)
        try:
            self.check_exposed(outcome)
            Naming(outcome, self.alone is None).resolve(outcome.instructions)
            self.catalog.add(outcome, prefixed=self.alone is None)
        except LoadError as error:
            outcome.discard()
            self._refuse(pack, error.condition)
            return
        pack.declared, pack.condition = outcome, OPENING
        self.lists.forget()

    def _refuse(self, pack: Pack, why: Condition) -> None:
        if not why.remedy and self.alone is None:
            remedy = f"correct the pack, or do without it: mcp-host disable {pack.name}"
            why = replace(why, remedy=remedy)
        self.change(pack, why)

    def check_exposed(self, declared: Declared) -> None:
        """`LoadError` where a pack must not be served to other machines, and would be."""
        if self._exposed and declared.acts_as_server_user and not declared.table.shared:
            raise LoadError(
                "not_shared",
                "it works on the files of the user who runs this server, and the server can be "
                "reached from other machines",
                f"if every caller may use them, set shared = true in [packs.{declared.name}]",
            )

    def redacted(self, condition: Condition) -> Condition:
        """Return the condition with every secret in its words masked."""
        redact = self.settings.secrets.redact
        return replace(condition, reason=redact(condition.reason), remedy=redact(condition.remedy))

    @property
    def skills(self) -> list[PackSkill]:
        """The skills of every pack that is listed."""
        return [
            PackSkill(pack.name, skill.name, skill.description, skill.folder)
            for pack in list(self.packs.values())
            if pack.declared is not None and pack.condition.listed
            for skill in pack.declared.skills.skills
        ]

    def _listed_skills(self) -> list[Entry]:
        """The skills of every pack as resources, where a pack that is listed gives their texts."""
        readers = {
            reader: at
            for reader, at in list(self.catalog.skills_at.items())
            if self.packs[reader].condition.listed
        }
        if not readers:
            return []
        from .listed_skills import listed_skills  # as rarely needed as it is

        return list(listed_skills(self.skills, readers, self.settings.secrets))

    @property
    def warnings(self) -> list[str]:
        """What whoever keeps the settings file should mend, though all works."""
        skills = [
            f"pack {pack.name}: {problem}"
            for pack in self.packs.values()
            if pack.declared is not None
            for problem in pack.declared.skills.problems
        ]
        hidden = [
            f"pack {pack.name}: {offer.file} is served, and not the pack of {offer.instead_of}"
            for pack in self.packs.values()
            if pack.declared is not None and (offer := pack.declared.offer).instead_of
        ]
        lock = self.catalog.lock
        kept = [] if lock is None else [(name, self.withheld(name)) for name in self.packs]
        said = [lock.warning(name, withheld) for name, withheld in kept if lock and withheld]
        return [*self.settings.warnings, *self.catalog.warnings, *skills, *hidden, *said]

    def withheld(self, name: str) -> list[dict[str, str]]:
        """What the lock of a pack keeps back: each entry's kind, name and why."""
        whole, lock = self.packs[name].whole, self.catalog.lock
        if whole is None or lock is None or not lock.holds(name):
            return []
        return lock.report(whole, self.catalog.withheld(name))

    def _trimmed(self, declared: Declared) -> Declared:
        """What a pack declares without the instructions and skills that its lock keeps back."""
        lock = self.catalog.lock
        return declared if lock is None else lock.trimmed(declared)

    def is_required(self, pack: Pack) -> bool:
        """Whether the host must not serve without it."""
        return pack.table.required or pack.name == self.alone

    def change(self, pack: Pack, condition: Condition) -> None:
        """Keep and log a pack's new condition; where it must not be so, `fatal` says why."""
        pack.condition = condition = self.redacted(condition)
        ends_all = condition.state == "failed" and self.is_required(pack)
        if ends_all:
            self.fatal = self.fatal or pack.sentence
        is_quiet = condition.state in ("ready", "opening", "disabled") or ends_all
        level = logging.DEBUG if is_quiet else logging.WARNING
        log.log(level, "%s", pack.sentence, extra={"pack": pack.name, "code": condition.code})

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a tool by its public name; the same object as long as it is there."""
        entry = self.catalog.tools.get(name)
        if entry is None or entry.is_hidden:
            return None
        schema: dict[str, Any] = entry.listed["inputSchema"]
        return schema

    @property
    def instructions(self) -> str | None:
        """What models should know of the packs."""
        texts = []
        for pack in self.packs.values():
            if pack.declared is not None and pack.declared.instructions and pack.condition.listed:
                naming = Naming(pack.declared, self.alone is None)
                texts.append(naming.resolve(pack.declared.instructions))
        return self.settings.secrets.redact("\n\n".join(texts)) or None

    def owners(self, name: str) -> list[Pack]:
        """The packs that a name of a tool or prompt may belong to.

        Those whose prefix it begins with; where there is none, those without a prefix.
        """
        prefixes = {pack.name: self._prefix(pack) for pack in self.packs.values()}
        named = [n for n, p in prefixes.items() if p and name.startswith((f"{p}_", f"{p}-"))]
        return [self.packs[n] for n in named or (n for n, p in prefixes.items() if not p)]

    def _prefix(self, pack: Pack) -> str:
        if self.alone is not None:
            return ""
        return pack.name if pack.table.prefix is None else pack.table.prefix

    def modules(self) -> dict[str, str]:
        """Return which pack each top-level module and module of an entry point belongs to."""
        packs: dict[str, str] = {}
        for name, pack in self.packs.items():
            if pack.declared is not None and name != RESERVED_PACK_NAME:
                module = pack.declared.offer.module.partition(":")[0]
                packs[module] = name
                packs.setdefault(module.partition(".")[0], name)
        return packs

    def report(self) -> list[dict[str, Any]]:
        """Every pack and how it is, in the order of the settings file."""
        return [
            {**pack.report(), **self._about_lock(name)}
            for name, pack in self.packs.items()
            if name != RESERVED_PACK_NAME
        ]

    def _about_lock(self, name: str) -> dict[str, Any]:
        """How the lock of a pack is, where it has one."""
        if self.catalog.lock is None or not self.catalog.lock.holds(name):
            return {}
        return {"locked": True, "withheld": self.withheld(name)}


def lock_of(settings: Settings) -> Lock | None:
    """What is agreed to of the packs that are locked; None where none is."""
    if not settings.locked:
        return None
    from .lock import Lock  # few hosts have locked packs

    return Lock(settings.locked, settings.secrets)
