"""One call to a host of its own, from its start to what is printed and the exit code."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import typer

from ..declarations.context import Caller, Context, Level
from ..errors import ERROR_KEY, MissingCapability, ProtocolError
from ..host import Host
from ..middleware.call import until_answered
from ..packs.entry import Entry, What
from ..startup import signals
from .common import Output, chosen_settings, loaded, quiet_logs, say
from .questions import Answering
from .results import as_text, complain


class Terminal:
    """The person at the terminal as a caller of a host, who hears what a call tells on its way."""

    def __init__(self, host: Host, answering: Answering) -> None:
        self.host = host
        self._answering = answering
        offers = frozenset({"elicitation"} if answering.is_possible else ())
        self._caller = Caller(client="mcp-host", connection="terminal", offers=offers)

    def context(self) -> Context:
        """A context for a new call."""
        return self.host.context(self._caller, TerminalChannel())

    async def known(self, what: What, name: str) -> str:
        """Return the public name behind a name that may be the pack's own.

        Where no pack has such a name, it is one of a pack that could not be imported: the host says
        why.
        """
        await self.host.imported()
        entries = self.host.inventory.lists.entries(what)
        own = [entry.name for entry in entries if entry.contribution.name == name]
        is_public = any(entry.name == name for entry in entries)
        failed = [pack for pack in self.host.packs.values() if pack.condition.state == "failed"]
        if not own and not is_public and failed and not self.host.inventory.owners(name):
            return f"{failed[0].name}_{name}"
        return own[0] if len(own) == 1 and not is_public else name

    async def asking(self, method: Any, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Call, and have the person answer what is asked.

        Where nobody can, the error has a note with the names that answers are given by.
        """
        try:
            return await until_answered(
                lambda asking: method(name, values, self.context(), asking), self._answering.answer
            )
        except MissingCapability as error:
            given = [f"--answer {parameter}=…" for parameter in self._asking_of(name)]
            error.add_note(" ".join(given) or "--answer")
            raise

    def _asking_of(self, name: str) -> list[str]:
        """The parameters of a tool or a prompt that its questions fill."""
        for entry in (*self._entries("tools"), *self._entries("prompts")):
            if entry.name == name:
                return list(entry.contribution.signature.questions)
        return []

    def _entries(self, what: What) -> Sequence[Entry]:
        return self.host.inventory.lists.entries(what)


class TerminalChannel:
    """What a call tells on its way, on standard error."""

    wants_progress = True

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the call is."""
        how_far = _number(done) if total is None else f"{_number(done)} of {_number(total)}"
        say(f"… {how_far}{f': {message}' if message else ''}")

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Show a line of the call's log."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        say(f"{level}: {text}")

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Show a notification of an extension."""
        say(f"{method}: {json.dumps(params, ensure_ascii=False)}")

    def close_stream(self) -> None:
        """Do nothing: there is no stream."""


def _number(value: float) -> str:
    """A number as a person writes it: a whole one with all its digits."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


Call: TypeAlias = Callable[[Terminal], Awaitable[dict[str, Any]]]


def run(
    config: Path | None, call: Call, as_json: bool, answers: Mapping[str, Any] | None = None
) -> None:
    """Open the host that the settings make, call, and print the result; ends with 1 on an error."""
    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings)
    host = Host(loaded(settings, wait=False), retries=False)
    ended: list[int] = []
    try:
        result = asyncio.run(_called(host, call, Answering(answers or {}), ended))
    except asyncio.CancelledError:
        if not ended:
            raise
        raise typer.Exit(128 + ended[0]) from None
    except ProtocolError as error:
        data = {"error": _said(error), **(error.data or {})}
        if as_json:
            output.json({"error": {"code": error.number, "message": str(error), "data": data}})
        else:
            complain(data)
        raise typer.Exit(1) from None
    if as_json:
        output.json(result)
    elif result.get("isError"):
        complain(result.get("_meta", {}).get(ERROR_KEY) or {"error": as_text(result)})
    else:
        output.result(as_text(result))
    if result.get("isError"):
        raise typer.Exit(1)


async def _called(host: Host, call: Call, answering: Answering, ended: list[int]) -> dict[str, Any]:
    """Make the call; a signal that asks the process to end cancels it, and is put into `ended`."""
    calling, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert calling is not None  # this is run by asyncio

    def end(number: int) -> None:
        loop.remove_signal_handler(number)  # a second one ends the process at once
        ended.append(number)
        calling.cancel()

    with suppress(NotImplementedError):  # Windows, where SIGTERM ends a process whatever it does
        for number in signals.NUMBERS:
            if signal.getsignal(number) == signal.SIG_DFL:  # at SIGINT asyncio itself cancels
                loop.add_signal_handler(number, end, number)
    async with host:
        return await call(Terminal(host, answering))


def _said(error: ProtocolError) -> str:
    if isinstance(error, MissingCapability) and error.capability == "elicitation":
        given = " ".join(getattr(error, "__notes__", ())) or "--answer"
        here = "this asks a person, and nobody can answer here"
        return f"{here}: run it in a terminal, or give {given}"
    return str(error)
