"""What there is: the packs of the settings file, loaded and asked, and the lists that they make.

Nothing runs yet. This is all that the first lists need, and so it imports no event loop: `host.py`
opens the packs and calls them.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import __version__
from .catalog import Catalog, Entry, Naming, What
from .conditions import DISABLED, LOADING, OPENING, Condition
from .contributions import Resource
from .errors import INVALID_PARAMS, ProtocolError
from .middleware.policy import allows
from .packs import Declared, Failure, Loading, Offer, Outcome
from .settings import PackTable, Settings

if TYPE_CHECKING:
    from .context import Caller
    from .running import Runtime

log = logging.getLogger("mcp_host")

PACKS_URI = "host://packs"


class RequiredPackFailed(Exception):
    """A pack without which the host must not serve has failed; the message says why."""


class Pack:
    """One pack of the settings file: what is known of it, from loading to closing."""

    def __init__(self, name: str, table: PackTable, condition: Condition) -> None:
        self.name, self.table, self.condition = name, table, condition
        self.declared: Declared | None = None
        self.runtime: Runtime | None = None
        self.was_listed = True

    @property
    def now(self) -> Condition:
        """Its condition at this moment."""
        return self.runtime.condition if self.runtime is not None else self.condition

    @property
    def is_loading(self) -> bool:
        """Whether it is being imported still."""
        return self.condition is LOADING

    @property
    def sentence(self) -> str:
        """How it is, in one sentence for people."""
        condition = self.now
        text = f"pack {self.name} is {condition.state}"
        if condition.reason:
            text += f": {condition.reason}"
        if condition.remedy:
            text += f" ({condition.remedy})"
        return text

    def report(self) -> dict[str, Any]:
        """What a person wants to know of it, as plain data."""
        about: dict[str, Any] = {"name": self.name, **self.now.as_data()}
        if self.declared is not None:
            about["distribution"] = self.declared.offer.distribution
            about["version"] = self.declared.offer.version
            about["tools"] = len(self.declared.tools)
            about["resources"] = len(self.declared.resources)
            about["prompts"] = len(self.declared.prompts)
        return about


class Inventory:
    """Loads the packs that the settings enable; their names and lists.

    `alone` names the one pack of a stand-alone server: its names get no prefix and nothing of the
    host shows. `exposed` says that the host is reachable from other machines. `offers` tells where
    the packs are, in place of the metadata of what is installed.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        alone: str | None = None,
        exposed: bool = False,
        offers: Mapping[str, Sequence[Offer]] | None = None,
    ) -> None:
        self.settings, self.alone, self._exposed = settings, alone, exposed
        self._offers = offers
        self.catalog = Catalog()
        self.packs: dict[str, Pack] = {}
        self.fatal: str | None = None
        self._late: list[tuple[str, Outcome]] = []
        self._follower: Callable[[str, Outcome], None] | None = None
        self._arrival = threading.Condition()
        self._lists: dict[What, list[Entry]] = {}

    # -- loading

    def load(self) -> None:
        """Import, check and ask the enabled packs; may run in any thread.

        Raises `RequiredPackFailed`. A pack that fails, or is slow, does not hold up the others.
        """
        for name, table in self.settings.packs.items():
            self.packs[name] = Pack(name, table, LOADING if table.enabled else DISABLED)
        if self.alone is None:
            self._add_own_pack()
        loading = Loading(self.settings, self._arrives_late, self._offers)
        for name, outcome in loading.load().items():
            if outcome is not None:
                self.take_in(name, outcome)
        if self.fatal:
            raise RequiredPackFailed(self.fatal)

    @property
    def is_loading(self) -> bool:
        """Whether a pack is being imported still."""
        return any(pack.is_loading for pack in self.packs.values())

    def wait_loaded(self) -> None:
        """Wait until every pack is imported or given up; after `load`, before `follow`."""
        loading = sum(pack.is_loading for pack in self.packs.values())
        with self._arrival:
            self._arrival.wait_for(lambda: len(self._late) == loading)
            late, self._late = self._late, []
        for name, outcome in late:
            self.take_in(name, outcome)

    def follow(self, follower: Callable[[str, Outcome], None]) -> None:
        """Tell of each pack that is imported late, from any thread; of those there are at once."""
        with self._arrival:
            self._follower = follower
            late, self._late = self._late, []
        for name, outcome in late:
            follower(name, outcome)

    def _arrives_late(self, name: str, outcome: Outcome) -> None:
        with self._arrival:
            follower = self._follower
            if follower is None:
                self._late.append((name, outcome))
                self._arrival.notify_all()
                return
        follower(name, outcome)

    def take_in(self, name: str, outcome: Outcome) -> None:
        """Add what a pack has declared, or note why it is not served."""
        pack = self.packs[name]
        try:
            if isinstance(outcome, Failure):
                raise outcome
            self._refuse_exposed(outcome)
            Naming(outcome, self.alone is None).resolve(outcome.instructions)
            self.catalog.add(outcome, prefixed=self.alone is None)
        except Failure as failure:
            if not failure.remedy and self.alone is None:
                failure.remedy = f"correct the pack, or do without it: mcp-host disable {name}"
            pack.condition = self.redacted(failure.condition)
            self.noticed(pack)
            return
        pack.declared, pack.condition = outcome, OPENING
        self.forget_lists()

    def _refuse_exposed(self, declared: Declared) -> None:
        if self._exposed and declared.acts_as_server_user and not declared.table.shared:
            raise Failure(
                "not_shared",
                "it works on the files of the user who runs this server, and the server can be "
                "reached from other machines",
                f"if every caller may use them, set shared = true in [packs.{declared.name}]",
            )

    def redacted(self, condition: Condition) -> Condition:
        """The condition with every secret in its words masked."""
        redact = self.settings.secrets.redact
        return Condition(
            condition.state, condition.code, redact(condition.reason), redact(condition.remedy)
        )

    def is_required(self, pack: Pack) -> bool:
        """Whether the host must not serve without it."""
        return pack.table.required or pack.name == self.alone

    def noticed(self, pack: Pack) -> None:
        """Log a pack's condition; where it must not be so, `fatal` says why."""
        condition = pack.now
        ends_all = condition.state == "failed" and self.is_required(pack)
        if ends_all:
            self.fatal = self.fatal or pack.sentence
        is_quiet = condition.state in ("ready", "opening", "disabled") or ends_all
        level = logging.DEBUG if is_quiet else logging.WARNING
        log.log(level, "%s", pack.sentence, extra={"pack": pack.name, "code": condition.code})

    # -- lists

    def visible(self, what: What, caller: Caller) -> list[Mapping[str, Any]]:
        """One list whole, as this caller may see it."""
        entries = self._lists.get(what)
        if entries is None:
            entries = [
                entry
                for entry in self.catalog.entries(what)
                if self.packs[entry.pack].now.listed and not entry.refusal
            ]
            self._lists[what] = entries
        return [entry.listed for entry in entries if allows(entry, caller)]

    def page(self, what: What, cursor: str | None, caller: Caller) -> dict[str, Any]:
        """One page of a list: `{what: […], "nextCursor"?}`; a cursor is an earlier page's."""
        everything = self.visible(what, caller)
        start = _offset(cursor)
        end = start + self.settings.host.page_size
        page: dict[str, Any] = {what: everything[start:end]}
        if end < len(everything):
            page["nextCursor"] = _cursor(end)
        return page

    def forget_lists(self) -> None:
        """Make the lists anew when they are next asked for."""
        self._lists.clear()

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a tool by its public name."""
        entry = self.catalog.tools.get(name)
        return entry.contribution.signature.input_schema if entry else None

    @property
    def instructions(self) -> str | None:
        """What models should know of the packs."""
        texts = []
        for pack in self.packs.values():
            if pack.declared is not None and pack.declared.instructions and pack.now.listed:
                naming = Naming(pack.declared, self.alone is None)
                texts.append(naming.resolve(pack.declared.instructions))
        return "\n\n".join(texts) or None

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

    # -- what the host says of itself

    def report(self) -> list[dict[str, Any]]:
        """Every pack and how it is, in the order of the settings file."""
        return [pack.report() for name, pack in self.packs.items() if name != "host"]

    def _add_own_pack(self) -> None:
        def packs() -> str:
            return json.dumps(self.report(), indent=2, ensure_ascii=False)

        packs_resource = Resource(
            function=packs,
            name="packs",
            title="Packs of this host",
            description="Every pack of this host: its state, and why one is missing.",
            uri=PACKS_URI,
            mime="application/json",
        )
        own = Declared(
            "host",
            Offer("host", "mcp_host", "mcp-host", __version__),
            PackTable(),
            resources=(packs_resource,),
        )
        self.packs["host"] = Pack("host", own.table, OPENING)
        self.take_in("host", own)


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"o{offset}".encode()).decode().rstrip("=")


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        if not text.startswith("o") or not text[1:].isdecimal():
            raise ValueError
        return int(text[1:])
    except (ValueError, binascii.Error):
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: not one of this server's") from None
