"""Packs, settings and middleware as one host: lists, calls, and the packs' opening and closing."""

from __future__ import annotations

import asyncio
import base64
import binascii
import inspect
import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import platformdirs

from . import __version__
from .calls import Call, Wire
from .catalog import Catalog, Entry, Naming, What
from .context import Caller, Context, Way
from .contributions import Resource
from .errors import INVALID_PARAMS, ProtocolError, TimedOut, Unavailable, as_protocol_error
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
from .packs import Declared, Failure, Loading, Offer, Outcome
from .running import Condition, Explained, PackHandle, Runtime
from .settings import PackTable, Settings

log = logging.getLogger("mcp_host")

COMPLETION_LIMIT = 100
COMPLETION_TIMEOUT = 5.0
LISTS_CHANGED = "lists"
PACKS_URI = "host://packs"

Listener = Callable[[str], None]
"""Hears the URI of a resource that changed, or `LISTS_CHANGED`; called on the host's loop."""


class RequiredPackFailed(Exception):
    """A pack without which the host must not serve has failed; the message says why."""


@dataclass
class Pack:
    """One pack of the settings file: what is known of it, from loading to closing."""

    name: str
    table: PackTable
    condition: Condition
    declared: Declared | None = None
    runtime: Runtime | None = None
    was_listed: bool = True

    @property
    def now(self) -> Condition:
        """Its condition at this moment."""
        return self.runtime.condition if self.runtime is not None else self.condition

    @property
    def is_loading(self) -> bool:
        """Whether it is being imported still."""
        return self.runtime is None and self.condition.code == "loading"

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


class Host:
    """Loads packs, opens them, and serves their contributions behind the middleware.

    `alone` names the one pack of a stand-alone server: its names get no prefix and nothing of the
    host shows. `exposed` says that the host is reachable from other machines. `offers` tells where
    the packs are, in place of the metadata of what is installed. `retries` opens a pack again that
    could not be opened; a command that ends soon does without.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        alone: str | None = None,
        exposed: bool = False,
        offers: Mapping[str, Sequence[Offer]] | None = None,
        retries: bool = True,
    ) -> None:
        self.settings, self.alone, self._exposed = settings, alone, exposed
        self._offers, self._retries = offers, retries
        self.catalog = Catalog()
        self.packs: dict[str, Pack] = {}
        self.fatal: str | None = None
        self._fatal_event = asyncio.Event()
        self._listeners: list[Listener] = []
        self._openings: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._late: list[tuple[str, Outcome]] = []
        self._arrival = threading.Condition()
        self._lists: dict[What, list[Entry]] = {}
        runtime = self._runtime
        self._call = fold(
            [
                request_id,
                log_calls,
                Answer(lambda: self.settings.secrets),
                policy,
                Validation(self._known_names, self._why_missing, runtime),
                Opening(runtime),
                Questions(runtime, settings.host.asking_timeout),
                Deadline(settings.packs, settings.host.timeout),
                Slots(settings.packs, settings.host.max_concurrency),
            ],
            Run(runtime),
        )

    # -- loading and opening

    def load(self) -> None:
        """Import, check and ask the enabled packs; may run in any thread, before `open`.

        Raises `RequiredPackFailed`. A pack that fails, or is slow, does not hold up the others.
        """
        for name, table in self.settings.packs.items():
            if not table.enabled:
                self.packs[name] = Pack(
                    name, table, Condition("disabled", "disabled", "the settings disable it")
                )
            else:
                imported = Condition("opening", "loading", "it is being imported")
                self.packs[name] = Pack(name, table, imported)
        if self.alone is None:
            self._add_own_pack()
        loading = Loading(self.settings, self._arrives_late, self._offers)
        for name, outcome in loading.load().items():
            if outcome is not None:
                self._take_in(name, outcome)
        if self.fatal:
            raise RequiredPackFailed(self.fatal)

    def wait_loaded(self) -> None:
        """Wait until every pack is imported or given up; after `load`, before `open`."""
        loading = sum(pack.is_loading for pack in self.packs.values())
        with self._arrival:
            self._arrival.wait_for(lambda: len(self._late) == loading)
            late, self._late = self._late, []
        for name, outcome in late:
            self._take_in(name, outcome)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Begin to open every loaded pack; returns at once, lists and calls can be served."""
        with self._arrival:
            self._loop = asyncio.get_running_loop()
            late, self._late = self._late, []
        for pack in self.packs.values():
            self._start(pack)
        for name, outcome in late:
            self._arrived(name, outcome)

    @property
    def is_loading(self) -> bool:
        """Whether a pack is being imported still."""
        return any(pack.is_loading for pack in self.packs.values())

    async def settled(self) -> None:
        """Wait until every pack has been loaded and opened, or has failed to."""
        await self._decided(list(self.packs.values()))

    async def required_decided(self) -> None:
        """Wait until every required pack has been loaded and opened, or has failed to."""
        await self._decided([pack for pack in self.packs.values() if self._is_required(pack)])

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

    def _arrives_late(self, name: str, outcome: Outcome) -> None:
        with self._arrival:
            loop = self._loop
            if loop is None:
                self._late.append((name, outcome))
                self._arrival.notify_all()
                return
        loop.call_soon_threadsafe(self._arrived, name, outcome)

    def _arrived(self, name: str, outcome: Outcome) -> None:
        self._take_in(name, outcome)
        self._start(self.packs[name])
        self._emit(PACKS_URI)
        self._lists_changed()

    def _take_in(self, name: str, outcome: Outcome) -> None:
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
            pack.condition = self._redacted(failure.condition)
            self._log_condition(pack)
            self._check_required(pack)
            return
        pack.declared = outcome
        pack.runtime = self._make_runtime(pack, outcome)
        self._lists.clear()

    def _refuse_exposed(self, declared: Declared) -> None:
        if self._exposed and declared.acts_as_server_user and not declared.table.shared:
            raise Failure(
                "not_shared",
                "it works on the files of the user who runs this server, and the server can be "
                "reached from other machines",
                f"if every caller may use them, set shared = true in [packs.{declared.name}]",
            )

    def _make_runtime(self, pack: Pack, declared: Declared) -> Runtime:
        handle = PackHandle(
            declared.name,
            changed=partial(self._from_pack, self._emit),
            lists_changed=partial(self._from_pack, self._lists_changed),
            condition=partial(self._from_pack, self._reported, pack),
            public_name=Naming(declared, self.alone is None).public,
            folders=(
                platformdirs.user_data_path("mcp-host") / declared.name,
                platformdirs.user_cache_path("mcp-host") / declared.name,
            ),
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
        if pack.runtime is not None and pack.name not in self._openings:
            self._openings[pack.name] = asyncio.create_task(pack.runtime.open())

    def _from_pack(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function of the host's loop from a pack's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _reported(self, pack: Pack, condition: Condition | None) -> None:
        if pack.runtime is not None:
            pack.runtime.report(self._redacted(condition) if condition else None)

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

    def _redacted(self, condition: Condition) -> Condition:
        redact = self.settings.secrets.redact
        return Condition(
            condition.state, condition.code, redact(condition.reason), redact(condition.remedy)
        )

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
        self._lists.clear()
        self._emit(LISTS_CHANGED)

    def _condition_changed(self, pack: Pack) -> None:
        self._log_condition(pack)
        self._check_required(pack)
        self._emit(PACKS_URI)
        listed = pack.now.listed
        if listed != pack.was_listed:
            pack.was_listed = listed
            self._lists_changed()

    def _is_required(self, pack: Pack) -> bool:
        return pack.table.required or pack.name == self.alone

    def _is_retried(self, pack: Pack) -> bool:
        return self._retries and not self._is_required(pack)

    def _check_required(self, pack: Pack) -> None:
        if pack.now.state == "failed" and self._is_required(pack):
            self.fatal = self.fatal or _sentence(pack)
            self._fatal_event.set()

    def _log_condition(self, pack: Pack) -> None:
        condition = pack.now
        quiet = condition.state in ("ready", "opening", "disabled")
        level = logging.DEBUG if quiet else logging.WARNING
        log.log(level, "%s", _sentence(pack), extra={"pack": pack.name, "code": condition.code})

    # -- lists

    def visible(self, what: What, caller: Caller) -> list[Mapping[str, Any]]:
        """One list whole, as this caller may see it."""
        entries = self._lists.get(what)
        if entries is None:
            entries = [
                entry
                for entry in self.catalog.entries(what)
                if self._runtime(entry.pack).condition.listed and not entry.refusal
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

    # -- calls

    def context(self, caller: Caller | None = None, way: Way | None = None) -> Context:
        """A context for a new call, with a request id of its own."""
        return Context(str(uuid.uuid4()), caller or Caller(), way=way, on_changed=self.changed)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context, **asking: Any
    ) -> Wire:
        """Call a tool by its public name."""
        entry = self.catalog.tools.get(name)
        if entry is None and await self._loaded(self._owners(name)):
            entry = self.catalog.tools.get(name)
        return await self._call(Call("tool", name, entry, arguments, context, **asking))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, Any], context: Context, **asking: Any
    ) -> Wire:
        """Fill in a prompt by its public name."""
        entry = self.catalog.prompts.get(name)
        if entry is None and await self._loaded(self._owners(name)):
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
        for pack in self._owners(call.name):
            if pack.now.state == "failed" and may_read(pack.name, call.context.caller):
                return unavailable(pack.name, pack.now)
        return None

    def _owners(self, name: str) -> list[Pack]:
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
        self.packs["host"] = Pack("host", own.table, Condition("opening"))
        self._take_in("host", own)


def _sentence(pack: Pack) -> str:
    condition = pack.now
    text = f"pack {pack.name} is {condition.state}"
    if condition.reason:
        text += f": {condition.reason}"
    if condition.remedy:
        text += f" ({condition.remedy})"
    return text


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
