"""The host: opens its packs, and passes calls to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Self

from pydantic_core import to_json

from ..declarations.context import Caller, ClientChannel, Context
from ..errors import (
    REQUEST_ID_KEY,
)
from ..middleware.answer import ErrorEnvelope
from ..middleware.audit import Audit
from ..middleware.audit_file import AuditFile
from ..middleware.cache import Cache
from ..middleware.call import UNASKED, Asking, AtOnce, Call
from ..middleware.chain import Chain
from ..middleware.confirm import Confirm, is_confirmed
from ..middleware.deadline import Deadline
from ..middleware.ending import RunningCalls
from ..middleware.feed import Feed
from ..middleware.log import log as log_calls
from ..middleware.long_calls import Keeper, LongCallHandles
from ..middleware.names import Names
from ..middleware.opening import Opening
from ..middleware.outcomes import OutcomeListener, Outcomes
from ..middleware.own_methods import OwnMethods
from ..middleware.policy import policy
from ..middleware.questions import Questions
from ..middleware.rates import Rates
from ..middleware.request_id import RequestIds, request_id
from ..middleware.run import Run
from ..middleware.search import Search
from ..middleware.slots import Slots
from ..middleware.transforms import transforms
from ..middleware.usage import UsageAccount
from ..packs.access import check, check_whose
from ..packs.conditions import Condition
from ..packs.declared import Outcome
from ..packs.entry import Entry, What
from ..packs.inventory import Inventory
from ..packs.pack import Pack
from ..packs.renewal import Renewal
from ..runtime.health import Health
from ..runtime.lifecycle import Lifecycle
from ..runtime.messages import Answered
from ..runtime.notices import Notices
from ..runtime.offered import OfferedEntries
from ..runtime.running import RunningPacks
from ..settings.tables import RESERVED_PACK_NAME
from .arrivals import Arrivals
from .changes import ChangeListeners
from .completion import Completion
from .listening import HostListener
from .watching import Watching


class Host:
    """Opens the packs of a loaded inventory, and serves what they contribute.

    `retries` opens a pack again that could not be opened; a command that ends soon does without.

    Every pack of the inventory that has been loaded is among the running ones from `open` on; one
    that is imported late from when it arrives. All methods belong to the loop that `open` was
    called on.

    Invariants: `packs`, `catalog` and `settings` are those of the `inventory`, and `_chain` is made
    of them; `renew` alone changes settings and chain, both at once. Once `fatal` says why the host
    must end, `_fatal` is set. `is_closing` never changes back. `changes` tells who listens what is
    no longer as it was.
    """

    def __init__(self, inventory: Inventory, *, retries: bool = True) -> None:
        self.inventory = inventory
        self.settings = inventory.settings
        self.alone = inventory.alone
        self.packs = inventory.packs
        self.catalog = inventory.catalog
        self.cache = Cache()
        self._running = RunningPacks(
            inventory,
            self._listener,
            self._condition_changed,
            self._is_heard_of,
            lambda uri: self.changes.is_heard(uri),  # `changes` is made below, of what runs here
            retries=retries,
        )
        self._notices = Notices(self._running.publish, self._running.has_bus)
        self.changes = ChangeListeners(self.packs, inventory.lists, self.cache, self._notices)
        self._arrivals = Arrivals(self._running, self.changes)
        self.watching = Watching(self.owner, self._running.watched)
        self._completion = Completion(inventory, self._running.lifecycles)
        self._fatal = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        host = self.settings.host
        self.is_closing = False
        self._request_ids = RequestIds()
        self._slots = Slots(self.settings.packs, host.max_concurrency)
        self._accounts: list[OutcomeListener] = [log_calls, UsageAccount(inventory.usage)]
        self._audit: AuditFile | None = None
        if host.audit is not None:
            self._audit = AuditFile(host.audit, host.audit_max_bytes, host.audit_keep)
            self._accounts.append(Audit(self._audit.write))
        self._rates = Rates()
        self.feed = Feed(self.settings.secrets)
        self.own_methods = OwnMethods(self._running.lifecycles, host.max_answer_bytes)
        self._long_calls = LongCallHandles(
            self.own_methods, self.settings.secrets, host.asking_timeout
        )
        self._running_calls = RunningCalls()
        self._chain = self._made_chain()

    def keep_account(self, listener: OutcomeListener) -> None:
        """Have a listener hear from now on how every call ended."""
        self._accounts.append(listener)

    def places(self) -> list[tuple[str, int, int]]:
        """Each pack that has places, with how many calls have one and how many wait; any thread."""
        return self._slots.places()

    def end_calls(self) -> None:
        """End the calls that run, each with an answer that says so: the server waits no more."""
        self._running_calls.end()

    def limit_calls(self, per_minute: int) -> None:
        """Let each caller make so many calls a minute."""
        self._rates.limit(per_minute)
        self._chain = self._made_chain()

    def _made_chain(self) -> Chain:
        """What every call passes, by the settings as they are now."""
        settings, inventory = self.settings, self.inventory
        host = settings.host
        tables = settings.packs.values()
        self.cache.is_used = any(tool.cache for table in tables for tool in table.tools.values())
        return Chain(
            [
                request_id,
                self.feed,
                Outcomes(self._accounts),
                ErrorEnvelope(settings.secrets, self._running_calls),
                self._rates,
                Search(inventory.search_tools, inventory.lists, self._tool),
                policy,
                Names(inventory),
                transforms,
                Opening(self._running.lifecycles),
                Questions(host.asking_timeout),
                Confirm(host.confirm),
                self.cache,
                Deadline(settings.packs, host.timeout),
                self._slots,
            ],
            Run(host.max_answer_bytes, settings.secrets, inventory.sends),
        )

    @property
    def running(self) -> dict[str, Lifecycle]:
        """The lifecycles of the packs that serve, by their names."""
        return self._running.lifecycles

    # What is known without an open pack is the inventory's to tell.

    @property
    def fatal(self) -> str | None:
        """Why the host must end; None while it need not."""
        return self.inventory.fatal

    @property
    def instructions(self) -> str | None:
        """What models should know of the packs."""
        return self.inventory.instructions

    def visible(self, what: What, caller: Caller) -> list[Mapping[str, Any]]:
        """Return one list whole, as this caller may see it."""
        return self.inventory.lists.visible(what, caller)

    def page(self, what: What, cursor: str | None, caller: Caller) -> dict[str, Any]:
        """Return one page of a list: `{what: […], "nextCursor"?}`."""
        return self.inventory.lists.page(what, cursor, caller)

    def report(self) -> list[dict[str, Any]]:
        """Return every pack and how it is, in the order of the settings file."""
        return self.inventory.report()

    def may_ask(self, entry: Entry) -> bool:
        """Return whether a call of it may ask its client something."""
        if entry.contribution.signature.questions or entry.is_hosts_tool:
            return True
        return is_confirmed(entry, self.settings.host.confirm)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of a tool by its public name."""
        return self.inventory.input_schema(name)

    # Opening and closing

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def open(self, *, in_turn: bool = False) -> None:
        """Begin to open every loaded pack; returns at once, lists and calls can be served.

        With `in_turn` packs open one after the other, before all those that a call waits for.
        """
        self._loop = asyncio.get_running_loop()
        self._look_for_keeper()
        self._running.open(in_turn=in_turn)
        self.inventory.follow(partial(self._on_loop, self._arrived))

    async def imported(self) -> bool:
        """Wait until every pack is imported, or has failed to be; return whether one was late."""
        return await self._arrivals.imported(list(self.packs.values()))

    async def settled(self) -> None:
        """Wait until every pack has been loaded and opened, or has failed to."""
        await self._arrivals.opened(list(self.packs.values()))

    async def required_decided(self) -> None:
        """Wait until every required pack has been loaded and opened, or has failed to."""
        is_required = self.inventory.is_required
        await self._arrivals.opened([pack for pack in self.packs.values() if is_required(pack)])

    async def failed(self) -> str:
        """Wait until a required pack fails; return why it did."""
        await self._fatal.wait()
        return self.fatal or ""

    async def close(self) -> None:
        """Close every pack, all at once, each within its time."""
        self.is_closing = True
        await self._long_calls.close()
        self._notices.flush()
        await self._running.close()
        await asyncio.to_thread(self.inventory.close)
        if self._audit is not None:
            await asyncio.to_thread(self._audit.close)

    # Settings that were read again

    def renew(self, renewal: Renewal) -> None:
        """Serve by new settings: at once for calls from now on; those that run stay where they are.

        A pack that was loaded anew is opened once the calls of the old one have ended, or after
        `grace` beside it. The old one is closed with its last call.
        """
        changed = [*renewal.gone, *renewal.loaded]
        if renewal.searches_anew and self.alone is None:
            changed.append(RESERVED_PACK_NAME)
        old = {name: self._running.replace(name) for name in changed}
        self.inventory.renew(renewal)
        self.settings = self.inventory.settings
        self._slots.renew(self.settings.packs, self.settings.host.max_concurrency)
        for name in (*changed, *renewal.relisted):
            self.cache.forget(name)
        self._chain = self._made_chain()
        for name in changed:
            if name in self.packs:
                self._running.start(self.packs[name], after=old[name])
        self._look_for_keeper()
        self._tell_if_fatal()
        self.changes.of_condition()
        self.changes.of_lists()

    async def decided(self, names: Iterable[str]) -> None:
        """Wait until these packs are open, or have failed to be."""
        await self._arrivals.opened([self.packs[name] for name in names if name in self.packs])

    def _arrived(self, name: str, outcome: Outcome) -> None:
        """Take in a pack that was imported late."""
        self.inventory.take_in(name, outcome)
        self._tell_if_fatal()
        self._running.start(self.packs[name])
        self._look_for_keeper()
        self.changes.of_condition()
        self.changes.of_lists()

    def _is_heard_of(self, uri: str) -> bool:
        """Whether anything depends on a resource's change being heard of before an answer."""
        changes, cache = self.changes, self.cache
        return changes.are_all_heard or cache.is_used or self.watching.is_watched(uri)

    def _condition_changed(self, pack: Pack, condition: Condition) -> None:
        if self.packs.get(pack.name) is not pack:
            return  # another has its place
        was_listed = pack.condition.listed
        if condition.state == "failed":
            self._running.clear_offers(pack.name)
        self.inventory.change(pack, condition)
        self._tell_if_fatal()
        self.changes.of_condition()
        if condition.listed != was_listed:
            self._look_for_keeper()
            self.changes.of_lists()

    def left(self, whose: str) -> None:
        """Forget what there is of a caller whose connection has ended; on the host's loop.

        `whose` is the caller's `identity`, `connection:…`.
        """
        self.inventory.usage.forget(whose)
        if self._running.left(whose):
            self.inventory.lists.forget()

    def _tell_if_fatal(self) -> None:
        if self.fatal:
            self._fatal.set()

    def _listener(self, pack: Pack, health: Health, entries: OfferedEntries) -> HostListener:
        return HostListener(self.packs, self.changes, pack, health, entries)

    def _on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function on the host's loop, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    # Calls

    def context(
        self, caller: Caller | None = None, channel: ClientChannel | None = None
    ) -> Context:
        """Make a context for a new call, with a request id of its own."""
        return Context(self._request_ids.new(), caller or Caller(), channel=channel)

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        context: Context,
        asking: Asking = UNASKED,
        at_once: AtOnce | None = None,
    ) -> Coroutine[Any, Any, Answered]:
        """Call a tool by its public name; `at_once` may be given the answer before it is returned.

        As with prompts and resources, that is in the thread where the answer was made.
        """
        entry = self.catalog.find("tools", name, context.caller)
        call = Call("tool", name, entry, arguments, context, asking, at_once=at_once)
        return self._pass(call) if entry is not None else self._pass_late(call)

    async def _pass_late(self, call: Call) -> Answered:
        """Pass a call on whose tool may still arrive."""
        call.entry = await self._tool(call.name, call.context.caller)
        return await self._pass(call)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any],
        context: Context,
        asking: Asking = UNASKED,
        at_once: AtOnce | None = None,
    ) -> Answered:
        """Fill in a prompt by its public name."""
        entry = await self._found("prompts", name, context.caller)
        call = Call("prompt", name, entry, arguments, context, asking, at_once=at_once)
        return await self._pass(call)

    async def read(
        self,
        uri: str,
        context: Context,
        asking: Asking = UNASKED,
        at_once: AtOnce | None = None,
    ) -> Answered:
        """Read a resource by its URI."""
        entry, values = self.catalog.resource(uri, context.caller)
        if entry is None and await self._arrivals.listed(list(self.packs.values())):
            entry, values = self.catalog.resource(uri, context.caller)
        call = Call("resource", uri, entry, values, context, asking, at_once=at_once)
        return await self._pass(call)

    async def call_method(
        self, name: str, params: Mapping[str, Any], context: Context
    ) -> dict[str, Any]:
        """Serve a method or a notification of an extension; `ProtocolError` where it fails."""
        entry = self.catalog.methods.get(name)
        call = Call("method", name, entry, params, context, Asking())
        return (await self._pass(call)).data

    async def _tool(self, name: str, caller: Caller) -> Entry | None:
        return await self._found("tools", name, caller)

    async def _found(self, what: What, name: str, caller: Caller) -> Entry | None:
        entry = self.catalog.find(what, name, caller)
        if entry is None and await self._arrivals.listed(self.inventory.owners(name)):
            entry = self.catalog.find(what, name, caller)
        return entry

    async def _pass(self, call: Call) -> Answered:
        if self._long_calls.is_used:
            result = await self._long_calls(call, self._chain)
            if call.movable is not None:
                call.movable.let_go()
        else:
            result = await self._chain(call)
        if isinstance(result, Answered):
            return result
        required = {
            "resultType": "input_required",
            "requestState": result.state,
            "inputRequests": result.questions,
            "_meta": {REQUEST_ID_KEY: call.context.request_id},
        }
        return Answered(to_json(required), "input_required")

    def _look_for_keeper(self) -> None:
        """Note which pack gives handles to calls that run long, or that one may come that does."""
        found = self.catalog.long_calls.items()
        keepers = (Keeper(n, *how) for n, how in found if self.packs[n].condition.listed)
        self._long_calls.kept_by(next(keepers, None), may_come=self.inventory.is_loading)

    async def complete(
        self,
        ref: Mapping[str, Any],
        name: str,
        value: str,
        arguments: Mapping[str, str],
        caller: Caller,
    ) -> dict[str, Any]:
        """Propose values for an argument of a prompt (`ref.name`) or a template (`ref.uri`)."""
        return await self._completion.complete(ref, name, value, arguments, caller)

    def owner(self, uri: str, caller: Caller) -> str | None:
        """Return the pack whose resource this is to this caller; None where there is none."""
        entry, _ = self.catalog.resource(uri, caller)
        return None if entry is None else entry.pack

    def check_access(self, uri: str, caller: Caller) -> None:
        """Raise `PermissionDenied` where this caller may not watch this resource."""
        entry, values = self.catalog.resource(uri, caller)
        if entry is not None:
            check(entry, caller)
            check_whose(entry, values, caller)
