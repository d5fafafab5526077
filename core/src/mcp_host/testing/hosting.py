"""A host in the test's own process: real packs, the whole middleware, no protocol between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..declarations.context import Caller, Context, Level
from ..errors import ERROR_KEY, Cancelled, ProtocolError
from ..host import LISTS_CHANGED, Host
from ..middleware.call import Asking, until_answered
from ..packs.declared import Offer
from ..packs.inventory import Inventory
from ..runtime.messages import Answered
from ..settings.loading import Settings, parse
from ..startup.protocol import HANDSHAKE_VERSIONS
from .objects import PackSource, name_of, plugin_modules
from .person import Person


class CallFailed(AssertionError):
    """A call that ended in the error envelope; its fields are attributes of `envelope`."""

    def __init__(self, envelope: Mapping[str, Any]) -> None:
        words = f"{envelope.get('code')}: {envelope.get('error')}"
        if envelope.get("requiredCapabilities"):
            words += "; a test answers it with a Person: seen_by(person=Person())"
        super().__init__(words)
        self.envelope = dict(envelope)

    @property
    def code(self) -> str:
        return str(self.envelope.get("code"))


def returned(result: Mapping[str, Any]) -> Any:
    """What a tool returned: its structured content, else its text; `CallFailed` for an error."""
    if result.get("isError"):
        raise CallFailed(result["_meta"][ERROR_KEY])
    if "structuredContent" in result:
        structured = result["structuredContent"]
        return structured["result"] if set(structured) == {"result"} else structured
    return "".join(part.get("text", "") for part in result["content"])


def _failed(error: ProtocolError) -> CallFailed:
    """What a client gets of a protocol error: the envelope in it, else its number as the code."""
    return CallFailed({"error": str(error), "code": error.number, **(error.data or {})})


class _Heard:
    """What a call told its client on the way."""

    wants_progress = True

    def __init__(self) -> None:
        self.messages: list[tuple[Any, ...]] = []

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.messages.append(("progress", done, total, message))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        self.messages.append(("log", level, data))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.messages.append(("notification", method, dict(params)))

    def close_stream(self) -> None:
        self.messages.append(("close_stream",))


@dataclass
class Hosted:
    """A running host, called as one caller."""

    host: Host
    caller: Caller = field(default_factory=Caller)
    person: Person | None = None
    heard: _Heard = field(default_factory=_Heard)
    changes: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    _watched: set[str] = field(default_factory=set, init=False, repr=False)

    def seen_by(self, caller: Caller | None = None, person: Person | None = None) -> Hosted:
        """The same host for another caller, or with a person who answers."""
        caller = caller or self.caller
        if person is not None:
            caller = replace(caller, offers=person.offers)
        return replace(self, caller=caller, person=person, heard=_Heard())

    def names(self, what: Any = "tools") -> list[str]:
        """The names of one list (of resources: the URIs) as this caller sees it."""
        listed = self.host.visible(what, self.caller)
        return [str(x.get("uri") or x.get("uriTemplate") or x["name"]) for x in listed]

    def listed(self, name: str) -> Mapping[str, Any]:
        """A tool as `tools/list` shows it."""
        return next(t for t in self.host.visible("tools", self.caller) if t["name"] == name)

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool as it goes to the client; protocol errors raise `CallFailed`."""
        result: dict[str, Any] = await self._asking(partial(self.host.call_tool, name, arguments))
        return result

    async def value(self, name: str, /, **arguments: Any) -> Any:
        """What a tool returned: its structured content, else its text; `CallFailed` otherwise."""
        return returned(await self.call(name, **arguments))

    async def error(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The envelope of a call that must fail."""
        try:
            value = await self.value(name, **arguments)
        except CallFailed as failed:
            return failed.envelope
        raise AssertionError(f"{name} did not fail but returned {value!r}")

    async def read(self, uri: str) -> list[dict[str, Any]]:
        """The contents of a resource; `CallFailed` where it cannot be read."""
        result = await self._asking(partial(self.host.read, uri))
        contents: list[dict[str, Any]] = result["contents"]
        return contents

    async def text(self, uri: str) -> str:
        """The text of a resource of one content."""
        (content,) = await self.read(uri)
        return str(content["text"])

    async def prompt(self, name: str, /, **arguments: str) -> list[str]:
        """The texts of a prompt's messages."""
        result = await self._asking(partial(self.host.get_prompt, name, arguments))
        return [m["content"].get("text", "") for m in result["messages"]]

    async def method(self, name: str, /, **params: Any) -> dict[str, Any]:
        """The result of a method of a protocol extension; `CallFailed` where it fails."""
        context = self.host.context(self.caller, self.heard)
        try:
            result = await self.host.call_method(name, params, context)
        except ProtocolError as error:
            raise _failed(error) from None
        return {key: value for key, value in result.items() if key != "_meta"}

    async def complete(self, ref: Mapping[str, Any], name: str, value: str, **given: str) -> Any:
        """What is proposed for an argument."""
        answer = await self.host.complete(ref, name, value, given, self.caller)
        return answer["completion"]["values"]

    def watch(self, *uris: str) -> None:
        """Watch these resources and no others, as a client would: their packs know of it."""
        for uri in self._watched - set(uris):
            self.host.watching.end(self._watched, uri)
        for uri in uris:
            self.host.watching.begin(self._watched, uri, self.caller)

    async def next_change(self, what: str = LISTS_CHANGED, timeout: float = 10) -> None:
        """Wait until this resource changed (or the lists did); `TimeoutError` says what did."""
        others = []
        try:
            async with asyncio.timeout(timeout):
                while (changed := await self.changes.get()) != what:
                    others.append(changed)
        except TimeoutError:
            told = ", ".join(dict.fromkeys(others)) or "nothing"
            raise TimeoutError(f"no change of {what} in {timeout:g} s; changed: {told}") from None

    async def _asking(self, method: Callable[[Context, Asking], Awaitable[Answered]]) -> Any:
        """Call, and answer its questions, until it has a result.

        A caller of the handshake era is asked while the call waits, as its client would be.
        """
        person = self.person
        is_live = self.caller.protocol in HANDSHAKE_VERSIONS
        answer = None if person is None else lambda _, asked: person.answer(asked)

        async def called(asking: Asking) -> Any:
            context = self.host.context(self.caller, self.heard)
            live = Asking(ask=self._answer_live) if is_live else asking
            return await method(context, live)

        try:
            return await until_answered(called, answer)
        except ProtocolError as error:
            raise _failed(error) from None

    async def _answer_live(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.person is None:
            raise Cancelled(
                "The client did not answer: a test answers with seen_by(person=Person())",
                details={"reason": "client_refused"},
            )
        return self.person.answer(question)


@asynccontextmanager
async def hosted(
    packs: Mapping[str, PackSource] | PackSource,
    tables: Mapping[str, Any] | None = None,
    *,
    root: Path | None = None,
    alone: bool = False,
    settled: bool = True,
    environment: Mapping[str, str] | None = None,
    isolation: Literal["thread", "process"] = "thread",
) -> AsyncIterator[Hosted]:
    """A host with these packs: names, each with its plugin module, or with an object.

    An object is a module, a class or an object with hooks, a tool, resource or prompt or a list of
    them; a `Path` is a single file. One of these without a name is called as its file, module or
    class is, or `pack`. Objects live in threads: another process cannot have them.

    `tables` are settings in the shape of mcp-host.toml; relative paths in them start at `root`,
    which is also the project's folder. `alone` serves a single pack as its own server does.
    `isolation` is where packs live whose table does not say: a process imports them anew, from
    where this one would.
    """
    named = packs if isinstance(packs, Mapping) else {name_of(packs): packs}
    data = json.loads(json.dumps(dict(tables or {})))
    data.setdefault("host", {}).setdefault("isolation", isolation)
    for name, source in named.items():
        table = data.setdefault("packs", {}).setdefault(name, {})
        table.setdefault("enabled", True)
        if isinstance(source, Path):
            table["file"] = str(source.absolute())
    if root is not None:
        data.setdefault("host", {}).setdefault("root", str(root))
    settings = parse(data, root / "mcp-host.toml" if root else None, environment)
    async with serving(named, settings, alone=alone, settled=settled) as kit:
        yield kit


@asynccontextmanager
async def serving(
    named: Mapping[str, PackSource],
    settings: Settings,
    *,
    alone: bool = False,
    settled: bool = True,
) -> AsyncIterator[Hosted]:
    """As `hosted`, by settings that are read already."""
    with plugin_modules(named, settings.is_apart) as modules:
        offers = {name: [Offer(name, module, name, "0")] for name, module in modules.items()}
        inventory = Inventory(settings, alone=next(iter(named)) if alone else None, offers=offers)
        inventory.load()
        async with Host(inventory) as host:
            kit = Hosted(host)
            host.changes.listen_to_all(kit.changes.put_nowait)
            if settled:
                await host.settled()
            yield kit
