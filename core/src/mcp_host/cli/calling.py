"""`mcp-host call`, `read` and `prompt`: one call from the terminal, as a client would make it.

The host is imported when there is something to call: `--help` and the other commands do without.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..errors import ERROR_KEY, MissingCapability, ProtocolError
from .common import ConfigOption, JsonOption, Output, chosen_settings, loaded, quiet_logs

if TYPE_CHECKING:
    from ..context import Caller
    from ..host import Host

Given = Annotated[
    list[str] | None,
    typer.Argument(help="Arguments as name=value; a value is JSON where it is, else text."),
]
Call: TypeAlias = "Callable[[Host, Caller], Awaitable[dict[str, Any]]]"


def call(
    tool: Annotated[str, typer.Argument(help="The tool, as `mcp-host tools` names it.")],
    given: Given = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="All arguments as one JSON object.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool."""
    values = _arguments(given or [], arguments)

    async def run(host: Host, caller: Caller) -> dict[str, Any]:
        return await _asking(host, host.call_tool, tool, values, caller)

    _run(config, run, as_json)


def read(
    uri: Annotated[str, typer.Argument(help="The resource's URI.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a resource."""

    async def run(host: Host, caller: Caller) -> dict[str, Any]:
        from ..inventory import PACKS_URI

        if uri == PACKS_URI:
            await host.settled()  # a moment after the start it would say `opening` of all
        return await host.read(uri, host.context(caller))

    _run(config, run, as_json)


def prompt(
    name: Annotated[str, typer.Argument(help="The prompt, as `mcp-host prompts` names it.")],
    given: Given = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill in a prompt and show its messages."""
    values = dict(_pair(text) for text in given or [])

    async def run(host: Host, caller: Caller) -> dict[str, Any]:
        return await _asking(host, host.get_prompt, name, values, caller)

    _run(config, run, as_json)


def _arguments(given: list[str], whole: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if whole is not None:
        try:
            parsed = json.loads(whole)
        except ValueError as error:
            raise typer.BadParameter(f"--arguments is not JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise typer.BadParameter("--arguments must be a JSON object")
        values = parsed
    return values | {name: _value(text) for name, text in map(_pair, given)}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not name=value")
    return name, value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _run(config: Any, run: Call, as_json: bool) -> None:
    import asyncio

    from ..host import Host

    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings)
    try:
        result = asyncio.run(_with_host(Host(loaded(settings, wait=False), retries=False), run))
    except ProtocolError as error:
        data = {"error": _said(error), **(error.data or {})}
        if as_json:
            output.json({"error": {"code": error.number, "message": str(error), "data": data}})
        else:
            _complain(data)
        raise typer.Exit(1) from None
    if as_json:
        output.json(result)
    elif result.get("isError"):
        _complain(result.get("_meta", {}).get(ERROR_KEY) or {"error": _text(result)})
    else:
        output.text(_text(result))
    if result.get("isError"):
        raise typer.Exit(1)


def _said(error: ProtocolError) -> str:
    if isinstance(error, MissingCapability) and error.capability == "elicitation":
        return "this asks a person, and nobody can answer here: run it in a terminal"
    return str(error)


async def _with_host(host: Host, run: Call) -> dict[str, Any]:
    from ..context import Caller

    offers = frozenset({"elicitation"}) if sys.stdin.isatty() else frozenset[str]()
    async with host:
        return await run(host, Caller(client="mcp-host", connection="terminal", offers=offers))


async def _asking(
    host: Host, method: Any, name: str, values: Mapping[str, Any], caller: Caller
) -> dict[str, Any]:
    """Call, and have the person at the terminal answer what is asked."""
    from ..asking import Answers

    state, responses = None, None
    while True:
        answers = Answers(responses, state)
        result: dict[str, Any] = await method(name, values, host.context(caller), answers=answers)
        if result.get("resultType") != "input_required":
            return result
        state = result["requestState"]
        responses = {key: _ask(question) for key, question in result["inputRequests"].items()}


def _ask(question: Mapping[str, Any]) -> dict[str, Any]:
    if question["method"] != "elicitation/create":
        return {}
    params = question["params"]
    print(params["message"], file=sys.stderr)
    # asyncio's own handler would only note Ctrl-C and let the prompt wait on.
    noted = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        fields = params["requestedSchema"]["properties"].items()
        content = {name: _answer(name, schema) for name, schema in fields}
    except (typer.Abort, KeyboardInterrupt):
        return {"action": "cancel"}
    finally:
        signal.signal(signal.SIGINT, noted)
    return {"action": "accept", "content": content}


def _answer(name: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "boolean":
        return typer.confirm(name, default=schema.get("default"), err=True)
    choices = f" ({', '.join(map(str, schema['enum']))})" if "enum" in schema else ""
    text = typer.prompt(f"{name}{choices}", default=schema.get("default"), err=True)
    return text if schema.get("type") == "string" else _value(str(text))


def _text(result: Mapping[str, Any]) -> str:
    parts = list(result.get("content", ())) + list(result.get("contents", ()))
    parts += [message["content"] for message in result.get("messages", ())]
    return "\n".join(_shown(part) for part in parts)


def _shown(part: Mapping[str, Any]) -> str:
    if "text" in part:
        return _pretty(str(part["text"]))
    if "resource" in part:
        return _shown(part["resource"])
    data = part.get("data") or part.get("blob") or ""
    size = len(data) * 3 // 4 - data.count("=")
    return f"[{part.get('mimeType', part.get('type', 'data'))}, {size} bytes]"


def _pretty(text: str) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return json.dumps(data, indent=2, ensure_ascii=False) if isinstance(data, dict | list) else text


def _complain(envelope: Mapping[str, Any]) -> None:
    code = f" ({envelope['code']})" if "code" in envelope else ""
    print(f"error{code}: {envelope.get('error')}", file=sys.stderr)
    for suggestion in envelope.get("suggestions", ()):
        print(f"  {suggestion}", file=sys.stderr)
