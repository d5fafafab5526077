"""An inventory at work: opens and closes its packs, and passes calls through the middleware."""

from __future__ import annotations

import asyncio
import inspect
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from . import folders
from .calls import Call, Wire
from .catalog import Entry, Naming, What
from .conditions import Condition
from .context import Caller, Context, Way
from .errors import INVALID_PARAMS, ProtocolError, TimedOut, Unavailable, as_protocol_error
from .inventory import PACKS_URI, Inventory, Pack
from .middleware import fold
from .middleware.answer import Answer, as_error
from .middleware.deadline import Deadline
from .middleware.log import log as log_calls
from .middleware.opening import Opening, opened, unavailable
from .middleware.policy import allows, check, may_read, policy
from .middleware.questions import Questions
from .middleware.request_id import request_id
from .middleware.run import Run
from .middleware.slots import Slots
from .middleware.validation import Validation
from .packs import Declared, Outcome
from .running import Explained, PackHandle, Runtime

log = logging.getLogger("mcp_host")

COMPLETION_LIMIT = 100
COMPLETION_TIMEOUT = 5.0
LISTS_CHANGED = "lists"

Listener = Callable[[str], None]
"""Hears the URI of a resource that changed, or `LISTS_CHANGED`; called on the host's loop."""


class Host:
    """Opens the packs of a loaded inventory, and serves what they contribute.

    `retries` opens a pack again that could not be opened; a command that ends soon does without.
    """

    def __init__(self, inventory: Inventory, *, retries: bool = True) -> None:
        self.inventory, self._retries = inventory, retries
        self.settings, self.alone = inventory.settings, inventory.alone
        self.packs, self.catalog = inventory.packs, inventory.catalog
        self.visible, self.page, self.report = inventory.visible, inventory.page, inventory.report
        self.input_schema = inventory.input_schema
        self._fatal_event = asyncio.Event()
        self._listeners: list[Listener] = []
        self._openings: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        runtime, settings = self._runtime, inventory.settings
        self._call = fold(
            [
                request_id,
                log_calls,
                Answer(lambda: settings.secrets),
                policy,
                Validation(self._known_names, self._why_missing, runtime),
                Opening(runtime),
                Questions(runtime, settings.host.asking_timeout),
                Deadline(settings.packs, settings.host.timeout),
                Slots(settings.packs, settings.host.max_concurrency),
            ],
            Run(runtime),
        )

    @property
    def fatal(self) -> str | None:
        """Why the host must end; None while it need not."""
        return self.inventory.fatal

    @property
    def instructions(self) -> str | None:
        """What models should know of the packs."""
        return self.inventory.instructions

    # -- opening and closing

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Begin to open every loaded pack; returns at once, lists and calls can be served."""
        self._loop = asyncio.get_running_loop()
        for pack in self.packs.values():
            self._start(pack)
        self.inventory.follow(partial(self._from_pack, self._arrived))

    async def settled(self) -> None:
        """Wait until every pack has been loaded and opened, or has failed to."""
        await self._decided(list(self.packs.values()))

    async def required_decided(self) -> None:
        """Wait until every required pack has been loaded and opened, or has failed to."""
        is_required = self.inventory.is_required
        await self._decided([pack for pack in self.packs.values() if is_required(pack)])

    async def _decided(self, packs: Sequence[Pack]) -> None:
        await self._loaded(packs)
        await asyncio.gather(*(pack.runtime.decided() for pack in packs if pack.runtime))

    async def _loaded(self, packs: Sequence[Pack]) -> bool:
        """Wait until these packs are imported; whether there was anything to wait for."""
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

    async def failed(self) -> str:
        """Wait until a required pack fails; why it did."""
        await self._fatal_event.wait()
        return self.fatal or ""

    async def close(self) -> None:
        """Close every pack, all at once, each within its time."""
        for task in self._openings.values():
            task.cancel()
        await asyncio.gather(*self._openings.values(), return_exceptions=True)
        runtimes = [pack.runtime for pack in self.packs.values() if pack.runtime]
        await asyncio.gather(*(runtime.close() for runtime in runtimes), return_exceptions=True)

    def _arrived(self, name: str, outcome: Outcome) -> None:
        self.inventory.take_in(name, outcome)
        self._tell_if_fatal()
        self._start(self.packs[name])
        self._emit(PACKS_URI)
        self._lists_changed()

    def _make_runtime(self, pack: Pack, declared: Declared) -> Runtime:
        handle = PackHandle(
            declared.name,
            changed=partial(self._from_pack, self._emit),
            lists_changed=partial(self._from_pack, self._lists_changed),
            condition=partial(self._from_pack, self._reported, pack),
            public_name=Naming(declared, self.alone is None).public,
            folders=(Path(folders.data()) / pack.name, Path(folders.cache()) / pack.name),
            secret_variables=self.settings.secrets.variables,
        )
        return Runtime(
            declared.name,
            declared.opens,
            handle,
            partial(self._condition_changed, pack),
            lambda error: self._describe(error, declared),
            open_timeout=self.settings.host.start_timeout,
            retry_after=self.settings.host.retry_after if self._is_retried(pack) else None,
            close_timeout=self.settings.host.grace,
        )

    def _start(self, pack: Pack) -> None:
        if pack.declared is not None and pack.name not in self._openings:
            pack.runtime = self._make_runtime(pack, pack.declared)
            self._openings[pack.name] = asyncio.create_task(pack.runtime.open())

    def _from_pack(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function of the host's loop from a pack's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _reported(self, pack: Pack, condition: Condition | None) -> None:
        if pack.runtime is not None:
            pack.runtime.report(self.inventory.redacted(condition) if condition else None)

    def _describe(self, error: BaseException, declared: Declared) -> Explained:
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        known = as_error(error, declared.errors)
        redact = self.settings.secrets.redact
        if known.code == "internal_error":
            remedy = "see to what the reason names; the log of `mcp-host serve` has the traceback"
            hint = "" if self.alone else remedy
            return Explained(redact(f"{type(error).__name__}: {error}"), hint)
        return Explained(redact(str(known)), redact("; ".join(known.suggestions)), expected=True)

    # -- what changes

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear of changes, until the returned function is called."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def changed(self, uri: str) -> None:
        """Say that a resource changed; safe in any thread."""
        self._from_pack(self._emit, uri)

    def _emit(self, what: str) -> None:
        for listener in list(self._listeners):
            listener(what)

    def _lists_changed(self) -> None:
        self.inventory.forget_lists()
        self._emit(LISTS_CHANGED)

    def _condition_changed(self, pack: Pack) -> None:
        self.inventory.noticed(pack)
        self._tell_if_fatal()
        self._emit(PACKS_URI)
        listed = pack.now.listed
        if listed != pack.was_listed:
            pack.was_listed = listed
            self._lists_changed()

    def _tell_if_fatal(self) -> None:
        if self.fatal:
            self._fatal_event.set()

    def _is_retried(self, pack: Pack) -> bool:
        return self._retries and not self.inventory.is_required(pack)

    # -- calls

    def context(self, caller: Caller | None = None, way: Way | None = None) -> Context:
        """A context for a new call, with a request id of its own."""
        return Context(str(uuid.uuid4()), caller or Caller(), way=way, on_changed=self.changed)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context, **asking: Any
    ) -> Wire:
        """Call a tool by its public name."""
        entry = self.catalog.tools.get(name)
        if entry is None and await self._loaded(self.inventory.owners(name)):
            entry = self.catalog.tools.get(name)
        return await self._call(Call("tool", name, entry, arguments, context, **asking))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, Any], context: Context, **asking: Any
    ) -> Wire:
        """Fill in a prompt by its public name."""
        entry = self.catalog.prompts.get(name)
        if entry is None and await self._loaded(self.inventory.owners(name)):
            entry = self.catalog.prompts.get(name)
        return await self._call(Call("prompt", name, entry, arguments, context, **asking))

    async def read(self, uri: str, context: Context, **asking: Any) -> Wire:
        """Read a resource by its URI."""
        entry, values = self.catalog.resource(uri)
        if entry is None and await self._loaded(list(self.packs.values())):
            entry, values = self.catalog.resource(uri)
        return await self._call(Call("resource", uri, entry, values, context, **asking))

    async def complete(
        self,
        ref: Mapping[str, Any],
        name: str,
        value: str,
        arguments: Mapping[str, str],
        caller: Caller,
    ) -> Wire:
        """Propose values for an argument of a prompt (`ref.name`) or a template (`ref.uri`)."""
        if ref.get("type") == "ref/prompt":
            entry = self.catalog.prompts.get(str(ref.get("name")))
        else:
            uri = str(ref.get("uri"))
            entry = self.catalog.templates.get(uri) or self.catalog.resources.get(uri)
        if entry is None or not allows(entry, caller):
            what = ref.get("name") or ref.get("uri")
            raise ProtocolError(INVALID_PARAMS, f"Unknown reference: {str(what)[:200]}")
        proposals = entry.contribution.signature.proposals
        if name not in proposals:
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
        values = await self._proposals(entry, proposals[name], value, arguments)
        return {
            "completion": {
                "values": values[:COMPLETION_LIMIT],
                "total": len(values),
                "hasMore": len(values) > COMPLETION_LIMIT,
            }
        }

    async def _proposals(
        self, entry: Entry, propose: Any, value: str, arguments: Mapping[str, str]
    ) -> list[str]:
        runtime = self._runtime(entry.pack)
        parameters = inspect.signature(propose).parameters.values()
        service = any(p.kind is p.POSITIONAL_ONLY for p in parameters)
        named: dict[str, Any] = {}
        if "arguments" in {p.name for p in parameters}:
            named["arguments"] = dict(arguments)
        scope = asyncio.timeout(COMPLETION_TIMEOUT)
        try:
            async with scope:
                await opened(runtime)
                given = (runtime.service, value) if service else (value,)
                return [str(text) for text in await runtime.run(propose, *given, **named)]
        except Exception as raised:
            error = as_error(raised, entry.errors)
            if scope.expired():
                error = TimedOut(f"The proposals took longer than {COMPLETION_TIMEOUT:g} s")
            log.warning("completion of %s failed", entry.name, exc_info=raised)
            envelope = error.envelope(str(uuid.uuid4()))
            shown = self.settings.secrets.redact_data(envelope)
            raise as_protocol_error(error, shown) from None

    def check_access(self, uri: str, caller: Caller) -> None:
        """`McpHostError` where this caller may not watch this resource."""
        entry, _ = self.catalog.resource(uri)
        if entry is not None:
            check(entry, caller)

    def _runtime(self, name: str) -> Runtime:
        runtime = self.packs[name].runtime
        assert runtime is not None  # an entry of the catalog has a pack that was loaded
        return runtime

    def _known_names(self, call: Call) -> list[str]:
        what: What = "tools" if call.kind == "tool" else "prompts"
        if call.kind == "resource":
            return [str(r["uri"]) for r in self.visible("resources", call.context.caller)]
        return [str(item["name"]) for item in self.visible(what, call.context.caller)]

    def _why_missing(self, call: Call) -> Unavailable | None:
        """Why nothing has this name, where it would be a name of a pack that has failed."""
        if call.kind == "resource":
            return None  # a URI does not tell whose it would be
        for pack in self.inventory.owners(call.name):
            if pack.now.state == "failed" and may_read(pack.name, call.context.caller):
                return unavailable(pack.name, pack.now)
        return None
