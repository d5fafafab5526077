"""Packs, settings and middleware as one host: opens its packs, and passes calls to them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from pydantic_core import to_json

from .declarations.context import Caller, ClientChannel, Context
from .declarations.resource import Resource
from .errors import (
    INVALID_PARAMS,
    REQUEST_ID_KEY,
    CallError,
    ProtocolError,
    TimedOut,
    Unavailable,
    as_protocol_error,
)
from .middleware.answer import ErrorEnvelope
from .middleware.audit import Audit
from .middleware.audit_file import AuditFile
from .middleware.cache import Cache
from .middleware.call import UNASKED, Asking, AtOnce, Call
from .middleware.chain import Chain
from .middleware.confirm import Confirm, is_confirmed
from .middleware.deadline import Deadline
from .middleware.feed import Feed
from .middleware.log import log as log_calls
from .middleware.long_calls import Keeper, LongCallHandles
from .middleware.names import Names
from .middleware.opening import Opening, unavailable, wait_until_open
from .middleware.outcomes import OutcomeListener, Outcomes
from .middleware.own_methods import OwnMethods
from .middleware.policy import policy
from .middleware.questions import Questions
from .middleware.rates import Rates
from .middleware.request_id import new_request_id, request_id
from .middleware.run import Run
from .middleware.search import Search
from .middleware.slots import Slots
from .middleware.transforms import transforms
from .middleware.usage import UsageAccount
from .packs.access import allows, check, check_whose, may_read
from .packs.conditions import Condition
from .packs.declared import Outcome
from .packs.entry import Entry, What
from .packs.inventory import Inventory, Pack
from .packs.own_pack import PACKS_URI
from .packs.renewal import Renewal
from .runtime.health import Health
from .runtime.lifecycle import Lifecycle
from .runtime.messages import Answered, ListChange, ProposalsMessage, Proposed
from .runtime.notices import Notice, Notices
from .runtime.offered import OfferedEntries
from .runtime.running import RunningPacks
from .runtime.side import as_call_error
from .settings.tables import RESERVED_PACK_NAME

log = logging.getLogger("mcp_host")

COMPLETION_LIMIT = 100
COMPLETION_TIMEOUT = 5.0
LISTS_CHANGED = "lists"

ChangeListener = Callable[[str], None]
"""Hears the URI of a resource that changed, or `LISTS_CHANGED`; called on the host's loop."""


class Host:
    """Opens the packs of a loaded inventory, and serves what they contribute.

    `retries` opens a pack again that could not be opened; a command that ends soon does without.

    Every pack of the inventory that has been loaded is among the running ones from `open` on; one
    that is imported late from when it arrives. All methods belong to the loop that `open` was
    called on.

    Invariants: `packs`, `catalog` and `settings` are those of the `inventory`, and `_chain` is made
    of them; `renew` alone changes settings and chain, both at once. Once `fatal` says why the host
    must end, `_fatal` is set. `is_closing` never changes back.
    """

    def __init__(self, inventory: Inventory, *, retries: bool = True) -> None:
        self.inventory = inventory
        self.settings = inventory.settings
        self.alone = inventory.alone
        self.packs = inventory.packs
        self.catalog = inventory.catalog
        self._running = RunningPacks(
            inventory, partial(_PackListener, self), self._condition_changed, retries=retries
        )
        self._notices = Notices(self._running.publish, self._running.has_bus)
        self._fatal = asyncio.Event()
        self._listeners: list[ChangeListener] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        host = self.settings.host
        self.is_closing = False
        self.cache = Cache()
        self._slots = Slots(self.settings.packs, host.max_concurrency)
        self._accounts: list[OutcomeListener] = [log_calls, UsageAccount(inventory.usage)]
        self._audit: AuditFile | None = None
        if host.audit is not None:
            self._audit = AuditFile(host.audit, host.audit_max_bytes, host.audit_keep)
            self._accounts.append(Audit(self._audit.write))
        self._rates = Rates()
        self.feed = Feed(self.settings.secrets)
        self.own_methods = OwnMethods(self._running.lifecycles.__getitem__, host.max_answer_bytes)
        self._long_calls = LongCallHandles(
            self._keeper_of_long_calls,
            self.own_methods,
            self.settings.secrets,
            host.asking_timeout,
        )
        self._chain = self._made_chain()

    def keep_account(self, listener: OutcomeListener) -> None:
        """Have a listener hear from now on how every call ended."""
        self._accounts.append(listener)

    def places(self) -> list[tuple[str, int, int]]:
        """Each pack that has places, with how many calls have one and how many wait; any thread."""
        return self._slots.places()

    def limit_calls(self, per_minute: int) -> None:
        """Let each caller make so many calls a minute."""
        self._rates.limit(per_minute)
        self._chain = self._made_chain()

    def _made_chain(self) -> Chain:
        """What every call passes, by the settings as they are now."""
        settings, inventory = self.settings, self.inventory
        host = settings.host
        find, cache, slots = partial(self._found, "tools"), self.cache, self._slots
        rates = self._rates
        feed = self.feed
        tables = settings.packs.values()
        cache.is_used = any(tool.cache for table in tables for tool in table.tools.values())
        return Chain(
            [
                request_id,
                feed,
                Outcomes(self._accounts),
                ErrorEnvelope(settings.secrets),
                rates,
                Search(inventory.search_tools, partial(inventory.lists.everything, "tools"), find),
                policy,
                Names(self._known_names, self._why_missing),
                transforms,
                Opening(self._running.lifecycles.__getitem__),
                Questions(host.asking_timeout),
                Confirm(host.confirm),
                cache,
                Deadline(settings.packs, host.timeout),
                slots,
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
        self._running.open(in_turn=in_turn)
        self.inventory.follow(partial(self._on_loop, self._arrived))

    async def imported(self) -> bool:
        """Wait until every pack is imported, or has failed to be; return whether one was late."""
        return await self._loaded(list(self.packs.values()))

    async def settled(self) -> None:
        """Wait until every pack has been loaded and opened, or has failed to."""
        await self._decided(list(self.packs.values()))

    async def required_decided(self) -> None:
        """Wait until every required pack has been loaded and opened, or has failed to."""
        is_required = self.inventory.is_required
        await self._decided([pack for pack in self.packs.values() if is_required(pack)])

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
        self._tell_if_fatal()
        self.emit(PACKS_URI)
        self.forget_lists()

    async def decided(self, names: Iterable[str]) -> None:
        """Wait until these packs are open, or have failed to be."""
        await self._decided([self.packs[name] for name in names if name in self.packs])

    async def _decided(self, packs: Sequence[Pack]) -> None:
        await self._loaded(packs)
        await self._running.decided(packs)

    async def _loaded(self, packs: Sequence[Pack]) -> bool:
        """Wait until these packs are imported; return whether there was anything to wait for."""
        if not any(pack.is_loading for pack in packs):
            return False
        changed = asyncio.Event()
        stop = self.listen(lambda _: changed.set())
        try:
            while any(pack.is_loading for pack in packs):
                changed.clear()
                await changed.wait()
        finally:
            stop()
        return True

    def _arrived(self, name: str, outcome: Outcome) -> None:
        """Take in a pack that was imported late."""
        self.inventory.take_in(name, outcome)
        self._tell_if_fatal()
        self._running.start(self.packs[name])
        self.emit(PACKS_URI)
        self.forget_lists()

    def _condition_changed(self, pack: Pack, condition: Condition) -> None:
        if self.packs.get(pack.name) is not pack:
            return  # another has its place
        was_listed = pack.condition.listed
        if condition.state == "failed":
            self._running.clear_offers(pack.name)
        self.inventory.change(pack, condition)
        self._tell_if_fatal()
        self.emit(PACKS_URI)
        if condition.listed != was_listed:
            self.forget_lists()

    def left(self, whose: str) -> None:
        """Forget what was offered to a caller whose connection has ended; on the host's loop."""
        self.inventory.usage.forget(whose)
        if self._running.left(whose):
            self.inventory.lists.forget()

    def _tell_if_fatal(self) -> None:
        if self.fatal:
            self._fatal.set()

    # What changes

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Hear of changes, until the returned function is called."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def _on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function on the host's loop, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def emit(self, what: str) -> None:
        """Tell every listener; on the host's loop."""
        for listener in list(self._listeners):
            listener(what)

    def tell(self, notice: Notice) -> None:
        """Tell what a pack says has changed, here and to other processes."""
        self._take(notice)
        self._notices.tell(notice)

    def heard(self, text: str) -> None:
        """Tell here what another process tells, if a pack of this one is concerned."""
        notice = self._notices.read(text)
        if notice is not None and notice.pack in self.packs:
            self._take(notice)

    def _take(self, notice: Notice) -> None:
        if notice.uri:
            self.cache.forget(notice.pack)
            self.emit(notice.uri)
        else:
            self.forget_lists()

    def forget_lists(self) -> None:
        """Make the lists anew, and say so; on the host's loop."""
        self.inventory.lists.forget()
        self.emit(LISTS_CHANGED)

    # Calls

    def context(
        self, caller: Caller | None = None, channel: ClientChannel | None = None
    ) -> Context:
        """Make a context for a new call, with a request id of its own."""
        return Context(new_request_id(), caller or Caller(), channel=channel)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        context: Context,
        asking: Asking = UNASKED,
        at_once: AtOnce | None = None,
    ) -> Answered:
        """Call a tool by its public name; `at_once` may be given the answer before it is returned.

        As with prompts and resources, that is in the thread where the answer was made.
        """
        entry = self.catalog.find("tools", name, context.caller)
        entry = entry or await self._found("tools", name, context.caller)
        call = Call("tool", name, entry, arguments, context, asking, at_once=at_once)
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
        if entry is None and await self._may_come(list(self.packs.values())):
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

    async def _found(self, what: What, name: str, caller: Caller) -> Entry | None:
        entry = self.catalog.find(what, name, caller)
        if entry is None and await self._may_come(self.inventory.owners(name)):
            entry = self.catalog.find(what, name, caller)
        return entry

    async def _may_come(self, packs: Sequence[Pack]) -> bool:
        """Wait until these packs are imported, and those open that add to their lists.

        Return whether there was anything to wait for.
        """
        waited = await self._loaded(packs)
        return await self._running.offered(packs) or waited

    async def _pass(self, call: Call) -> Answered:
        if self.catalog.long_calls:
            result = await self._long_calls(call, self._chain)
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

    def _keeper_of_long_calls(self) -> Keeper | None:
        for name, (identifier, how) in self.catalog.long_calls.items():
            if self.packs[name].condition.listed:
                return Keeper(name, identifier, how)
        return None

    async def complete(
        self,
        ref: Mapping[str, Any],
        name: str,
        value: str,
        arguments: Mapping[str, str],
        caller: Caller,
    ) -> dict[str, Any]:
        """Propose values for an argument of a prompt (`ref.name`) or a template (`ref.uri`)."""
        if ref.get("type") == "ref/prompt":
            entry = self.catalog.find("prompts", str(ref.get("name")), caller)
        else:
            uri = str(ref.get("uri"))
            entry = self.catalog.find("resourceTemplates", uri, caller)
            entry = entry or self.catalog.find("resources", uri, caller)
        if entry is None or not allows(entry, caller):
            what = ref.get("name") or ref.get("uri")
            raise ProtocolError(INVALID_PARAMS, f"Unknown reference: {str(what)[:200]}")
        proposed = Proposed((), 0)
        if name in entry.contribution.signature.proposals:
            proposed = await self._proposals(entry, name, value, arguments)
        return {
            "completion": {
                "values": list(proposed.values),
                "total": proposed.total,
                "hasMore": proposed.total > len(proposed.values),
            }
        }

    async def _proposals(
        self, entry: Entry, argument: str, value: str, given: Mapping[str, str]
    ) -> Proposed:
        contribution = entry.contribution
        is_resource = isinstance(contribution, Resource)
        message = ProposalsMessage(
            kind="resource" if is_resource else "prompt",
            key=entry.target,
            argument=argument,
            value=value,
            given=given,
            limit=COMPLETION_LIMIT,
        )
        pack = self.running[entry.pack]
        error: CallError
        try:
            async with asyncio.timeout(COMPLETION_TIMEOUT):
                await wait_until_open(pack)
                reply = await pack.worker.propose(message)
            if isinstance(reply, Proposed):
                return reply
            error = as_call_error(reply)
            log.warning("completion of %s failed", entry.name, extra={"traceback": reply.traceback})
        except TimeoutError:
            error = TimedOut(f"The proposals took longer than {COMPLETION_TIMEOUT:g} s")
        except CallError as raised:
            error = raised
        envelope = self.settings.secrets.redact_data(error.envelope(str(uuid.uuid4())))
        raise as_protocol_error(error, envelope) from None

    def owner(self, uri: str, caller: Caller) -> str | None:
        """Return the pack whose resource this is to this caller; None where there is none."""
        entry, _ = self.catalog.resource(uri, caller)
        return None if entry is None else entry.pack

    def watched(self, pack: str, uris: frozenset[str]) -> None:
        """Let a pack know which of its resources clients watch now; on the host's loop."""
        self._running.watched(pack, uris)

    def check_access(self, uri: str, caller: Caller) -> None:
        """Raise `PermissionDenied` where this caller may not watch this resource."""
        entry, values = self.catalog.resource(uri, caller)
        if entry is not None:
            check(entry, caller)
            check_whose(entry, values, caller)

    def _known_names(self, call: Call) -> list[str]:
        """Return the names that this caller may use, of the kind that the call is of.

        Those of resources are their URIs and the templates of such.
        """
        caller = call.context.caller
        if call.kind == "resource":
            templates = self.visible("resourceTemplates", caller)
            return [
                *(str(item["uri"]) for item in self.visible("resources", caller)),
                *(str(item["uriTemplate"]) for item in templates),
            ]
        if call.kind == "method":
            return list(self.catalog.methods)
        what: What = "tools" if call.kind == "tool" else "prompts"
        return [str(item["name"]) for item in self.visible(what, caller)]

    def _why_missing(self, call: Call) -> Unavailable | None:
        """Say why nothing has this name, where it would be a name of a pack that has failed."""
        if call.kind == "resource":
            return None  # a URI does not tell whose it would be
        for pack in self.inventory.owners(call.name):
            if pack.condition.state == "failed" and may_read(pack.name, call.context.caller):
                return unavailable(pack.name, pack.condition)
        return None


class _PackListener:
    """Passes on what one pack says outside its answers."""

    def __init__(self, host: Host, pack: Pack, health: Health, entries: OfferedEntries) -> None:
        self._host = host
        self._pack = pack
        self._health = health
        self._entries = entries

    def changed(self, uri: str) -> None:
        self._host.tell(Notice(self._pack.name, uri))

    def lists_changed(self) -> None:
        self._host.tell(Notice(self._pack.name, ""))

    def heard(self, notice: str) -> None:
        if self._host.packs.get(self._pack.name) is self._pack:  # else another has its place
            self._host.heard(notice)

    def list_changes(self, changes: Sequence[ListChange]) -> None:
        if self._host.packs.get(self._pack.name) is not self._pack:
            return  # another has its place
        self._entries.apply(changes)
        self._health.refused(self._entries.refusal)
        self._host.forget_lists()

    def reported(self, condition: Condition | None) -> None:
        self._health.reported(condition)

    def dropped(self, count: int) -> None:
        log.warning(
            "pack %s: %d changes were too many at once, and dropped", self._pack.name, count
        )
