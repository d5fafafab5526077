"""Calls as lines for a terminal, live."""

import json
import sys
import threading
from collections.abc import Mapping
from time import localtime, strftime
from typing import Any

import typer

from .texts import plain

LONGEST = 400
BOLD, DIM, RED, GREEN, YELLOW, OFF = (
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[0m",
)


class Printer:
    """Prints what a host's feed tells, one line for each event; in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._colours = sys.stdout.isatty()
        self._numbers: dict[str, int] = {}
        self._count = 0

    def note(self, text: str, colour: str = "") -> None:
        """Print a line of the command's own."""
        self._line(colour, plain(text))

    def said(self, line: str) -> None:
        """Print a line of the host's log."""
        self._line(DIM, "    | " + plain(line))

    def event(self, event: Mapping[str, Any]) -> None:
        """Print an event of a call."""
        what, call = event["event"], event.get("id", "")
        if what == "began":
            self._count += 1
            self._numbers[call] = self._count
            arguments = event.get("arguments", event["shapes"])
            target = event.get("target") if event["kind"] == "resource" else event["name"]
            when = strftime("%H:%M:%S", localtime(event["time"]))
            of = f"  from {event['client']}" if event["client"] else ""
            given = "" if event["kind"] == "resource" else f" {_short(arguments)}"
            self._line(BOLD, f"{when} #{self._count} {plain(str(target))}{given}{plain(of)}")
        elif what == "progress":
            how_far = f"{event['done']:g}"
            if event["total"] is not None:
                how_far += f" of {event['total']:g}"
            said = f": {plain(event['message'])}" if event.get("message") else ""
            self._of(call, "", f"… {how_far}{said}")
        elif what == "log":
            self._of(call, "", f"{event['level']}: {_short(event.get('data', '…'))}")
        elif what in ("asked", "answered"):
            about = _question(event) if what == "asked" else _short(event.get("answer") or event)
            self._of(call, YELLOW, f"{what}: {about}")
        elif what == "ended":
            self._ended(call, event)
        elif what == "missed":
            self.note(f"{event['count']} events were too many at once, and are left out", YELLOW)

    def _ended(self, call: str, event: Mapping[str, Any]) -> None:
        code = event["code"]
        colour = {"ok": GREEN, "input_required": YELLOW}.get(code, RED)
        told = f": {_short(shown(event['result']))}" if event.get("result") is not None else ""
        self._of(call, colour, f"{code} in {event['ms']:.1f} ms, {event['bytes']} bytes{told}")
        self._numbers.pop(call, None)

    def _of(self, call: str, colour: str, text: str) -> None:
        self._line(colour, f"         #{self._numbers.get(call, '?')} {text}")

    def _line(self, colour: str, text: str) -> None:
        with self._lock:
            typer.echo(f"{colour}{text}{OFF}" if colour and self._colours else text)


def shown(result: Any) -> Any:
    """Return what a person wants to see of a result: the structured answer, else the texts."""
    if not isinstance(result, Mapping):
        return result
    if "structuredContent" in result:
        return result["structuredContent"]
    parts = result.get("content") or result.get("contents")
    if isinstance(parts, list) and parts and all(isinstance(p, Mapping) for p in parts):
        return " ".join(
            str(p.get("text", f"({p.get('type') or p.get('mimeType')})")) for p in parts
        )
    return {key: value for key, value in result.items() if key != "_meta"}


def _question(event: Mapping[str, Any]) -> str:
    """A question in words where there are some: what is asked, and the fields of its form."""
    question = event.get("question")
    params = question.get("params") if isinstance(question, Mapping) else None
    message = params.get("message") if isinstance(params, Mapping) else None
    if not isinstance(message, str) or not isinstance(params, Mapping):
        return _short(question or event)
    fields = params.get("requestedSchema", {}).get("properties", {})
    return _short(f"{message} ({', '.join(fields)})" if fields else message)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = plain(text.replace("\n", " ⏎ "))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
