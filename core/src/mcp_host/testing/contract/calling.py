"""One call of a checked pack, and what must be true of its answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from ...errors import BY_CODE, ERROR_KEY
from ..hosting import CallFailed, Hosted
from .subject import Tracebacks

_CONTENT = frozenset(("text", "image", "audio", "resource", "resource_link"))
_NO_NUMBER = "None is not of type 'number'"
_NO_TERMINAL = 'nobody sits before a server: ask by a parameter, name: Annotated[str, Ask("Name?")]'
_CURES = (
    (
        "asyncio.run() cannot be called",
        "await it: an `async def` runs in a loop already; so does what a plain `def` hands to it",
    ),
    (
        "'Tool' object is not callable",
        "what @tool is put on is no function any more: have both tools call a plain one",
    ),
    (
        "options of a Choice must not be empty",
        "where there is nothing to choose, have the function raise NotFound, or return a value",
    ),
    ("total of a Page must be", "Page(items, total, next_cursor): count the whole list as well"),
    ("<class 'coroutine'>", "await what it calls, in an `async def`"),
    ("SystemExit", "raise an error of your own: sys.exit() ends programs, not calls"),
    ("KeyboardInterrupt", "raise an error of your own: this one ends programs, not calls"),
    ("EOF when reading a line", _NO_TERMINAL),
    ("reading from stdin while output is captured", _NO_TERMINAL),
    (
        "codec can't decode byte",
        "bytes that are no text must be told as what they are: return Image, Audio or Embedded",
    ),
    (
        "used in 'await' expression",
        "leave out the `await` before a plain call, such as context.progress(…)",
    ),
    ("Unable to serialize", "return data with a JSON form: text, numbers, lists, models of yours"),
    (
        "validation error",
        "return what the function's return annotation says, or correct the annotation",
    ),
    (
        "SQLite objects created in a thread",
        "open it with sqlite3.connect(…, check_same_thread=False) and a lock around its use, or "
        "make the tool an `async def`, which runs where mcp_host_open did",
    ),
    ("takes 2 positional arguments", "give what comes after the message by its name"),
)


@dataclass(frozen=True)
class CallOutcome:
    """How a call ended: `code` is "ok", an error code, or "protocol"."""

    code: str
    result: Mapping[str, Any]

    @property
    def is_refused(self) -> bool:
        """Whether the call ended in an error."""
        return self.code != "ok"


async def called(host: Hosted, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
    """Call a tool by its public name."""
    try:
        result = await host.call(name, **arguments)
    except CallFailed as failed:
        code = failed.envelope["code"]
        known = code if isinstance(code, str) else "protocol"
        return CallOutcome(known, {"error": failed.envelope})
    envelope = result.get("_meta", {}).get(ERROR_KEY)
    code = envelope.get("code", "protocol") if result.get("isError") and envelope else "ok"
    return CallOutcome(str(code), result)


def broken(
    outcome: CallOutcome, listed: Mapping[str, Any], arguments: Any, package: Path | None
) -> Iterator[str]:
    """What an answer must not be, in words; nothing where it is good."""
    if outcome.code == "internal_error":
        yield "the call ended in internal_error"
    elif outcome.code != "ok" and outcome.code not in BY_CODE:
        yield f"the call ended in the unknown code {outcome.code!r}"
    yield from _leaks(outcome.result, arguments, package)
    if outcome.is_refused:
        return
    result = outcome.result
    content = result.get("content")
    if not isinstance(content, list) or any(part.get("type") not in _CONTENT for part in content):
        yield "the answer's content is none of the protocol's"
    schema, structured = listed.get("outputSchema"), result.get("structuredContent")
    if schema is not None and not result.get("isError"):
        if structured is None:
            yield "the tool has an output schema, and the answer has no structured content"
        else:
            for error in list(Draft202012Validator(schema).iter_errors(structured))[:1]:
                where = "/".join(str(part) for part in error.absolute_path)
                yield f"the answer breaks the output schema at /{where}: {error.message[:200]}"


def cure(problem: str, log: Tracebacks) -> tuple[str, str]:
    """The problem with what the log says of it, and how to mend it."""
    cause = log.cause()
    if _NO_NUMBER in problem:
        return problem, (
            "NaN and infinities have no JSON form, and are told as null: return None there, and "
            "annotate `-> float | None`"
        )
    if "internal_error" not in problem or not cause:
        return problem, "look at what the function returns"
    for words, remedy in _CURES:
        if words in log.last:
            return f"{problem}: {cause}", remedy
    kind = cause.partition(":")[0].rpartition(".")[2]
    return (
        f"{problem}: {cause}",
        f"catch it where it is raised, or name it in mcp_host_errors: {{{kind}: "
        '"unavailable"}, or another of the codes',
    )


def _leaks(result: Mapping[str, Any], arguments: Any, package: Path | None) -> Iterator[str]:
    text = json.dumps(result, default=str, ensure_ascii=False)
    given = json.dumps(arguments, default=str, ensure_ascii=False)
    inside = [str(package)] if package is not None else []
    for part in ("Traceback (most recent call last)", sys.prefix + "/lib", *inside):
        if part in text and part not in given:
            yield f"the answer shows the inside of the server: {part!r}"
